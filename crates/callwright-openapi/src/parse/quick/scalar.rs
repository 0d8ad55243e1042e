//! Values behind a key or a dash: scalars of all styles, and collections in flow style.

use std::borrow::Cow;

use memchr::{memchr2, memchr3};
use serde_json::Value;

use super::super::general::general;
use super::lines::{YamlText, push_break, push_breaks};
use super::{Key, MAX_DEPTH, QuickReader};

impl QuickReader<'_> {
    /// Reads the value at `at` and goes to the next line with content.
    pub(super) fn scalar(&mut self, at: usize, parent: usize, depth: usize) -> Option<Value> {
        let (value, end) = match self.text.byte(at)? {
            b'"' | b'\'' => {
                let (scalar, end) = quoted(self.text, at, Some(parent))?;
                (Value::String(scalar.into_owned()), end)
            }
            b'[' | b'{' => flow(self.text, at, parent, depth)?,
            b'|' | b'>' => block(self.text, at, parent)?,
            _ => plain(self.text, at, parent)?,
        };
        self.end_line(end)?;
        Some(value)
    }
}

/// Reads a collection in flow style, which the general parser parses, and returns it with the offset behind it.
fn flow(text: YamlText<'_>, start: usize, parent: usize, depth: usize) -> Option<(Value, usize)> {
    let (mut at, mut open) = (start, depth);
    loop {
        at = match text.byte(at)? {
            b'"' | b'\'' => quoted(text, at, Some(parent))?.1,
            b'\n' => text.continuation(at, parent)??.0,
            // Comments, and anchors and tags, which may have a meaning outside the collection.
            b'#' | b'\t' | b'&' | b'*' | b'!' => return None,
            byte => {
                open = match byte {
                    b'[' | b'{' => open + 1,
                    b']' | b'}' => open - 1,
                    _ => open,
                };
                at + 1
            }
        };
        if open == depth {
            break;
        }
        if open > MAX_DEPTH {
            return None;
        }
    }
    let (value, remark) = general(text.slice(start, at)?).ok()?;
    remark.is_none().then_some((value, at))
}

/// Reads a block scalar, and returns it with the end of its last line. Headers with `+` or an indentation are left to
/// the general parser.
fn block(text: YamlText<'_>, at: usize, parent: usize) -> Option<(Value, usize)> {
    let is_folded = text.byte(at)? == b'>';
    let is_stripped = text.byte(at + 1)? == b'-';
    let mut end = text.end_of_line(at + 1 + usize::from(is_stripped))?;
    let mut indent = None;
    let mut scalar = String::new();
    let (mut empty, mut widest_empty, mut is_first, mut was_deeper) = (0, 0, true, false);
    while text.byte(end + 1).is_some() {
        let start = end + 1;
        let at = text.skip_spaces(start);
        let spaces = at - start;
        let byte = text.byte(at)?;
        if byte == b'\n' && indent.is_none_or(|indent| spaces <= indent) {
            (end, empty, widest_empty) = (at, empty + 1, widest_empty.max(spaces));
            continue;
        }
        if indent.is_none() && spaces > parent {
            if byte == b'\t' || widest_empty > spaces {
                return None;
            }
            indent = Some(spaces);
        }
        let Some(indent) = indent.filter(|indent| spaces >= *indent) else {
            if byte == b'\t' || spaces > parent {
                return None;
            }
            break;
        };
        let line_end = text.line_end(at);
        let line = text.slice(start + indent, line_end)?;
        // Whether the scalar ends with a break is not clear.
        text.byte(line_end)?;
        // Content, as it has more spaces than the indentation.
        let is_deeper = line.starts_with([' ', '\t']);
        match is_first {
            true => push_breaks(&mut scalar, empty),
            false if is_folded && !is_deeper && !was_deeper => push_break(&mut scalar, empty),
            false => push_breaks(&mut scalar, empty + 1),
        }
        scalar.push_str(line);
        (end, empty, is_first, was_deeper) = (line_end, 0, false, is_deeper);
    }
    if !is_first && !is_stripped {
        scalar.push('\n');
    }
    Some((Value::String(scalar), end))
}

/// Reads the scalar whose opening quotation mark is at `start`, and returns it with the offset behind its closing one.
/// Its further lines have more indentation than `parent`; without `parent`, it has one line. The general parser parses
/// scalars with escape sequences and line breaks.
pub(super) fn quoted(text: YamlText<'_>, start: usize, parent: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let quote = text.byte(start)?;
    let mut at = start + 1;
    loop {
        let rest = text.bytes_from(at);
        let found = if quote == b'"' { memchr3(b'"', b'\\', b'\n', rest)? } else { memchr2(b'\'', b'\n', rest)? };
        let found = at + found;
        at = match (text.byte(found)?, text.byte(found + 1)) {
            (b'\n', _) => text.continuation(found, parent?)??.0,
            (b'\\', Some(b'\n')) => text.continuation(found + 1, parent?)??.0,
            (b'\\', _) | (b'\'', Some(b'\'')) => found + 2,
            _ if at == start + 1 => return Some((Cow::Borrowed(text.slice(at, found)?), found + 1)),
            _ => {
                let (value, _) = general(text.slice(start, found + 1)?).ok()?;
                let Value::String(scalar) = value else { return None };
                return Some((Cow::Owned(scalar), found + 1));
            }
        };
    }
}

/// Reads the key at `at`; `Some(None)` if the line has none.
pub(super) fn plain_key(text: YamlText<'_>, at: usize) -> Option<Option<Key<'_>>> {
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
fn plain(text: YamlText<'_>, at: usize, parent: usize) -> Option<(Value, usize)> {
    if !begins(text, at) {
        return None;
    }
    let (first, mut end, mut is_commented) = plain_line(text, at)?;
    let mut scalar = Cow::Borrowed(first);
    while !is_commented {
        let Some((next, empty)) = text.continuation(end, parent)? else { break };
        if text.byte(next) == Some(b'#') {
            break;
        }
        let further;
        (further, end, is_commented) = plain_line(text, next)?;
        push_break(scalar.to_mut(), empty);
        scalar.to_mut().push_str(further);
    }
    Some((plain_value(scalar)?, end))
}

/// Returns the scalar's text on one line, the line's end, and whether a comment follows the text.
fn plain_line(text: YamlText<'_>, at: usize) -> Option<(&str, usize, bool)> {
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
fn plain_value(scalar: Cow<'_, str>) -> Option<Value> {
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
