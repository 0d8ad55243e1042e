//! Scalars without quotation marks.

use std::borrow::Cow;

use memchr::{memchr2, memchr3};
use serde_json::Value;

use super::super::general::general;
use super::Key;
use super::lines::{YamlText, push_break};

/// Reads the key at `at`; `Some(None)` if the line has none.
pub(super) fn key(text: YamlText<'_>, at: usize) -> Option<Option<Key<'_>>> {
    if !begins(text, at) {
        return None;
    }
    let mut from = at;
    loop {
        let found = from + memchr2(b':', b'\n', text.bytes_from(from)).unwrap_or(text.bytes_from(from).len());
        match text.byte(found) {
            Some(b':') if text.is_colon(found) => {
                let name = text.slice(at, found)?.trim_end_matches(' ');
                let is_usual = name != "<<" && !is_null(name) && !name.contains('\t') && !name.contains(" #");
                return is_usual.then_some(Some((Cow::Borrowed(name), found + 1)));
            }
            Some(b':') => from = found + 1,
            _ => return Some(None),
        }
    }
}

/// Reads a scalar in block style, whose further lines have more indentation than `parent`. Returns it with the end of
/// its last line.
pub(super) fn read(text: YamlText<'_>, at: usize, parent: usize) -> Option<(Value, usize)> {
    if !begins(text, at) {
        return None;
    }
    let (first, mut end, mut is_commented) = line(text, at)?;
    let mut scalar = Cow::Borrowed(first);
    while !is_commented {
        let Some((next, empty)) = text.continuation(end, parent)? else { break };
        if text.byte(next) == Some(b'#') {
            break;
        }
        let further;
        (further, end, is_commented) = line(text, next)?;
        push_break(scalar.to_mut(), empty);
        scalar.to_mut().push_str(further);
    }
    Some((value(scalar)?, end))
}

/// Returns the scalar's text on one line, the line's end, and whether a comment follows the text.
fn line(text: YamlText<'_>, at: usize) -> Option<(&str, usize, bool)> {
    let end = text.line_end(at);
    let content = text.slice(at, end)?;
    let mut from = at;
    while let Some(found) = memchr3(b':', b'#', b'\t', content.as_bytes().get(from - at..)?) {
        let found = from + found;
        match text.byte(found)? {
            b'#' if found > at && text.byte(found - 1) == Some(b' ') => {
                return Some((text.slice(at, found)?.trim_end_matches(' '), end, true));
            }
            b'\t' => return None,
            b':' if text.is_colon(found) => return None,
            _ => from = found + 1,
        }
    }
    Some((content.trim_end_matches(' '), end, false))
}

/// Whether a plain scalar begins at `at`, and with a character that has no other meaning.
fn begins(text: YamlText<'_>, at: usize) -> bool {
    match text.byte(at) {
        Some(b'-' | b'?' | b':') => text.byte(at + 1).is_some_and(|next| !b" \n\t,[]{}".contains(&next)),
        Some(byte) => byte.is_ascii_alphanumeric() || b"/$_.<()~=;^+\\".contains(&byte) || byte >= 0x80,
        None => false,
    }
}

fn is_null(scalar: &str) -> bool {
    scalar.is_empty() || scalar == "~" || scalar.eq_ignore_ascii_case("null")
}

/// Returns the value of a plain scalar (YAML 1.2.2, section 10.3.2). Numbers in an unusual form are left to the general
/// parser.
fn value(scalar: Cow<'_, str>) -> Option<Value> {
    let first = scalar.as_bytes().first().copied()?;
    match first {
        b'~' | b'n' | b'N' if is_null(&scalar) => return Some(Value::Null),
        b't' | b'T' if scalar.eq_ignore_ascii_case("true") => return Some(Value::Bool(true)),
        b'f' | b'F' if scalar.eq_ignore_ascii_case("false") => return Some(Value::Bool(false)),
        b'0'..=b'9' | b'+' | b'-' | b'.' => {}
        _ => return Some(Value::String(scalar.into_owned())),
    }
    if (matches!(first, b'1'..=b'9') || scalar == "0")
        && let Ok(number) = scalar.parse::<u64>()
    {
        return Some(number.into());
    }
    let may_be_number = scalar.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-.".contains(&byte));
    // As a document, `---` and `...` are markers.
    if may_be_number && scalar.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
        return general(&scalar).ok().map(|(value, _)| value);
    }
    Some(Value::String(scalar.into_owned()))
}
