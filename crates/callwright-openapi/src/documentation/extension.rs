//! Reads extensions (`x-*`) that list errors. No standard defines them, so any extension whose key suggests errors is
//! read, in any form.

use serde_json::Value;

use super::collector::DocTextCollector;
use super::schema::MAX_LEVELS;
use crate::document::LocatedValue;

/// Words in an extension's key that indicate a list of errors.
const ERROR_WORDS: [&str; 4] = ["error", "fault", "exception", "failure"];
/// Adds the entries of all error-listing extensions of `holder`, one text each.
pub(super) fn error_lists(texts: &mut DocTextCollector, holder: &LocatedValue<'_>) {
    for (key, value) in holder.members() {
        let lower = key.to_ascii_lowercase();
        if lower.starts_with("x-") && lists_errors(&lower) {
            entries(texts, "", &value, MAX_LEVELS);
        }
    }
}

/// Whether the lower-case key suggests a list of errors or codes. Excludes `x-codeSamples` and similar keys.
fn lists_errors(key: &str) -> bool {
    ERROR_WORDS.iter().any(|word| key.contains(word)) || key.contains("codes") && !key.contains("sample")
}

fn entries(texts: &mut DocTextCollector, label: &str, entry: &LocatedValue<'_>, levels: usize) {
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

/// Formats a scalar, or an object of scalars, as one line: `{code: 7, message: gone}` becomes `` `7`: gone ``.
fn line(value: &Value) -> Option<String> {
    let Value::Object(members) = value else { return scalar(value) };
    let code =
        members.iter().find(|(key, value)| is_code(key) && scalar(value).is_some_and(|text| !text.contains(' ')));
    let others = members.iter().filter(|(key, _)| code.is_none_or(|(code, _)| code != *key));
    let parts: Option<Vec<String>> = others.map(|(key, value)| Some(part(key, &scalar(value)?))).collect();
    let code = code.and_then(|(_, value)| scalar(value)).map(|code| format!("`{code}`: ")).unwrap_or_default();
    parts.map(|parts| code + &parts.join(", "))
}

/// Formats a member. The names of descriptive members are omitted.
fn part(key: &str, value: &str) -> String {
    let is_descriptive =
        matches!(key, "message" | "description" | "meaning" | "title" | "reason" | "detail" | "summary");
    if is_descriptive { value.to_owned() } else { format!("{key}: {value}") }
}

fn is_code(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("code") && !key.contains("status") && !key.contains("http") || key == "id" || key == "key"
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
