//! Strings in single, double, triple, back and typographic quotes.

use super::Reader;

/// A string in ASCII quotes.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<String> {
    let rest = reader.rest();
    for quote in ["\"\"\"", "'''"] {
        if let Some(inner) = rest.strip_prefix(quote) {
            let Some(end) = inner.find(quote) else {
                reader.burn(inner.len());
                return None;
            };
            reader.advance(quote.len() * 2 + end)?;
            return unescape(inner.get(..end)?);
        }
    }
    let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\'' | '`'))?;
    let Closing { at, looked_at } = close(rest, quote);
    // What was looked at beyond the string is paid for as well.
    reader.burn(looked_at.saturating_sub(at.unwrap_or_default()));
    let length = at?;
    let text = unescape(rest.get(1..length)?);
    reader.advance(length + 1)?;
    text
}

/// A string in “typographic” quotes.
pub(super) fn read_typographic(reader: &mut Reader<'_>) -> Option<String> {
    let rest = reader.rest();
    let (open, close) = [('“', '”'), ('‘', '’'), ('«', '»'), ('”', '”'), ('’', '’')]
        .into_iter()
        .find(|(open, _)| rest.starts_with(*open))?;
    let inner = rest.get(open.len_utf8()..)?;
    let Some(end) = inner.find(close) else {
        reader.burn(inner.len());
        return None;
    };
    reader.advance(open.len_utf8() + end + close.len_utf8())?;
    unescape(inner.get(..end)?)
}

/// Where the quote at the start of `rest` is closed: at the first such quote, unless what follows it shows that it stands within
/// the string, as the second one of `'Schindler's List'` does.
fn close(rest: &str, quote: char) -> Closing {
    let bytes = rest.as_bytes();
    let mut first = None;
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            _ if byte == quote as u8 => {
                let behind = rest.get(at + 1..).unwrap_or_default();
                if is_followed_by_end(behind) {
                    return Closing { at: Some(at), looked_at: at };
                }
                first.get_or_insert(at);
                if is_followed_by_operator(behind) {
                    break;
                }
            }
            // No line ends within a string that was closed before.
            b'\n' if first.is_some() => break,
            _ => {}
        }
        at += 1;
    }
    Closing { at: first, looked_at: at }
}

/// Where a string ends, and how far one had to look to know.
struct Closing {
    at: Option<usize>,
    looked_at: usize,
}

/// Does `rest` show that a string ended before it?
fn is_followed_by_end(rest: &str) -> bool {
    rest.trim_start()
        .chars()
        .next()
        .is_none_or(|next| matches!(next, ',' | ')' | ']' | '}' | ':' | '=' | ';' | '>' | '<'))
}

/// Does `rest` go on with an operator, as in `'a' + 'b'` or `'x'.upper()`?
fn is_followed_by_operator(rest: &str) -> bool {
    let next = rest.trim_start_matches(' ');
    let is_method = |name: &str| {
        name.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_').starts_with('(')
    };
    next.starts_with(['+', '*', '%', '[', '(', '\n']) || rest.strip_prefix('.').is_some_and(is_method)
}

/// Undoes escapes, those of JSON and Python and those that Markdown adds; `None` for half of a surrogate pair.
fn unescape(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return Some(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(rest.get(..at)?);
        let mut letters = rest.get(at + 1..)?.chars();
        let Some(letter) = letters.next() else {
            out.push('\\');
            return Some(out);
        };
        rest = letters.as_str();
        match letter {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'u' => rest = unicode(rest, &mut out)?,
            'x' => {
                let code = rest.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok())?;
                out.push(char::from(code));
                rest = rest.get(2..)?;
            }
            '\n' => {}
            '"' | '\'' | '`' | '\\' | '/' | '_' | '*' | '[' | ']' | '#' | '&' | '$' => out.push(letter),
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

/// The character of `XXXX`, or of `XXXX\uXXXX` for a surrogate pair (RFC 8259 section 7); gives what follows it.
fn unicode<'a>(rest: &'a str, out: &mut String) -> Option<&'a str> {
    let code = |text: &str| text.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let first = code(rest)?;
    let rest = rest.get(4..)?;
    if let Some(letter) = char::from_u32(u32::from(first)) {
        out.push(letter);
        return Some(rest);
    }
    let second = code(rest.strip_prefix("\\u")?)?;
    out.extend(char::decode_utf16([first, second]).next()?.ok());
    rest.get(6..)
}
