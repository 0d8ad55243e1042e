//! Rules for a document with all its operations.

use std::collections::HashMap;
use std::hash::Hash;

use super::rule::{AdviceSubject, Findings};
use crate::tool::text::{SHOWN_NAMES, listed};
use crate::{DocumentOperation, LocatedValue, Operation, ValuePosition, Version};
use callwright_common::text::{is_digits, name_words};

/// `missing-server`. Gives one piece of advice per document, because `servers` is nearly always at the top level.
pub(super) fn missing_server(subject: &AdviceSubject<'_>, findings: &mut Findings) {
    let without = subject.tools.iter().filter(|(_, operation)| operation.servers.is_empty()).count();
    if without == 0 {
        return;
    }
    let (all, document) = (subject.tools.len(), subject.document);
    let who =
        if without == all { "no operation has a".to_owned() } else { format!("{without} of {all} operations have no") };
    let key = if document.version == Version::V2_0 { "host" } else { "servers" };
    let at = document.member(key).map_or_else(|| document.root().at, |member| member.at);
    findings.add("", &at, format!("{who} server that can be called"));
}

/// `confusable-names`. Compares words, not letters: `getPet` and `setPet` differ in one letter but are not confusable,
/// whereas `getUserGroup` and `get_group_users` are. Each name is mapped to one key, so the time is linear in the
/// number of operations.
pub(super) fn confusable_names(subject: &AdviceSubject<'_>, findings: &mut Findings) {
    let groups = groups(subject, |_, operation| {
        let key = key(operation.operation_id.as_deref().unwrap_or_else(|| operation.own_name()));
        Some(key).filter(|key| !key.is_empty())
    });
    for (source, names) in groups {
        let at = source.operation.member("operationId").map_or_else(|| source.operation.at.clone(), |id| id.at);
        let message = format!("{names} differ only in case, word order, number or version");
        findings.add(&source.label(), &at, message);
    }
}

/// `same-description`. Skips operations without a description, which `missing-description` reports.
pub(super) fn same_description(subject: &AdviceSubject<'_>, findings: &mut Findings) {
    let groups = groups(subject, |source, tool| {
        let is_described = ["summary", "description"].iter().any(|key| source.operation.text(key).is_some());
        is_described.then(|| tool.tool.description.clone())
    });
    for (source, names) in groups {
        findings.add(&source.label(), &text_of(&source.operation), format!("{names} share one description"));
    }
}

/// Returns the position of an operation's description, or of the operation if it has none.
pub(super) fn text_of<'d>(operation: &LocatedValue<'d>) -> ValuePosition<'d> {
    let text = ["description", "summary"].into_iter().find_map(|key| operation.member(key));
    text.map_or_else(|| operation.at.clone(), |text| text.at)
}

/// Returns the first operation and the names of each group of operations that share a key, in the order of the
/// document.
fn groups<'s, 'd, K: Eq + Hash>(
    subject: &'s AdviceSubject<'d>,
    key: impl Fn(&DocumentOperation<'d>, &Operation) -> Option<K>,
) -> Vec<(&'s DocumentOperation<'d>, String)> {
    let mut groups: HashMap<K, Vec<usize>> = HashMap::new();
    for (index, (source, operation)) in subject.tools.iter().enumerate() {
        if let Some(key) = key(source, operation) {
            groups.entry(key).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    let mut named = Vec::with_capacity(groups.len());
    for group in groups {
        let tools: Vec<_> = group.into_iter().filter_map(|index| subject.tools.get(index)).collect();
        if let Some((first, _)) = tools.first() {
            named.push((first, listed(tools.iter().map(|(_, operation)| operation.own_name()), SHOWN_NAMES)));
        }
    }
    named
}

/// Returns the key that confusable names share: their words without numbers and versions, in the singular, sorted.
pub(super) fn key(name: &str) -> String {
    let words = name_words(name).into_iter().filter(|word| !is_digits(word.strip_prefix('v').unwrap_or(word)));
    let mut words: Vec<String> =
        words.map(|word| singular(word.trim_end_matches(|c: char| c.is_ascii_digit()))).collect();
    words.sort_unstable();
    words.join(" ")
}

/// Returns an approximate singular of `word`. The result for other words does not matter, because both names get the
/// same one.
fn singular(word: &str) -> String {
    for (plural, ending) in [("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")] {
        if let Some(stem) = word.strip_suffix(plural).filter(|stem| stem.len() > 1) {
            return format!("{stem}{ending}");
        }
    }
    let is_plural = word.len() > 3 && !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending));
    word.strip_suffix('s').filter(|_| is_plural).unwrap_or(word).to_owned()
}
