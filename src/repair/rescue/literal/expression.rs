//! Expressions that are no literals: their extent, and their value where it is plain arithmetic.

use std::borrow::Cow;

use super::{Literal, Reader, arithmetic};

/// The expression up to a comma, a closing bracket or the end of its line: the number it computes, or else its source text.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<Literal> {
    let rest = reader.rest();
    let Some(length) = extent(rest) else {
        reader.burn(rest.len());
        return None;
    };
    let source = rest.get(..length)?.trim();
    reader.advance(length)?;
    if source.is_empty() || is_ellipsis(source) {
        return None;
    }
    Some(match arithmetic::compute(&without_escapes(source)) {
        Some(number) => Literal::Number(number),
        None => Literal::Source(source.to_owned()),
    })
}

/// An expression without the escapes that Markdown asks for, and no language does.
pub(super) fn without_escapes(source: &str) -> Cow<'_, str> {
    if source.contains('\\') { source.replace("\\_", "_").replace("\\*", "*").into() } else { source.into() }
}

/// `...` stands for something that was left out: it is no value.
fn is_ellipsis(source: &str) -> bool {
    source.starts_with("...") || source.starts_with('…')
}

/// Bytes up to where the expression ends.
fn extent(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open: Vec<u8> = Vec::new();
    let mut at = 0;
    let mut in_lambda = text.starts_with("lambda");
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'(' => open.push(b')'),
            b'[' => open.push(b']'),
            b'{' => open.push(b'}'),
            b')' | b']' | b'}' => match open.pop() {
                Some(expected) if expected == byte => {}
                Some(_) => return None,
                None => return Some(at),
            },
            b'"' | b'\'' => match closing_quote(bytes, at) {
                Some(end) => at = end,
                // What begins as a string must end as one.
                None if at == 0 => return None,
                None => {}
            },
            b':' if in_lambda && open.is_empty() => in_lambda = false,
            b',' if open.is_empty() && !in_lambda => return Some(at),
            b'\n' if open.is_empty() => return Some(at),
            _ => {}
        }
        at += 1;
    }
    open.is_empty().then_some(at)
}

/// Where the quote at `at` is closed on its line.
fn closing_quote(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = bytes.get(at)?;
    let mut end = at + 1;
    loop {
        match bytes.get(end)? {
            b'\\' => end += 1,
            b'\n' => return None,
            byte if byte == quote => return Some(end),
            _ => {}
        }
        end += 1;
    }
}
