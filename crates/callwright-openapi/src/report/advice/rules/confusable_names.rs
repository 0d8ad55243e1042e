//! `confusable-names`: tools of one document whose names consist of the same words.

use std::collections::HashMap;

use super::super::rule::{AdviceSubject, Findings, Rule, RuleCheck};
use super::super::words::listed;
use callwright_common::text::name_words;

/// Maximum number of names that a message lists for one group.
const SHOWN: usize = 5;

pub(crate) const RULE: Rule = Rule {
    code: "confusable-names",
    about: "tool names that models confuse",
    fix: "make each `operationId` distinct, such as `list` for many and `get` for one",
    check: RuleCheck::Document(check),
};

/// Compares words, not letters: `getPet` and `setPet` differ in one letter but are not confusable, whereas
/// `getUserGroup` and `get_group_users` are. Each name is mapped to one key, so the time is linear in the number of
/// operations.
fn check(subject: &AdviceSubject<'_>, findings: &mut Findings) {
    let mut groups: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, (_, operation)) in subject.tools.iter().enumerate() {
        let key = key(operation.operation_id.as_deref().unwrap_or_else(|| operation.own_name()));
        if !key.is_empty() {
            groups.entry(key).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    for group in groups {
        let tools: Vec<_> = group.into_iter().filter_map(|index| subject.tools.get(index)).collect();
        let Some((source, _)) = tools.first() else { continue };
        let names = listed(tools.iter().map(|(_, operation)| operation.own_name()), SHOWN);
        let at = source.operation.member("operationId").map_or_else(|| source.operation.at.clone(), |id| id.at);
        let message = format!("{names} differ only in case, word order, number or version");
        findings.add(&source.label(), &at, message);
    }
}

/// Returns the key that confusable names share: their words without numbers and versions, in the singular, sorted.
fn key(name: &str) -> String {
    let words = name_words(name).into_iter().filter(|word| !is_number(word));
    let mut words: Vec<String> =
        words.map(|word| singular(word.trim_end_matches(|c: char| c.is_ascii_digit()))).collect();
    words.sort_unstable();
    words.join(" ")
}

/// Whether `word` is a number or a version: `2`, `v2`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns an approximate singular of `word`. The result for other words does not matter, because both names get the
/// same one.
fn singular(word: &str) -> String {
    for (plural, ending) in [("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")] {
        if let Some(stem) = word.strip_suffix(plural).filter(|stem| stem.len() > 1) {
            return format!("{stem}{ending}");
        }
    }
    let is_plural = word.len() > 3 && !word.ends_with("ss") && !word.ends_with("us") && !word.ends_with("is");
    word.strip_suffix('s').filter(|_| is_plural).unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::advice_on;
    use super::*;
    use serde_json::{Map, Value, json};

    fn with_ids(ids: &[&str]) -> Value {
        let paths: Map<String, Value> = ids
            .iter()
            .enumerate()
            .map(|(number, id)| (format!("/{number}"), json!({"get": {"operationId": id}})))
            .collect();
        json!({"openapi": "3.0.0", "paths": paths})
    }

    #[test]
    fn the_same_words_are_confusable_and_others_are_not() {
        let alike = [
            ("getUser", "get_users"),
            ("getUserGroups", "getGroupUser"),
            ("list-pets", "listPetsV2"),
            ("listCategories", "listCategory2"),
            ("findAddress", "findAddresses"),
        ];
        for (one, other) in alike {
            assert_eq!(key(one), key(other), "{one} {other}");
        }
        for (one, other) in
            [("getPet", "setPet"), ("getPet", "getPetById"), ("listTags", "listTaxes"), ("getStatus", "getStats")]
        {
            assert_ne!(key(one), key(other), "{one} {other}");
        }
    }

    #[test]
    fn a_group_is_reported_once_with_its_names() {
        let found = advice_on("confusable-names", with_ids(&["getUser", "deleteUser", "getUsers", "userGet", "2"]));
        let [advice] = found.as_slice() else { panic!("{found:?}") };
        assert!(advice.message.starts_with("`getUser`, `getUsers`, `userGet` differ"), "{}", advice.message);
        assert_eq!((advice.operation.as_str(), advice.at.as_str()), ("GET /0", "api.json #/paths/~10/get/operationId"));
        let doubled = advice_on("confusable-names", with_ids(&["get", "get"]));
        assert_eq!(doubled.len(), 1, "tools of one operationId differ only by a hash: {doubled:?}");
    }

    #[test]
    fn many_operations_are_checked_and_long_groups_are_shortened() {
        let letters = |number: usize| {
            format!("{number:04}").chars().map(|digit| char::from(b'a' + digit as u8 - b'0')).collect::<String>()
        };
        let name = |number: usize| {
            if number.is_multiple_of(2) { format!("opV{number}") } else { format!("op{}", letters(number)) }
        };
        let ids: Vec<String> = (0..5000).map(name).collect();
        let found = advice_on("confusable-names", with_ids(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
        let [advice] = found.as_slice() else { panic!("{} groups", found.len()) };
        assert!(advice.message.contains("and 2495 more") && advice.message.len() < 500, "{}", advice.message);
    }
}
