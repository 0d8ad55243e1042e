//! The rules of execution under which a call runs only if two sets of rules both let it.
//!
//! Both sets are lists in which the first rule that fits decides. Going through the pairs of their rules in order (first by
//! the one, then by the other) the first pair that fits is made of the first rule of each that fits; so the list of the
//! pairs, each asking for what both of its rules ask for, is the answer. That two globs both fit has no glob of its own in
//! general: what no glob says is left out where it would be allowed, and where it would be denied one of the two globs takes
//! its place. So the result may be stricter than both sets, and is never looser than one of them.

use std::collections::BTreeSet;

use globset::Glob;

use crate::domain::rules::{ExecuteRule, ExecuteRules, Permission};

/// The rules that let a call run only if both sets do.
pub(super) fn both(base: &ExecuteRules, requested: &ExecuteRules) -> ExecuteRules {
    if base == requested {
        return base.clone();
    }
    let others = complete(requested);
    let mut rules = Vec::new();
    for rule in complete(base) {
        match rule.permission {
            // Whatever the other set says, the call does not run.
            Permission::Deny => rules.push(rule),
            Permission::Allow => rules.extend(others.iter().filter_map(|other| allowed_pair(&rule, other))),
        }
    }
    ExecuteRules { rules }
}

/// The rules with those that hold where none fits written out: `GET` and `HEAD` run, everything else is denied.
fn complete(rules: &ExecuteRules) -> Vec<ExecuteRule> {
    let reads =
        ExecuteRule { methods: vec!["GET".into(), "HEAD".into()], tools: vec![], permission: Permission::Allow };
    let rest = ExecuteRule { methods: vec![], tools: vec![], permission: Permission::Deny };
    rules.rules.iter().cloned().chain([reads, rest]).collect()
}

/// The rule for calls that `allow` allows and for which `other` decides; `None` where there are no such calls.
fn allowed_pair(allow: &ExecuteRule, other: &ExecuteRule) -> Option<ExecuteRule> {
    let methods = common_methods(&allow.methods, &other.methods)?;
    let tools = common_tools(&allow.tools, &other.tools, other.permission)?;
    Some(ExecuteRule { methods, tools, permission: other.permission })
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

/// Globs for what both lists fit, where an empty list fits everything. What they have in common and no glob says is left out
/// of an allowance, and a denial takes more instead.
fn common_tools(one: &[String], other: &[String], permission: Permission) -> Option<Vec<String>> {
    let ([_, ..], [_, ..]) = (one, other) else { return Some([one, other].concat()) };
    let mut common = BTreeSet::new();
    for one in one {
        for other in other {
            match (meet(one, other), permission) {
                (Meet::Glob(glob), _) => common.insert(glob.to_owned()),
                (Meet::Unsaid, Permission::Deny) => common.insert(other.clone()),
                (Meet::Unsaid, Permission::Allow) | (Meet::Nothing, _) => false,
            };
        }
    }
    (!common.is_empty()).then(|| common.into_iter().collect())
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
