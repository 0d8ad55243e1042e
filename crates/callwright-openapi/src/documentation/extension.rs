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
        if lower.starts_with("x-") && lists_errors(&lower) {
            entries(texts, "", &value, MAX_LEVELS);
        }
    }
}

/// Does the key, in lower case, speak of errors or of codes? `x-codeSamples` and the like are something else.
fn lists_errors(key: &str) -> bool {
    ERROR_WORDS.iter().any(|word| key.contains(word)) || key.contains("codes") && !key.contains("sample")
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

/// A scalar, or an object of scalars in one line: `{code: 7, message: gone}` as `7: gone`.
fn line(value: &Value) -> Option<String> {
    let Value::Object(members) = value else { return scalar(value) };
    let code =
        members.iter().find(|(key, value)| is_code(key) && scalar(value).is_some_and(|text| !text.contains(' ')));
    let others = members.iter().filter(|(key, _)| code.is_none_or(|(code, _)| code != *key));
    let parts: Option<Vec<String>> = others.map(|(key, value)| Some(part(key, &scalar(value)?))).collect();
    let code = code.and_then(|(_, value)| scalar(value)).map(|code| format!("`{code}`: ")).unwrap_or_default();
    parts.map(|parts| code + &parts.join(", "))
}

/// A member; what only tells the meaning needs no name.
fn part(key: &str, value: &str) -> String {
    let is_told = matches!(key, "message" | "description" | "meaning" | "title" | "reason" | "detail" | "summary");
    if is_told { value.to_owned() } else { format!("{key}: {value}") }
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
