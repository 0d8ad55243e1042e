//! Intersection of two sets of execution rules: a call may do no more than both sets permit.
//!
//! Both sets are lists in which the first matching rule decides. The result is the list of all pairs of their rules,
//! ordered by the first set and then by the second, each with the stricter permission of its two rules. The first
//! matching pair consists of the first matching rule of each set, so the list decides as both sets together.
//!
//! The intersection of two globs is in general not a glob. If it cannot be expressed, an allow rule for it is
//! omitted; for a stricter permission, a deny rule for one of the two globs replaces it. The result may therefore be
//! stricter than both sets, and is never looser than either.

use std::collections::BTreeSet;

use globset::Glob;

use callwright_types::rules::{ApprovalRules, ExecuteRule, ExecuteRules, Permission};

/// Returns the rules that permit a call only what both sets permit.
pub(super) fn both(base: &ExecuteRules, requested: &ExecuteRules) -> ExecuteRules {
    if base == requested {
        return base.clone();
    }
    let others = complete(requested);
    let mut rules = Vec::new();
    for rule in complete(base) {
        if rule.permission == Permission::Deny {
            // The call is denied for every rule of the other set.
            rules.push(rule);
        } else {
            rules.extend(others.iter().flat_map(|other| pair(&rule, other)));
        }
    }
    ExecuteRules { rules, approval: approval(&base.approval, &requested.approval) }
}

fn approval(base: &ApprovalRules, requested: &ApprovalRules) -> ApprovalRules {
    ApprovalRules {
        mode: base.mode.max(requested.mode),
        timeout_seconds: base.timeout_seconds.min(requested.timeout_seconds),
        valid_seconds: base.valid_seconds.min(requested.valid_seconds),
    }
}

/// Returns the rules with the implicit defaults appended: `GET` and `HEAD` are allowed, everything else is denied.
fn complete(rules: &ExecuteRules) -> Vec<ExecuteRule> {
    let reads =
        ExecuteRule { methods: vec!["GET".into(), "HEAD".into()], tools: vec![], permission: Permission::Allow };
    let rest = ExecuteRule { methods: vec![], tools: vec![], permission: Permission::Deny };
    rules.rules.iter().cloned().chain([reads, rest]).collect()
}

/// Returns the rules for calls that both `one` and `other` match; empty if there are no such calls.
fn pair(one: &ExecuteRule, other: &ExecuteRule) -> Vec<ExecuteRule> {
    let Some(methods) = common_methods(&one.methods, &other.methods) else { return Vec::new() };
    let permission = one.permission.max(other.permission);
    if one.tools.is_empty() || other.tools.is_empty() {
        return vec![ExecuteRule { methods, tools: [one.tools.as_slice(), &other.tools].concat(), permission }];
    }
    let GlobIntersection { exact, wider } = common_tools(&one.tools, &other.tools);
    let mut rules = Vec::new();
    if !exact.is_empty() {
        rules.push(ExecuteRule { methods: methods.clone(), tools: exact.into_iter().collect(), permission });
    }
    // An omitted allow rule falls through to later pairs, which are at least as strict.
    if !wider.is_empty() && permission != Permission::Allow {
        rules.push(ExecuteRule { methods, tools: wider.into_iter().collect(), permission: Permission::Deny });
    }
    rules
}

/// Returns the methods in both lists; an empty list means all methods.
fn common_methods(one: &[String], other: &[String]) -> Option<Vec<String>> {
    match (one, other) {
        ([], all) | (all, []) => Some(all.to_vec()),
        _ => {
            let common: Vec<_> = one.iter().filter(|method| other.contains(method)).cloned().collect();
            (!common.is_empty()).then_some(common)
        }
    }
}

/// Intersection of two lists of globs.
#[derive(Default)]
struct GlobIntersection {
    /// Globs that match exactly a part of the intersection.
    exact: BTreeSet<String>,
    /// Globs that match the rest of the intersection, and more.
    wider: BTreeSet<String>,
}

fn common_tools(one: &[String], other: &[String]) -> GlobIntersection {
    let mut common = GlobIntersection::default();
    for one in one {
        for other in other {
            match meet(one, other) {
                Meet::Glob(glob) => common.exact.insert(glob.to_owned()),
                Meet::Other => common.wider.insert(other.clone()),
                Meet::Nothing => false,
            };
        }
    }
    common
}

/// Intersection of two globs.
enum Meet<'a> {
    /// Expressed by this one of the two globs.
    Glob(&'a str),
    /// Empty.
    Nothing,
    /// Not empty, and expressed by neither of the globs.
    Other,
}

fn meet<'a>(one: &'a str, other: &'a str) -> Meet<'a> {
    if one == other || (is_literal(one) && fits(other, one)) || covers(other, one) {
        Meet::Glob(one)
    } else if (is_literal(other) && fits(one, other)) || covers(one, other) {
        Meet::Glob(other)
    } else if is_literal(one) || is_literal(other) {
        Meet::Nothing
    } else {
        Meet::Other
    }
}

/// Special characters of globs, except the star.
const SPECIAL: [char; 6] = ['?', '[', ']', '{', '}', '\\'];

fn is_literal(glob: &str) -> bool {
    !glob.contains(SPECIAL) && !glob.contains('*')
}

/// Whether `wide` certainly matches everything that `narrow` matches. In globs of literals and stars, a star of
/// `wide` that matches a piece of the text of `narrow` also matches every expansion of that piece. Special characters
/// have no such simple semantics.
fn covers(wide: &str, narrow: &str) -> bool {
    !wide.contains(SPECIAL) && !narrow.contains(SPECIAL) && fits(wide, narrow)
}

fn fits(glob: &str, text: &str) -> bool {
    Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(text))
}
