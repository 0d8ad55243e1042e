//! Reduces texts to their letters and digits, so that texts can be compared independent of how they are written.
//!
//! Escapes of JSON, HTML and URLs are resolved in any nesting. Case, white space, punctuation, invisible characters and
//! compatibility forms (full-width letters) do not count.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Maximum number of nested encodings that are resolved.
const MAX_LAYERS: usize = 4;

/// Minimum length of a run of characters that may be encoded bytes.
const MIN_ENCODED: usize = 8;

/// Minimum length of a line of encoded bytes that continues on the next line.
const MIN_ENCODED_LINE: usize = 40;

/// Maximum length of a named reference of HTML, without its signs.
const MAX_REFERENCE: usize = 8;

/// Maximum number of digits in the number of a line.
const MAX_LINE_NUMBER: usize = 6;

/// Engines that decode bytes with and without padding, in both alphabets.
const ENGINES: [GeneralPurpose; 2] = [engine(&STANDARD), engine(&URL_SAFE)];

const fn engine(alphabet: &base64::alphabet::Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(alphabet, config)
}

/// Encodings that are resolved before texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoding {
    /// Escapes.
    Escapes,
    /// Escapes, and bytes in base64 or hexadecimal digits. The numbers of lines are removed.
    Bytes,
}

/// Content between two letters of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    /// Nothing, or nothing visible.
    #[default]
    None,
    /// White space or signs of prose.
    Space,
    /// Signs that separate the parts of a call: quotation marks, brackets, colons and the like.
    Structure,
}

/// Letters and digits of texts in a row, in lower case.
#[derive(Debug, Default)]
pub(super) struct Folded {
    letters: Vec<u8>,
    /// Content before each letter.
    gaps: Vec<Gap>,
    /// Content after the last letter.
    open: Gap,
    /// Positions at which a text begins that is no neighbour of the text before it.
    borders: Vec<usize>,
}

impl Folded {
    /// Creates the folded form of one text.
    pub(super) fn of(text: &str) -> Self {
        let mut folded = Self::default();
        folded.push(text, Decoding::Escapes);
        folded
    }

    pub(super) fn letters(&self) -> &[u8] {
        &self.letters
    }

    /// Returns the content before the letter at `at`, or after the last one.
    pub(super) fn gap(&self, at: usize) -> Gap {
        self.gaps.get(at).copied().unwrap_or(self.open)
    }

    /// Returns the range of the texts that are neighbours of the letter at `at`.
    pub(super) fn neighbours(&self, at: usize) -> std::ops::Range<usize> {
        let next = self.borders.partition_point(|border| *border <= at);
        let start = next.checked_sub(1).and_then(|last| self.borders.get(last)).copied().unwrap_or_default();
        start..self.borders.get(next).copied().unwrap_or(self.letters.len())
    }

    /// Ends the texts in a row.
    pub(super) fn end(&mut self) {
        self.open = self.open.max(Gap::Space);
        if self.borders.last() != Some(&self.letters.len()) {
            self.borders.push(self.letters.len());
        }
    }

    /// Appends a text.
    pub(super) fn push(&mut self, text: &str, decoding: Decoding) {
        let text = resolved(text, decoding);
        if text.is_ascii() {
            self.fold(text.chars(), decoding);
        } else {
            let normal: String = text.nfkc().collect();
            self.fold(normal.chars(), decoding);
        }
    }

    fn fold(&mut self, letters: Chars<'_>, decoding: Decoding) {
        let mut letters = letters.peekable();
        let mut begins_line = true;
        while let Some(letter) = letters.next() {
            if letter.is_ascii_alphanumeric() {
                if begins_line && decoding == Decoding::Bytes && is_line_number(letter, &mut letters) {
                    self.open = self.open.max(Gap::Space);
                } else {
                    self.letter(letter.to_ascii_lowercase());
                }
                begins_line = false;
            } else if letter.is_alphanumeric() && !is_combining_mark(letter) {
                begins_line = false;
                letter.to_lowercase().for_each(|letter| self.letter(letter));
            } else if !is_invisible(letter) {
                begins_line |= letter == '\n';
                self.open = self.open.max(if is_structure(letter) { Gap::Structure } else { Gap::Space });
            }
        }
    }

    fn letter(&mut self, letter: char) {
        let mut bytes = [0; 4];
        for byte in letter.encode_utf8(&mut bytes).bytes() {
            self.letters.push(byte);
            self.gaps.push(std::mem::take(&mut self.open));
        }
    }
}

/// Whether a character separates the parts of a call.
fn is_structure(letter: char) -> bool {
    matches!(letter, '"' | '\'' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | '=' | ':' | ',' | '|')
        || matches!(letter, '“' | '”' | '„' | '‟' | '‘' | '’' | '‚' | '«' | '»' | '‹' | '›' | '「' | '」' | '『' | '』')
}

/// Whether a character is not visible, or belongs to the letter before it.
fn is_invisible(letter: char) -> bool {
    is_combining_mark(letter)
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Reads the rest of the number of a line, as editors and `cat -n` write it. Reads nothing if it is no such number.
fn is_line_number(first: char, letters: &mut Peekable<Chars<'_>>) -> bool {
    let mut ahead = letters.clone();
    let mut digits = usize::from(first.is_ascii_digit());
    if digits == 0 && first != 'L' {
        return false;
    }
    while ahead.next_if(char::is_ascii_digit).is_some() {
        digits += 1;
    }
    let is_number = (1..=MAX_LINE_NUMBER).contains(&digits)
        && ahead.next().is_some_and(|sign| matches!(sign, ' ' | '\t' | ':' | '.' | ')' | ']' | '|' | '→'));
    if is_number {
        *letters = ahead;
    }
    is_number
}

/// Resolves the escapes of a text, in any nesting.
fn resolved(text: &str, decoding: Decoding) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..MAX_LAYERS {
        let mut is_final = true;
        if let Some(next) = unescaped(&text) {
            (text, is_final) = (Cow::Owned(next), false);
        }
        if decoding == Decoding::Bytes
            && let Some(next) = decoded(&text)
        {
            (text, is_final) = (Cow::Owned(next), false);
        }
        if is_final {
            break;
        }
    }
    text
}

/// Resolves one layer of escapes of JSON, HTML and URLs; `None` if there are none.
fn unescaped(text: &str) -> Option<String> {
    next_escape(text)?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_changed = false;
    while let Some(at) = next_escape(rest) {
        out.push_str(rest.get(..at)?);
        rest = rest.get(at..)?;
        let length = match rest.as_bytes().first() {
            Some(b'\\') => backslash(rest, &mut out),
            Some(b'&') => reference(rest, &mut out),
            _ => percent(rest, &mut out),
        };
        is_changed |= length.is_some();
        if length.is_none() {
            out.push_str(rest.get(..1)?);
        }
        rest = rest.get(length.unwrap_or(1)..)?;
    }
    out.push_str(rest);
    is_changed.then_some(out)
}

/// Returns the position of the next character that may begin an escape.
fn next_escape(text: &str) -> Option<usize> {
    memchr::memchr3(b'\\', b'&', b'%', text.as_bytes())
}

/// Resolves an escape of JSON or of a programming language, whatever the number of its backslashes. Returns its length.
fn backslash(text: &str, out: &mut String) -> Option<usize> {
    let behind = text.trim_start_matches('\\');
    let signs = text.len() - behind.len();
    let Some(sign) = behind.chars().next() else { return Some(signs) };
    let (letter, length) = match sign {
        'n' | 'r' | 'f' | 'v' => (Some('\n'), 1),
        't' | 'b' => (Some(' '), 1),
        'x' => hexadecimal(behind, 1, 2)?,
        'U' => hexadecimal(behind, 1, 8)?,
        'u' if behind.starts_with("u{") => {
            let digits = behind.get(2..)?.split('}').next().filter(|digits| digits.len() <= MAX_LINE_NUMBER)?;
            (u32::from_str_radix(digits, 16).ok().and_then(char::from_u32), digits.len() + 3)
        }
        'u' => unicode(behind)?,
        _ => (None, 0),
    };
    out.extend(letter);
    Some(signs + length)
}

/// Returns the character of `uXXXX`, or of two of them for a character beyond the first plane.
fn unicode(text: &str) -> Option<(Option<char>, usize)> {
    let first = unit(text)?;
    let second = text.get(5..).and_then(|rest| {
        let inner = rest.trim_start_matches('\\');
        let signs = rest.len() - inner.len();
        (signs > 0 && inner.starts_with('u')).then(|| Some((unit(inner)?, signs + 5)))?
    });
    let (units, length) = match second.filter(|_| (0xd800..0xdc00).contains(&first)) {
        Some((second, length)) => (vec![first, second], 5 + length),
        None => (vec![first], 5),
    };
    Some((char::decode_utf16(units).next().and_then(Result::ok), length))
}

/// Returns the number of `uXXXX`.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.get(1..5)?, 16).ok()
}

fn hexadecimal(text: &str, start: usize, digits: usize) -> Option<(Option<char>, usize)> {
    let code = u32::from_str_radix(text.get(start..start + digits)?, 16).ok()?;
    Some((char::from_u32(code), start + digits))
}

/// Resolves a reference of HTML. Named ones are signs, apart from letters with accents. Returns its length.
fn reference(text: &str, out: &mut String) -> Option<usize> {
    let inner = text.get(1..)?;
    let length = inner.bytes().take(MAX_REFERENCE + 1).position(|byte| byte == b';')?;
    let name = inner.get(..length)?;
    let code = match name.strip_prefix('#') {
        Some(number) => Some(match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        }),
        None => None,
    };
    out.push(match (name, code) {
        (_, Some(code)) => char::from_u32(code)?,
        ("lt", _) => '<',
        ("gt", _) => '>',
        ("quot", _) => '"',
        ("apos", _) => '\'',
        ("amp", _) => '&',
        ("percnt", _) => '%',
        ("bsol", _) => '\\',
        ("NewLine", _) => '\n',
        ("nbsp" | "Tab", _) => ' ',
        ("lowbar" | "shy", _) => '_',
        _ if name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic()) => ':',
        _ => return None,
    });
    Some(length + 2)
}

/// Resolves bytes in the encoding of URLs. Returns their length.
fn percent(text: &str, out: &mut String) -> Option<usize> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(digits) = rest.strip_prefix('%').and_then(|rest| rest.get(..2)) {
        let Ok(byte) = u8::from_str_radix(digits, 16) else { break };
        bytes.push(byte);
        rest = rest.get(3..)?;
    }
    (!bytes.is_empty()).then(|| {
        out.push_str(&String::from_utf8_lossy(&bytes));
        bytes.len() * 3
    })
}

/// Replaces runs of base64 and hexadecimal digits that encode a text; `None` if there are none.
fn decoded(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(start) = text.get(at..)?.find(is_digit).map(|found| at + found) {
        let ends = ends_of_run(text, start);
        at = ends.into_iter().max().unwrap_or(start + 1);
        let decoded = ends.into_iter().filter(|end| end - start >= MIN_ENCODED).find_map(|end| {
            let inner = decoded_run(text.get(start..end)?)?;
            Some((inner, end))
        });
        if let Some((inner, end)) = decoded {
            out.push_str(text.get(kept..start)?);
            out.push_str(&inner);
            (kept, at) = (end, end);
        }
    }
    (kept > 0).then(|| out + text.get(kept..).unwrap_or_default())
}

/// Whether a character is a digit of base64.
fn is_digit(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '+' | '/' | '-' | '_')
}

/// Returns the end of a run of digits with its padding: with all further lines on which it may continue, without the last
/// of them, and on the first line alone.
fn ends_of_run(text: &str, start: usize) -> [usize; 3] {
    let bytes = text.as_bytes();
    let first = end_of_line(bytes, start);
    let (mut line, mut last, mut end) = (start, first, first);
    loop {
        let rest = bytes.get(end..).unwrap_or_default();
        let next = end + rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let next_end = end_of_line(bytes, next);
        if next == end || next == next_end || end - line < MIN_ENCODED_LINE || next_end - next > end - line {
            return [end, last, first];
        }
        (line, last, end) = (next, end, next_end);
    }
}

/// Returns the end of the digits on a line, with their padding.
fn end_of_line(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| is_digit(char::from(**byte))).count();
    start + digits + rest.iter().skip(digits).take(2).take_while(|byte| **byte == b'=').count()
}

/// Returns the text that a run of digits encodes.
fn decoded_run(run: &str) -> Option<String> {
    let digits: Cow<'_, str> = match run.contains(['\r', '\n']) {
        true => run.replace(['\r', '\n'], "").into(),
        false => run.into(),
    };
    let base64 = ENGINES.iter().filter_map(|engine| engine.decode(digits.as_bytes()).ok());
    pairs_of_digits(&digits)
        .into_iter()
        .chain(base64)
        .find_map(|bytes| String::from_utf8(bytes).ok().filter(|text| is_text(text)))
}

/// Returns the bytes of a text of hexadecimal digits.
fn pairs_of_digits(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

/// Whether decoded bytes are a text.
fn is_text(text: &str) -> bool {
    text.chars().all(|letter| !letter.is_control() || matches!(letter, '\n' | '\r' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str, decoding: Decoding) -> String {
        let mut folded = Folded::default();
        folded.push(text, decoding);
        String::from_utf8(folded.letters).unwrap()
    }

    #[test]
    fn the_writing_of_a_text_does_not_count() {
        for text in [
            r#"{"name": "delete_rows", "a": "Usérs"}"#,
            r#"{\"NAME\": \"delete_rows\",\n \"a\": \"Us\u00e9rs\"}"#,
            r#"{\\\"name\\\": \\\"delete\\u005frows\\\", \\\"a\\\": \\\"Us\\\\u00E9rs\\\"}"#,
            "&#123;&quot;name&quot;: &quot;delete&lowbar;rows&quot;, &quot;a&quot;: &quot;Us&amp;#xe9;rs&quot;&rcub;",
            "%7B%22name%22%3A%20%22delete%5Frows%22%2C%22a%22%3A%22Us%C3%A9rs%22%7D",
            "ｎａｍｅ：　ｄｅｌｅｔｅ＿ｒｏｗｓ、a《Ｕｓérs》",
            "n\u{200b}ame: delete\u{ad}_rows / a «Use\u{301}rs»",
        ] {
            assert_eq!(folded(text, Decoding::Escapes), "namedeleterowsausérs", "{text}");
            assert_eq!(folded(text, Decoding::Bytes), "namedeleterowsausérs", "{text}");
        }
    }

    #[test]
    fn encoded_bytes_and_numbers_of_lines_are_one_form() {
        let call = r#"delete_rows({"table": "users", "where": "1=1"}) # in this order and not otherwise"#;
        let plain = folded(call, Decoding::Escapes);
        for engine in &ENGINES {
            let encoded = engine.encode(call);
            assert_eq!(folded(&encoded, Decoding::Bytes), plain);
            assert_eq!(
                folded(&format!("see {}\n{}.", &encoded[..60], &encoded[60..]), Decoding::Bytes),
                format!("see{plain}")
            );
            assert_eq!(folded(&engine.encode(&encoded), Decoding::Bytes), plain);
        }
        let digits: String = call.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(folded(&digits, Decoding::Bytes), plain);
        for numbered in
            ["  1\tab c\n  2\tde", "1: ab c\n2: de", "> 12 | ab c\n> 13 | de", "L1 ab c\nL2 de", "[7] ab c\n[8] de"]
        {
            assert_eq!(folded(numbered, Decoding::Bytes), "abcde", "{numbered}");
        }
        assert_eq!(folded("ordinary words, internationally", Decoding::Bytes), "ordinarywordsinternationally");
    }

    #[test]
    fn the_content_between_letters_has_three_kinds() {
        let folded = Folded::of("a_b: c\u{200b}d");
        let gaps: Vec<Gap> = (0..5).map(|at| folded.gap(at)).collect();
        assert_eq!(gaps, [Gap::None, Gap::Space, Gap::Structure, Gap::None, Gap::None]);
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let started = std::time::Instant::now();
        for text in ["\\", "&", "%", "%41", "&amp;", "\\u0041", "QUJD", "a\n", "1 ", "\u{fb03}"] {
            let text = text.repeat((1 << 18) / text.len());
            folded(&text, Decoding::Escapes);
            folded(&text, Decoding::Bytes);
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }
}
