//! API responses in the form shown to the model: complete if short, else shortened by a rule that the text itself
//! states.
//!
//! - JSON stays valid JSON: it shows the first items of arrays, characters of strings and members of objects, and
//!   summarises what is nested too deeply. Each cut states how much is left out (`json`).
//! - Other text is cut at line breaks, so that a table keeps its header and complete rows.
//! - Binary content is described by its type and size. Control characters in text other than JSON are replaced; JSON
//!   has none.
//!
//! The result is deterministic, and the work is linear in the size of the response.

mod fields;
mod json;
mod pages;

use std::borrow::Cow;

use memchr::memchr_iter;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::quote::{code, one_line, printable};
use callwright_common::text::beginning;
use callwright_types::outcome::{ApiAnswer, NextPage};

/// Number of characters reserved for the note about the cut.
const NOTE_CHARS: usize = 90;

/// Note for a response that the proxy did not read or receive completely.
const BROKEN_OFF: &str = "(the answer is longer than the proxy reads, or broke off; the rest is missing)";

/// Minimum limit in characters: the notes about cuts need some room.
const MIN_LIMIT: usize = 200;

/// Media subtypes and structured syntax suffixes (after `+`) that are text, besides `text/*`.
const TEXT_TYPES: [&str; 9] =
    ["json", "xml", "csv", "yaml", "x-yaml", "javascript", "x-www-form-urlencoded", "graphql", "x-ndjson"];

/// Members of a JSON response that are likely to explain the failure, most relevant first (RFC 9457 and common
/// practice).
const TELLING: [&str; 18] = [
    "error", "errors", "message", "detail", "details", "title", "reason", "code", "error_code", "errorcode",
    "error_description", "info", "info_code", "infocode", "status", "description", "msg", "fault",
];

/// Returns at most `limit` characters (but at least 200) of a successful response, and notes if it has no content, header
/// fields that matter, or a next page.
pub fn shown(answer: &ApiAnswer, limit: usize) -> String {
    let notes = fields::note(answer).into_iter().chain(answer.paging.next.as_ref().map(more));
    notes.fold(content(answer, limit.max(MIN_LIMIT)), |shown, note| shown + "\n" + &note)
}

/// Returns the response as stored in a trace: all pages in full, one after the other; a description for binary content.
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

/// Returns at most `limit` characters of a failed response. A longer JSON object begins with its most relevant members;
/// any other text is shortened from its end.
pub(super) fn failed(answer: &ApiAnswer, limit: usize) -> String {
    let limit = limit.max(MIN_LIMIT);
    if is_binary(answer) {
        return described(answer);
    }
    match serde_json::from_slice::<Value>(&answer.body) {
        Ok(value) => {
            let compact = value.to_string();
            if fits(&compact, limit) { compact } else { json::shortened(&telling_first(value), limit) }
        }
        Err(_) => shortened(&one_line(&answer.text()), limit, answer.truncated),
    }
}

fn telling_first(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    let mut members: Vec<(String, Value)> = members.into_iter().collect();
    members.sort_by_key(|(name, _)| {
        TELLING.iter().position(|telling| telling.eq_ignore_ascii_case(name)).unwrap_or(TELLING.len())
    });
    Value::Object(members.into_iter().collect())
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
        None => shortened(&printable(&text), limit, answer.truncated),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Joins the items of all pages if they can be identified, else the pages one after the other.
fn paged(answer: &ApiAnswer, limit: usize) -> String {
    let bodies = std::iter::once(&answer.body).chain(&answer.paging.later);
    let values: Result<Vec<Value>, _> = bodies.clone().map(|body| serde_json::from_slice(body)).collect();
    match values {
        Ok(values) => json::shortened(&pages::joined(values), limit),
        Err(_) => {
            let texts: Vec<Cow<'_, str>> = bodies.map(|body| String::from_utf8_lossy(body)).collect();
            shortened(&printable(&texts.join("\n")), limit, answer.truncated)
        }
    }
}

/// Whether the media type or, if it is not conclusive, the content is binary.
fn is_binary(answer: &ApiAnswer) -> bool {
    if answer.body.is_empty() {
        return false;
    }
    let kind = media_type(answer).to_ascii_lowercase();
    let subtype = kind.split(['/', '+']).next_back().unwrap_or_default();
    if kind.starts_with("text/") || TEXT_TYPES.contains(&subtype) {
        // No text contains NUL bytes, regardless of its media type.
        return answer.body.contains(&0);
    }
    let has_binary_type = ["image/", "audio/", "video/", "font/"].iter().any(|family| kind.starts_with(family))
        || ["application/pdf", "application/zip", "application/gzip"].contains(&kind.as_str());
    has_binary_type || answer.body.contains(&0) || !is_utf8(answer)
}

/// Whether the body is UTF-8. A truncated body may end within a character.
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
    let set = next.arguments.iter();
    let set = set.map(|(name, value)| format!("{} set to {}", code(name), Value::from(value.as_str())));
    let set: Vec<String> = set.collect();
    format!("(there are more results: for the next page, call again with {})", set.join(" and "))
}

/// Returns at most `limit` characters: complete lines if they fill at least half of it, else the beginning of a line. A
/// note at the end states how much is left out. `broke_off` marks `text` as incomplete.
fn shortened(text: &str, limit: usize, broke_off: bool) -> String {
    let room = limit.saturating_sub(if broke_off { NOTE_CHARS + BROKEN_OFF.len() } else { NOTE_CHARS });
    let whole = if broke_off { limit.saturating_sub(BROKEN_OFF.len() + 1) } else { limit };
    let mut shown = if fits(text, whole) { text.to_owned() } else { cut(text, room) };
    if broke_off {
        shown.push('\n');
        shown.push_str(BROKEN_OFF);
    }
    shown
}

/// Whether a text has at most `limit` characters.
fn fits(text: &str, limit: usize) -> bool {
    beginning(text, limit).len() == text.len()
}

fn cut(text: &str, room: usize) -> String {
    let begun = beginning(text, room);
    match begun.rfind('\n').filter(|line_end| *line_end >= begun.len() / 2) {
        Some(line_end) => {
            let lines = begun.get(..line_end).unwrap_or_default();
            format!("{lines}\n(shortened: the first {} of {} lines are shown)", count(lines), count(text.trim_end()))
        }
        None => format!("{begun}\n(shortened: the first {} of {} bytes are shown)", begun.len(), text.len()),
    }
}

fn count(text: &str) -> usize {
    memchr_iter(b'\n', text.as_bytes()).count() + 1
}

#[cfg(test)]
mod tests;
