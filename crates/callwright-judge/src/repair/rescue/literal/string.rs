//! Parses strings in single, double, triple, back and typographic quotes.

/// A string at the start of a text.
pub(super) struct ScannedString {
    /// Number of bytes, including the quotes.
    pub(super) length: usize,
    /// The string; `None` if an escape in it is invalid.
    pub(super) text: Option<String>,
}

/// Finds the string in ASCII quotes at the start of `text`. If there is none, returns the number of bytes that were
/// searched for its end.
pub(super) fn scan(text: &str) -> Result<ScannedString, usize> {
    for quote in ["\"\"\"", "'''"] {
        if let Some(inner) = text.strip_prefix(quote) {
            return scan_inner(inner, quote.len(), quote);
        }
    }
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\'' | '`')).ok_or(0_usize)?;
    let length = close(text, quote).ok_or(text.len())?;
    let inner = text.get(1..length).unwrap_or_default();
    let unescaped = unescape(inner);
    // A model that does not escape apostrophes may not escape any character.
    if quote == '\'' && inner.contains('\\') && has_apostrophes(inner) && unescaped.as_deref() != Some(inner) {
        return Err(0);
    }
    Ok(ScannedString { length: length + 1, text: unescaped })
}

/// Finds the end of a string after its opening quote of `open` bytes.
fn scan_inner(inner: &str, open: usize, close: &str) -> Result<ScannedString, usize> {
    let end = inner.find(close).ok_or(inner.len())?;
    Ok(ScannedString { length: open + end + close.len(), text: inner.get(..end).and_then(unescape) })
}

/// Whether the string contains unescaped apostrophes.
pub(super) fn has_apostrophes(inner: &str) -> bool {
    inner.match_indices('\'').any(|(at, _)| !is_escaped(inner, 0, at))
}

/// Returns the source text between the quotes of a string.
pub(super) fn raw(source: &str) -> Option<&str> {
    let is_triple = source.len() >= 6 && (source.starts_with("\"\"\"") || source.starts_with("'''"));
    let quote = if is_triple { 3 } else { 1 };
    source.get(quote..source.len().checked_sub(quote)?)
}

/// Finds the string in “typographic” quotes at the start of `text`, like [`scan`].
pub(super) fn scan_typographic(text: &str) -> Result<ScannedString, usize> {
    for (open, close) in [("“", "”"), ("‘", "’"), ("«", "»"), ("”", "”"), ("’", "’")] {
        if let Some(inner) = text.strip_prefix(open) {
            return scan_inner(inner, open.len(), close);
        }
    }
    Err(0)
}

/// Returns the position where the quote at the start of `rest` is closed: the first such quote that is neither escaped
/// nor an apostrophe. The caller must check the text after it.
fn close(rest: &str, quote: char) -> Option<usize> {
    let bytes = rest.as_bytes();
    let mut at = 1;
    loop {
        at += memchr::memchr2(quote as u8, b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'\\') {
            at += 2;
        } else if quote == '\'' && is_apostrophe(rest, at, "'") {
            at += 1;
        } else {
            return Some(at);
        }
    }
}

/// Whether the quote at `at` is between letters, as in `'Schindler's List'`.
pub(super) fn is_apostrophe(text: &str, at: usize, quote: &str) -> bool {
    quote == "'"
        && text.get(at + 1..).is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
        && text.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric))
}

/// Whether an odd number of backslashes, none of them before `start`, precedes `at`.
pub(super) fn is_escaped(text: &str, start: usize, at: usize) -> bool {
    let before = text.as_bytes().get(start..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Resolves the escapes of JSON and Python, and `\_`, which Markdown adds. Other escapes are kept, such as `\[` of a
/// regular expression. Returns `None` for half of a surrogate pair.
pub(super) fn unescape(text: &str) -> Option<String> {
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
            '"' | '\'' | '`' | '\\' | '/' | '_' => out.push(letter),
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Appends the character of `XXXX`, or of `XXXX\uXXXX` for a surrogate pair (RFC 8259, section 7). Returns the text
/// after it.
fn unicode<'a>(rest: &'a str, out: &mut String) -> Option<&'a str> {
    let first = code_unit(rest)?;
    let rest = rest.get(4..)?;
    if let Some(letter) = char::from_u32(u32::from(first)) {
        out.push(letter);
        return Some(rest);
    }
    let second = code_unit(rest.strip_prefix("\\u")?)?;
    out.extend(char::decode_utf16([first, second]).next()?.ok());
    rest.get(6..)
}

fn code_unit(text: &str) -> Option<u16> {
    text.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok())
}
