//! The rules of execution under which a call may do no more than two sets of rules both let it.
//!
//! Both sets are lists in which the first rule that fits decides. Going through the pairs of their rules in order (first by
//! the one, then by the other) the first pair that fits is made of the first rule of each that fits; so the list of the
//! pairs, each with the stricter permission of its two rules, is the answer. That two globs both fit has no glob of its own in
//! general: what no glob says is left out where it would be allowed, and where it would not, one of the two globs takes
//! its place and denies. So the result may be stricter than both sets, and is never looser than one of them.

use std::collections::BTreeSet;

use globset::Glob;

use callwright_types::rules::{ApprovalRules, ExecuteRule, ExecuteRules, Permission};

/// The rules that let a call do only what both sets let it.
pub(super) fn both(base: &ExecuteRules, requested: &ExecuteRules) -> ExecuteRules {
    if base == requested {
        return base.clone();
    }
    let others = complete(requested);
    let mut rules = Vec::new();
    for rule in complete(base) {
        if rule.permission == Permission::Deny {
            // Whatever the other set says, the call does not run.
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

/// The rules with those that hold where none fits written out: `GET` and `HEAD` run, everything else is denied.
fn complete(rules: &ExecuteRules) -> Vec<ExecuteRule> {
    let reads =
        ExecuteRule { methods: vec!["GET".into(), "HEAD".into()], tools: vec![], permission: Permission::Allow };
    let rest = ExecuteRule { methods: vec![], tools: vec![], permission: Permission::Deny };
    rules.rules.iter().cloned().chain([reads, rest]).collect()
}

/// The rules for calls about which both `one` and `other` decide; none where there are no such calls.
fn pair(one: &ExecuteRule, other: &ExecuteRule) -> Vec<ExecuteRule> {
    let Some(methods) = common_methods(&one.methods, &other.methods) else { return Vec::new() };
    let permission = one.permission.max(other.permission);
    let rule = |tools, permission| ExecuteRule { methods: methods.clone(), tools, permission };
    if one.tools.is_empty() || other.tools.is_empty() {
        return vec![rule([one.tools.as_slice(), &other.tools].concat(), permission)];
    }
    let Common { said, unsaid } = common_tools(&one.tools, &other.tools);
    let mut rules = Vec::new();
    if !said.is_empty() {
        rules.push(rule(said.into_iter().collect(), permission));
    }
    // What is left out where it would be allowed falls to later pairs, which are no looser than that.
    if !unsaid.is_empty() && permission != Permission::Allow {
        rules.push(rule(unsaid.into_iter().collect(), Permission::Deny));
    }
    rules
}

/// The methods in both lists, where an empty list is all of them.
fn common_methods(one: &[String], other: &[String]) -> Option<Vec<String>> {
    match (one, other) {
        ([], all) | (all, []) => Some(all.to_vec()),
        _ => {
            let common: Vec<_> = one.iter().filter(|method| other.contains(method)).cloned().collect();
            (!common.is_empty()).then_some(common)
        }
    }
}

/// What two lists of globs both fit.
#[derive(Default)]
struct Common {
    /// Globs for it.
    said: BTreeSet<String>,
    /// Globs that fit the rest of it, and more.
    unsaid: BTreeSet<String>,
}

fn common_tools(one: &[String], other: &[String]) -> Common {
    let mut common = Common::default();
    for one in one {
        for other in other {
            match meet(one, other) {
                Meet::Glob(glob) => common.said.insert(glob.to_owned()),
                Meet::Unsaid => common.unsaid.insert(other.clone()),
                Meet::Nothing => false,
            };
        }
    }
    common
}

/// What two globs both fit.
enum Meet<'a> {
    /// What this one of them fits.
    Glob(&'a str),
    /// Nothing.
    Nothing,
    /// Something that neither of them says.
    Unsaid,
}

fn meet<'a>(one: &'a str, other: &'a str) -> Meet<'a> {
    let literal = |glob: &str| !glob.contains(SPECIAL) && !glob.contains('*');
    if one == other || (literal(one) && fits(other, one)) || covers(other, one) {
        Meet::Glob(one)
    } else if (literal(other) && fits(one, other)) || covers(one, other) {
        Meet::Glob(other)
    } else if literal(one) || literal(other) {
        Meet::Nothing
    } else {
        Meet::Unsaid
    }
}

/// The characters that mean more than themselves in a glob, but for the star.
const SPECIAL: [char; 6] = ['?', '[', ']', '{', '}', '\\'];

/// Is it sure that `wide` fits everything that `narrow` fits? Where the star of a glob of letters and stars took a piece of the
/// other's text, it takes whatever that piece stands for. Special characters have no such simple reading.
fn covers(wide: &str, narrow: &str) -> bool {
    !wide.contains(SPECIAL) && !narrow.contains(SPECIAL) && fits(wide, narrow)
}

fn fits(glob: &str, text: &str) -> bool {
    Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(text))
}
