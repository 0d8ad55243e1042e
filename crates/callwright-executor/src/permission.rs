//! Policy rules that decide which calls the proxy may execute.

use globset::{Glob, GlobMatcher};
use http::Method;

use super::refusal::refuse;
use callwright_types::Refusal;
use callwright_types::rules::{ExecuteRule, ExecuteRules, Permission};

/// Decision about a call that policy does not deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPermission {
    /// Execution is permitted.
    Freely,
    /// Execution is permitted after a person's approval.
    OnceApproved,
}

/// Decides whether the tool `toolset/tool` may be executed with this method. The first matching rule decides; without
/// one, only `GET` and `HEAD` are permitted.
pub(super) fn permit(rules: &ExecuteRules, method: &Method, tool: &str) -> Result<CallPermission, Refusal> {
    match Permissions::new(rules).decide(method, tool) {
        Some((_, Permission::Allow)) => Ok(CallPermission::Freely),
        Some((_, Permission::Approve)) => Ok(CallPermission::OnceApproved),
        Some((position, Permission::Deny)) => Err(refuse!(
            PolicyDenied,
            "policy does not allow {method} {tool}: rule {} of `execute.rules` denies it",
            position + 1
        )),
        None if is_free(method) => Ok(CallPermission::Freely),
        None => Err(refuse!(
            PolicyDenied,
            "policy does not allow {method} {tool}: without a rule only GET and HEAD are executed; the policy key `execute.rules` \
             would allow it with `{{methods: [{method}], tools: [\"{tool}\"], permission: allow}}`, or with `approve` to require human approval"
        )),
    }
}

/// Whether the method is permitted without a matching rule.
fn is_free(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// Rules, compiled once for many tools.
#[derive(Debug)]
pub struct Permissions<'a> {
    rules: Vec<CompiledRule<'a>>,
}

#[derive(Debug)]
struct CompiledRule<'a> {
    rule: &'a ExecuteRule,
    /// `None` for an invalid glob. Policies with such a glob are rejected when they are loaded.
    tools: Vec<Option<GlobMatcher>>,
}

impl<'a> CompiledRule<'a> {
    fn new(rule: &'a ExecuteRule) -> Self {
        let tools = rule.tools.iter().map(|glob| Glob::new(glob).ok().map(|glob| glob.compile_matcher())).collect();
        Self { rule, tools }
    }

    fn matches(&self, method: &Method, tool: &str) -> bool {
        let methods = &self.rule.methods;
        (methods.is_empty() || methods.iter().any(|name| name.eq_ignore_ascii_case(method.as_str())))
            && (self.tools.is_empty() || self.tools.iter().any(|glob| self.covers(glob.as_ref(), tool)))
    }

    /// Whether the glob matches the tool. An invalid glob matches in deny rules only.
    fn covers(&self, glob: Option<&GlobMatcher>, tool: &str) -> bool {
        glob.map_or(self.rule.permission == Permission::Deny, |glob| glob.is_match(tool))
    }
}

impl<'a> Permissions<'a> {
    /// Compiles the rules.
    pub fn new(rules: &'a ExecuteRules) -> Self {
        Self { rules: rules.rules.iter().map(CompiledRule::new).collect() }
    }

    /// Whether the tool `toolset/tool` may be executed with this method, immediately or after a person's approval.
    pub fn permit(&self, method: &Method, tool: &str) -> bool {
        match self.decide(method, tool) {
            Some((_, permission)) => permission != Permission::Deny,
            None => is_free(method),
        }
    }

    /// Returns the position and the permission of the first matching rule.
    fn decide(&self, method: &Method, tool: &str) -> Option<(usize, Permission)> {
        let (position, compiled) = self.rules.iter().enumerate().find(|(_, rule)| rule.matches(method, tool))?;
        Some((position, compiled.rule.permission))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(methods: &[&str], tools: &[&str], permission: Permission) -> ExecuteRule {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        ExecuteRule { methods: owned(methods), tools: owned(tools), permission }
    }

    #[test]
    fn without_rules_only_reading_is_allowed() {
        let rules = ExecuteRules::default();
        for method in [Method::GET, Method::HEAD] {
            assert!(permit(&rules, &method, "a/b").is_ok());
        }
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS, Method::TRACE] {
            let refusal = permit(&rules, &method, "a/b").unwrap_err();
            assert!(
                refusal.message.contains("execute.rules") && refusal.message.contains(method.as_str()),
                "{refusal}"
            );
        }
    }

    #[test]
    fn the_first_matching_rule_decides() {
        let rules = ExecuteRules {
            rules: vec![
                rule(&["POST"], &["rooms/delete*"], Permission::Deny),
                rule(&["post"], &["rooms/*"], Permission::Allow),
                rule(&[], &["secret/*"], Permission::Deny),
            ],
            ..ExecuteRules::default()
        };
        assert!(permit(&rules, &Method::POST, "rooms/book").is_ok());
        assert!(permit(&rules, &Method::PUT, "rooms/book").is_err());
        assert!(permit(&rules, &Method::POST, "rooms/deleteAll").unwrap_err().message.contains("rule 1 "));
        assert!(permit(&rules, &Method::GET, "secret/read").unwrap_err().message.contains("rule 3 "));
    }

    #[test]
    fn approval_rules_apply_to_every_method() {
        let rules = ExecuteRules {
            rules: vec![rule(&["DELETE"], &[], Permission::Approve), rule(&[], &["hr/*"], Permission::Approve)],
            ..ExecuteRules::default()
        };
        for (method, tool) in [(Method::DELETE, "a/b"), (Method::GET, "hr/read"), (Method::POST, "hr/hire")] {
            assert_eq!(permit(&rules, &method, tool), Ok(CallPermission::OnceApproved));
        }
        assert_eq!(permit(&rules, &Method::GET, "a/b"), Ok(CallPermission::Freely));
    }

    #[test]
    fn a_broken_glob_denies_and_never_allows() {
        let with =
            |permission| ExecuteRules { rules: vec![rule(&[], &["a/[b"], permission)], ..ExecuteRules::default() };
        assert!(permit(&with(Permission::Allow), &Method::POST, "a/b").is_err());
        assert!(permit(&with(Permission::Approve), &Method::POST, "a/b").is_err());
        assert!(permit(&with(Permission::Deny), &Method::GET, "a/b").is_err());
    }
}
