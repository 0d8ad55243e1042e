//! Scalars in quotation marks.

use std::borrow::Cow;

use memchr::{memchr2, memchr3};

use super::lines::{YamlText, push_break};

/// Reads the scalar whose opening quotation mark is at `at`, and returns it with the offset behind its closing one.
/// Its further lines have more indentation than `parent`; without `parent`, it has one line.
pub(super) fn read(text: YamlText<'_>, at: usize, parent: Option<usize>) -> Option<(Cow<'_, str>, usize)> {
    let quote = text.byte(at)?;
    let start = at + 1;
    let mut from = start;
    let mut scalar = String::new();
    // Length of the part that ends with an escape sequence, whose spaces are kept.
    let mut kept = 0;
    let mut is_first = true;
    loop {
        let rest = text.bytes_from(from);
        let found =
            from + if quote == b'"' { memchr3(b'"', b'\\', b'\n', rest)? } else { memchr2(b'\'', b'\n', rest)? };
        let part = text.slice(from, found)?;
        match text.byte(found)? {
            b'\n' => {
                scalar.push_str(part);
                let length = scalar.trim_end_matches([' ', '\t']).len().max(kept);
                scalar.truncate(length);
                let (next, empty) = text.continuation(found, parent?)??;
                push_break(&mut scalar, empty);
                from = next;
                kept = scalar.len();
            }
            b'\\' => {
                scalar.push_str(part);
                from = escape(text, found + 1, parent, &mut scalar)?;
                kept = scalar.len();
            }
            b'\'' if text.byte(found + 1) == Some(b'\'') => {
                scalar.push_str(part);
                scalar.push('\'');
                from = found + 2;
                kept = scalar.len();
            }
            _ if is_first => return Some((Cow::Borrowed(part), found + 1)),
            _ => {
                scalar.push_str(part);
                return Some((Cow::Owned(scalar), found + 1));
            }
        }
        is_first = false;
    }
}

/// Reads the escape sequence behind the backslash (YAML 1.2.2, section 5.7), and returns the offset behind it.
fn escape(text: YamlText<'_>, at: usize, parent: Option<usize>, scalar: &mut String) -> Option<usize> {
    let digits = match text.byte(at)? {
        b'\n' => {
            let (next, empty) = text.continuation(at, parent?)??;
            return (empty == 0).then_some(next);
        }
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        byte => {
            scalar.push(match byte {
                b'"' | b'\\' | b'/' | b' ' => char::from(byte),
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'0' => '\0',
                b'a' => '\u{7}',
                b'e' => '\u{1b}',
                b'v' => '\u{b}',
                b'N' => '\u{85}',
                b'_' => '\u{a0}',
                b'L' => '\u{2028}',
                b'P' => '\u{2029}',
                _ => return None,
            });
            return Some(at + 1);
        }
    };
    let end = at + 1 + digits;
    let digits = text.slice(at + 1, end)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    scalar.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
    Some(end)
}
