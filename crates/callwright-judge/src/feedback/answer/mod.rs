//! An API's answer as the model reads it: whole where it is short, else shortened by a rule that the text itself states.
//!
//! - JSON stays valid JSON: of arrays the first items are shown, of strings the first characters, of objects the first members, and what
//!   is nested too deeply is named; each cut says how much is left out (`json`).
//! - Other text is cut between lines, so that a table keeps its head and whole rows (`text`).
//! - What is no text is described by its type and size; of other text than JSON, which has none, control characters are replaced.
//!
//! The same answer gives the same text. The work is linear in the answer.

mod json;
mod pages;
mod text;

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::quote::{code, printable};
use callwright_types::outcome::{ApiAnswer, NextPage};

/// Fewest characters that an answer is shortened to: what a cut says about itself needs some.
const MIN_LIMIT: usize = 200;

/// Subtypes of media types, and their endings behind a `+`, that are text, beside `text/*`.
const TEXT_TYPES: [&str; 9] =
    ["json", "xml", "csv", "yaml", "x-yaml", "javascript", "x-www-form-urlencoded", "graphql", "x-ndjson"];

/// At most `limit` characters (but at least 200 may be used) of a successful answer, and behind them what else there is to know: that
/// there is no content, or a next page.
pub fn shown(answer: &ApiAnswer, limit: usize) -> String {
    let mut shown = content(answer, limit.max(MIN_LIMIT));
    if let Some(next) = &answer.paging.next {
        shown.push('\n');
        shown.push_str(&more(next));
    }
    shown
}

/// The answer as a trace keeps it: every page whole, one after the other; what is no text is described.
pub fn recorded(answer: &ApiAnswer) -> String {
    if is_binary(answer) {
        return described(answer);
    }
    let mut text = answer.text().into_owned();
    for page in &answer.paging.later {
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(page));
    }
    text
}

/// The content of a failed answer, with the members of an object in the order that `order` gives it where not all of it can be shown.
pub(super) fn failed(answer: &ApiAnswer, limit: usize, order: impl FnOnce(Value) -> Value) -> String {
    let limit = limit.max(MIN_LIMIT);
    if is_binary(answer) {
        return described(answer);
    }
    match serde_json::from_slice::<Value>(&answer.body) {
        Ok(value) => {
            let compact = value.to_string();
            if fits(&compact, limit) { compact } else { json::shortened(&order(value), limit) }
        }
        Err(_) => {
            let compact = answer.text().split_whitespace().collect::<Vec<_>>().join(" ");
            text::shortened(&compact, limit, answer.truncated)
        }
    }
}

fn content(answer: &ApiAnswer, limit: usize) -> String {
    if is_binary(answer) {
        return described(answer);
    }
    let text = answer.text();
    if !answer.paging.later.is_empty() {
        return paged(answer, limit);
    }
    if text.trim().is_empty() {
        return format!("(status {}, no content)", answer.status);
    }
    if !answer.truncated && fits(&text, limit) {
        return if is_json(&text) { text.into_owned() } else { printable(&text).into_owned() };
    }
    let whole = if answer.truncated { json::completed(&text) } else { serde_json::from_str(&text).ok() };
    match whole {
        Some(value) if answer.truncated => json::shortened_and_open(&value, limit),
        Some(value) => json::shortened(&value, limit),
        None => text::shortened(&printable(&text), limit, answer.truncated),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The items of all pages together, where they can be told, else one page after the other.
fn paged(answer: &ApiAnswer, limit: usize) -> String {
    let bodies = std::iter::once(&answer.body).chain(&answer.paging.later);
    let values: Result<Vec<Value>, _> = bodies.clone().map(|body| serde_json::from_slice(body)).collect();
    match values {
        Ok(values) => json::shortened(&pages::joined(values), limit),
        Err(_) => {
            let texts: Vec<Cow<'_, str>> = bodies.map(|body| String::from_utf8_lossy(body)).collect();
            text::shortened(&printable(&texts.join("\n")), limit, answer.truncated)
        }
    }
}

fn fits(text: &str, limit: usize) -> bool {
    text.len() <= limit || text.char_indices().nth(limit).is_none()
}

/// The media type says so, or where it does not, the bytes do.
fn is_binary(answer: &ApiAnswer) -> bool {
    if answer.body.is_empty() {
        return false;
    }
    let kind = media_type(answer).to_ascii_lowercase();
    let subtype = kind.split(['/', '+']).next_back().unwrap_or_default();
    if kind.starts_with("text/") || TEXT_TYPES.contains(&subtype) {
        // Whatever it is called: no text has such characters.
        return answer.body.contains(&0);
    }
    let says_binary = ["image/", "audio/", "video/", "font/"].iter().any(|family| kind.starts_with(family))
        || ["application/pdf", "application/zip", "application/gzip"].contains(&kind.as_str());
    says_binary || answer.body.contains(&0) || !is_utf8(answer)
}

/// A body that was cut may end within a letter.
fn is_utf8(answer: &ApiAnswer) -> bool {
    match std::str::from_utf8(&answer.body) {
        Ok(_) => true,
        Err(error) => answer.truncated && error.error_len().is_none(),
    }
}

fn media_type(answer: &ApiAnswer) -> &str {
    answer.header("content-type").and_then(|kind| kind.split(';').next()).unwrap_or_default().trim()
}

fn described(answer: &ApiAnswer) -> String {
    let kind = match media_type(answer) {
        "" => "of no stated type".to_owned(),
        kind => format!("of type {}", code(kind)),
    };
    let size = format!("{}{} bytes", if answer.truncated { "more than " } else { "" }, answer.body.len());
    format!("(the answer is no text: content {kind}, {size}; it is not shown)")
}

fn more(next: &NextPage) -> String {
    if next.arguments.is_empty() {
        return "(there are more results on a next page, which this tool has no argument for)".to_owned();
    }
    let set: Vec<String> = next
        .arguments
        .iter()
        .map(|(name, value)| format!("{} set to {}", code(name), Value::from(value.as_str())))
        .collect();
    format!("(there are more results: for the next page, call again with {})", set.join(" and "))
}

#[cfg(test)]
mod tests;
