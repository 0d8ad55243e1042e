//! Extensions (`x-*`) that list errors. There is no standard for them: keys that speak of errors are read, whatever their form.

use serde_json::Value;

use super::super::document::Located;
use super::collector::Collector;

/// What an extension's key speaks of when it lists errors.
const ERROR_WORDS: [&str; 4] = ["error", "fault", "exception", "failure"];
/// Lists within lists that are read.
const MAX_LEVELS: usize = 4;

/// The entries of every extension of `holder` that lists errors, one text each.
pub(super) fn error_lists<'d>(texts: &mut Collector<'d>, holder: &Located<'d>) {
    for (key, value) in holder.members() {
        let lower = key.to_ascii_lowercase();
        if lower.starts_with("x-") && ERROR_WORDS.iter().any(|word| lower.contains(word)) {
            entries(texts, "", &value, MAX_LEVELS);
        }
    }
}

fn entries<'d>(texts: &mut Collector<'d>, label: &str, entry: &Located<'d>, levels: usize) {
    if let Some(line) = line(entry.value) {
        return texts.push(label, &line, &entry.at);
    }
    let Some(levels) = levels.checked_sub(1) else { return };
    for item in entry.items() {
        entries(texts, label, &item, levels);
    }
    for (key, member) in entry.members() {
        entries(texts, key, &member, levels);
    }
}

/// A scalar, or an object of scalars (`{code: 7, message: gone}`), in one line.
fn line(value: &Value) -> Option<String> {
    if let Value::Object(members) = value {
        let parts: Option<Vec<String>> =
            members.iter().map(|(key, value)| Some(format!("{key}: {}", scalar(value)?))).collect();
        return parts.map(|parts| parts.join(", "));
    }
    scalar(value)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
