//! The rules of execution under which a call runs only if two sets of rules both let it.
//!
//! Both sets are lists in which the first rule that fits decides. Going through the pairs of their rules in order (first by
//! the one, then by the other) the first pair that fits is made of the first rule of each that fits; so the list of the
//! pairs, each asking for what both of its rules ask for, is the answer. That two globs both fit has no glob of its own in
//! general: such a pair is left out where it would allow, and widened to one of the two globs where it would deny. So the
//! result may be stricter than both sets, and is never looser than one of them.

use crate::domain::rules::{ExecuteRule, ExecuteRules, Permission};
use globset::Glob;

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
    let tools = match other.permission {
        Permission::Allow => common_tools(&allow.tools, &other.tools)?,
        Permission::Deny => other.tools.clone(),
    };
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

/// Globs that fit only what both lists fit, where an empty list fits everything.
fn common_tools(one: &[String], other: &[String]) -> Option<Vec<String>> {
    match (one, other) {
        ([], all) | (all, []) => Some(all.to_vec()),
        _ => {
            let mut common: Vec<String> =
                one.iter().flat_map(|glob| other.iter().filter_map(|other| narrower(glob, other))).cloned().collect();
            common.sort();
            common.dedup();
            (!common.is_empty()).then_some(common)
        }
    }
}

/// The one of two globs that fits nothing which the other does not fit; `None` where that is not known.
fn narrower<'a>(one: &'a String, other: &'a String) -> Option<&'a String> {
    if covers(one, other) {
        Some(other)
    } else if covers(other, one) {
        Some(one)
    } else {
        None
    }
}

/// Is it sure that `wide` fits everything that `narrow` fits?
fn covers(wide: &str, narrow: &str) -> bool {
    // A wide glob made of letters and `*` alone: where its `*` took a piece of the narrow glob's text, it takes whatever
    // that piece stands for. Escapes, classes and alternatives have no such simple reading.
    let is_plain = |glob: &str, special: &[char]| !glob.contains(special);
    wide == narrow
        || (is_plain(wide, &['?', '[', ']', '{', '}', '\\', '!'])
            && is_plain(narrow, &['[', ']', '{', '}', '\\', '!'])
            && Glob::new(wide).is_ok_and(|glob| glob.compile_matcher().is_match(narrow)))
}
