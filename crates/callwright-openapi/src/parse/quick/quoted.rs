//! Scalars in quotation marks.

use std::borrow::Cow;

use memchr::{memchr2, memchr3};
use serde_json::Value;

use super::super::general::general;
use super::lines::YamlText;

/// Reads the scalar whose opening quotation mark is at `start`, and returns it with the offset behind its closing one.
/// Its further lines have more indentation than `parent`; without `parent`, it has one line. The general parser parses
/// scalars with escape sequences and line breaks.
pub(super) fn read(text: YamlText<'_>, start: usize, parent: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
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
