//! Where a JSON value ends. Most bytes of requests are skipped here: schemas of tools, and texts.

use memchr::memchr2;

/// Text that is not JSON. `serde_json` describes the error, which costs more than this parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(crate) type Scanned<T> = Result<T, Malformed>;

/// First byte that is not a control character.
const FIRST_PLAIN: u8 = 0x20;

/// Number of words of eight bytes that are examined before a string counts as long. Keys are shorter.
const SHORT_WORDS: usize = 2;

/// Returns the end of the value after `at` and white space, without recursion.
pub(super) fn value_end(bytes: &[u8], mut at: usize) -> Scanned<usize> {
    // The ends of the open containers, the innermost last.
    let mut open: Vec<u8> = Vec::new();
    let mut first = token(bytes, &mut at)?;
    loop {
        match first {
            b'"' => at = string_end(bytes, at)?.end,
            b'{' => {
                first = token(bytes, &mut at)?;
                if first != b'}' {
                    open.push(b'}');
                    skip_key(bytes, &mut at, first)?;
                    first = token(bytes, &mut at)?;
                    continue;
                }
            }
            b'[' => {
                first = token(bytes, &mut at)?;
                if first != b']' {
                    open.push(b']');
                    continue;
                }
            }
            b't' => at = literal_end(bytes, at, b"rue")?,
            b'f' => at = literal_end(bytes, at, b"alse")?,
            b'n' => at = literal_end(bytes, at, b"ull")?,
            b'-' | b'0'..=b'9' => at = number_end(bytes, at, first)?,
            _ => return Err(Malformed),
        }
        loop {
            let Some(end) = open.last().copied() else { return Ok(at) };
            let separator = token(bytes, &mut at)?;
            if separator == b',' {
                if end == b'}' {
                    let quote = token(bytes, &mut at)?;
                    skip_key(bytes, &mut at, quote)?;
                }
                break;
            }
            if separator != end {
                return Err(Malformed);
            }
            open.pop();
        }
        first = token(bytes, &mut at)?;
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct StringEnd {
    /// Position after the closing quotation mark.
    pub(super) end: usize,
    pub(super) has_escapes: bool,
}

/// Returns the end of a string whose opening quotation mark is before `at`.
#[inline]
pub(super) fn string_end(bytes: &[u8], at: usize) -> Scanned<StringEnd> {
    let end = plain_end(bytes, at);
    if bytes.get(end) == Some(&b'"') {
        return Ok(StringEnd { end: end + 1, has_escapes: false });
    }
    escaped_end(bytes, end).map(|end| StringEnd { end, has_escapes: true })
}

/// Returns the end of a string from its first escape at `at`.
#[inline(never)]
fn escaped_end(bytes: &[u8], mut at: usize) -> Scanned<usize> {
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => {}
            _ => return Err(Malformed),
        }
        match bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
            Some(b'u') => {
                let digits = bytes.get(at + 2..at + 6).ok_or(Malformed)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(Malformed);
                }
                at += 6;
            }
            _ => return Err(Malformed),
        }
        at = plain_end(bytes, at);
    }
}

/// Returns the position of the next quotation mark, backslash or control character of a string, or the end of the text.
#[inline]
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    for _ in 0..SHORT_WORDS {
        if let Some(end) = word_end(bytes, at) {
            return end;
        }
        at += size_of::<u64>();
    }
    long_plain_end(bytes, at)
}

#[inline(never)]
fn long_plain_end(bytes: &[u8], at: usize) -> usize {
    let rest = rest(bytes, at);
    let end = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
    let plain = rest.get(..end).unwrap_or_default();
    // Without a branch per byte, so that the compiler compares many at once.
    let least = plain.iter().fold(u8::MAX, |least, byte| least.min(*byte));
    if least >= FIRST_PLAIN {
        return at + end;
    }
    at + plain.iter().position(|byte| *byte < FIRST_PLAIN).unwrap_or(end)
}

/// Returns the end of the plain part within the next eight bytes; `None` if it is behind them.
#[inline]
fn word_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = rest(bytes, at);
    let Some(word) = rest.first_chunk() else {
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..FIRST_PLAIN));
        return Some(at + end.unwrap_or(rest.len()));
    };
    match ends_of_plain(u64::from_le_bytes(*word)) {
        0 => None,
        ends => Some(at + (ends.trailing_zeros() / 8) as usize),
    }
}

/// Sets the highest bit of each byte that is a quotation mark, backslash or control character. Only the lowest set bit is
/// exact, because borrows of the subtractions reach higher bytes.
fn ends_of_plain(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // Flipping the second bit makes the quotation mark 0x20, the byte after the control characters.
    let control_or_quote = (word ^ (ONES * 2)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * 0x5c)).wrapping_sub(ONES);
    (control_or_quote | backslash) & !word & (ONES * 0x80)
}

/// Reads a key from its first byte, and the colon after it.
#[inline]
fn skip_key(bytes: &[u8], at: &mut usize, first: u8) -> Scanned<()> {
    if first != b'"' {
        return Err(Malformed);
    }
    *at = string_end(bytes, *at)?.end;
    if token(bytes, at)? == b':' { Ok(()) } else { Err(Malformed) }
}

/// Returns the end of a literal after its first byte.
fn literal_end(bytes: &[u8], at: usize, remaining: &[u8]) -> Scanned<usize> {
    if rest(bytes, at).starts_with(remaining) { Ok(at + remaining.len()) } else { Err(Malformed) }
}

/// Returns the end of a number after its first byte. Digits after a leading zero fail at the next token.
fn number_end(bytes: &[u8], mut at: usize, mut first: u8) -> Scanned<usize> {
    if first == b'-' {
        first = *bytes.get(at).ok_or(Malformed)?;
        at += 1;
    }
    match first {
        b'0' => {}
        b'1'..=b'9' => at = digits_end(bytes, at),
        _ => return Err(Malformed),
    }
    if bytes.get(at) == Some(&b'.') {
        at = some_digits_end(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = some_digits_end(bytes, at)?;
    }
    Ok(at)
}

fn digits_end(bytes: &[u8], at: usize) -> usize {
    at + rest(bytes, at).iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn some_digits_end(bytes: &[u8], at: usize) -> Scanned<usize> {
    match digits_end(bytes, at) {
        end if end > at => Ok(end),
        _ => Err(Malformed),
    }
}

/// Skips white space and reads the next byte.
#[inline]
pub(super) fn token(bytes: &[u8], at: &mut usize) -> Scanned<u8> {
    loop {
        let byte = *bytes.get(*at).ok_or(Malformed)?;
        *at += 1;
        // Mostly decided by the first comparison.
        if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return Ok(byte);
        }
    }
}

fn rest(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_of_a_plain_text_is_found_at_every_place() {
        for length in 0..120 {
            let plain = "é".repeat(length / 2) + &"x".repeat(length % 2);
            for end in ['"', '\\', '\u{0}', '\u{1f}'] {
                let text = format!("{plain}{end}{plain}");
                assert_eq!(plain_end(text.as_bytes(), 0), length, "{text:?}");
            }
            assert_eq!(plain_end(plain.as_bytes(), 0), length);
        }
    }

    #[test]
    fn containers_close_in_the_order_of_their_opening() {
        for depth in [1, 62, 63, 64, 65, 200] {
            let kinds: Vec<bool> = (0..depth).map(|level| level % 3 == 0).collect();
            let open: String = kinds.iter().map(|object| if *object { "{\"\":" } else { "[" }).collect();
            let close: String = kinds.iter().rev().map(|object| if *object { '}' } else { ']' }).collect();
            let text = format!("{open}1{close}");
            assert_eq!(value_end(text.as_bytes(), 0), Ok(text.len()));
            let wrong = format!("{open}1{}", close.replacen(['}', ']'], "!", 1));
            assert_eq!(value_end(wrong.as_bytes(), 0), Err(Malformed));
        }
    }
}
