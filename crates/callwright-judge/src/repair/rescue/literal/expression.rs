//! Parses expressions that are not literals: finds their extent, and evaluates plain arithmetic.

use super::arithmetic;
use super::value::{Literal, without_escapes};

/// Returns the number that an expression evaluates to, or else its source text; `None` if it is no expression.
pub(super) fn value(source: &str) -> Option<Literal> {
    let source = source.trim();
    // Text that begins as a string is a string, unless an operator follows it.
    let is_string = source.starts_with(['"', '\'', '`']);
    if source.is_empty() || is_ellipsis(source) || is_string && !is_operation(source) {
        return None;
    }
    Some(match arithmetic::compute(&without_escapes(source)) {
        Some(number) => Literal::Number(number),
        None => Literal::Source(source.to_owned()),
    })
}

/// Whether the source is an ellipsis (`...`), which marks omitted text and is not a value.
fn is_ellipsis(source: &str) -> bool {
    source.starts_with("...") || source.starts_with('…')
}

/// Operators between operands.
const OPERATORS: [&str; 16] =
    ["+", "-", "*", "/", "%", "|", "&", "==", "!=", "<", ">", "or ", "and ", "if ", "else ", "in "];

/// Whether a source that begins with a string is a complete operation on it: `"a" + b`, `"a".join(b)`, `"x" * 3`.
fn is_operation(source: &str) -> bool {
    let mut rest = source;
    loop {
        let Some(behind) = operand(rest) else { return false };
        rest = behind.trim_start();
        if rest.is_empty() {
            return true;
        }
        let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) else { return false };
        rest = rest.get(operator.len()..).unwrap_or_default().trim_start();
    }
}

/// Skips a string, number, name or bracket, with its attributes, calls and subscripts. Returns the text after it.
fn operand(text: &str) -> Option<&str> {
    let word = text.len() - text.trim_start_matches(|letter: char| is_word(letter) || letter == '.').len();
    let mut rest = text.get(word..)?;
    if rest.starts_with(['"', '\'']) && word <= 2 {
        rest = rest.get(closing_quote(rest.as_bytes(), 0).ok()? + 1..)?;
    } else if word == 0 {
        rest = bracket(rest)?;
    }
    loop {
        rest = if rest.starts_with(['(', '[']) {
            bracket(rest)?
        } else if let Some(attribute) = rest.strip_prefix('.').filter(|rest| rest.starts_with(is_word)) {
            attribute.trim_start_matches(is_word)
        } else {
            return Some(rest);
        };
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Skips the bracket at the start of `text`, and returns the text after it.
fn bracket(text: &str) -> Option<&str> {
    let close = closing(*text.as_bytes().first()?)?;
    let end = extent(text.get(1..)?)?;
    let inner = text.get(1..)?;
    // The extent also ends at a comma, so the items are skipped one by one.
    let mut at = end;
    while inner.as_bytes().get(at) == Some(&b',') {
        at += 1 + extent(inner.get(at + 1..)?)?;
    }
    (inner.as_bytes().get(at) == Some(&close)).then(|| inner.get(at + 1..)).flatten()
}

/// Returns the bracket that closes an opening one.
pub(super) fn closing(open: u8) -> Option<u8> {
    match open {
        b'(' => Some(b')'),
        b'[' => Some(b']'),
        b'{' => Some(b'}'),
        _ => None,
    }
}

/// Returns the number of bytes up to the end of the expression: a comma, a closing bracket or the end of its line.
pub(super) fn extent(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open: Vec<u8> = Vec::new();
    let mut at = 0;
    let mut in_lambda = text.starts_with("lambda");
    // Up to where no quote of a kind is closed: a later one on the line is escaped for the first, and closed nowhere either.
    let mut unclosed = [0, 0];
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'(' | b'[' | b'{' => open.extend(closing(byte)),
            b')' | b']' | b'}' => match open.pop() {
                Some(expected) if expected == byte => {}
                Some(_) => return None,
                None => return Some(at),
            },
            b'"' | b'\'' => {
                let unclosed = &mut unclosed[usize::from(byte == b'"')];
                if at >= *unclosed {
                    match closing_quote(bytes, at) {
                        Ok(end) => at = end,
                        // A string at the start must be closed.
                        Err(_) if at == 0 => return None,
                        Err(end) => *unclosed = end,
                    }
                }
            }
            b':' if in_lambda && open.is_empty() => in_lambda = false,
            b',' if open.is_empty() && !in_lambda => return Some(at),
            b'\n' if open.is_empty() => return Some(at),
            _ => {}
        }
        at += 1;
    }
    open.is_empty().then_some(at)
}

/// Returns the position where the quote at `at` is closed on its line, or the end of that line.
fn closing_quote(bytes: &[u8], at: usize) -> Result<usize, usize> {
    let mut end = at + 1;
    loop {
        match bytes.get(end) {
            Some(b'\\') => end += 1,
            None | Some(b'\n') => return Err(end),
            byte if byte == bytes.get(at) => return Ok(end),
            _ => {}
        }
        end += 1;
    }
}
