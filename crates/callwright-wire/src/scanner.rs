//! Pull parser of JSON text. Callers read the members they know in place and skip the others, so that each byte is read
//! once at all levels. A value is also available as its exact text.
//!
//! The parser accepts what `serde_json` accepts in a raw value: escapes of lone surrogates, numbers of any size and any
//! depth.

mod extent;

use std::borrow::Cow;

use super::fields::decode;
pub(super) use extent::{Malformed, Scanned};

/// Position in a JSON text.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Position of the next unread byte.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Skips white space and returns the position of the next value.
    pub(super) fn start_of_value(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// Returns the unread text.
    pub(super) fn rest(&self) -> &'a str {
        self.between(self.at, self.text.len())
    }

    /// Skips a value of this length that is known to be complete.
    pub(super) fn advance(&mut self, length: usize) {
        self.at += length;
    }

    /// Returns the text between two positions.
    pub(super) fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// Checks that only white space remains.
    pub(super) fn end(&mut self) -> Scanned<()> {
        if self.peek().is_none() { Ok(()) } else { Err(Malformed) }
    }

    /// Reads an object: calls `member` at each value, which it must read. Returns false if the value is not an object,
    /// or a key is not valid text; `member` is not called for such a key.
    pub(super) fn object(&mut self, mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Scanned<()>) -> Scanned<bool> {
        let mut has_valid_keys = true;
        let is_object = self.container(*b"{}", |scanner| match scanner.key()? {
            Some(key) => member(scanner, key),
            None => {
                has_valid_keys = false;
                scanner.skip()
            }
        })?;
        Ok(is_object && has_valid_keys)
    }

    /// Reads an array: calls `item` at each item, which it must read. Returns false if the value is not an array.
    pub(super) fn array(&mut self, item: impl FnMut(&mut Self) -> Scanned<()>) -> Scanned<bool> {
        self.container(*b"[]", item)
    }

    /// Reads a container between two brackets: calls `item` at each item. Returns false if the value is not one.
    fn container(&mut self, [open, close]: [u8; 2], mut item: impl FnMut(&mut Self) -> Scanned<()>) -> Scanned<bool> {
        if self.peek() != Some(open) {
            self.skip()?;
            return Ok(false);
        }
        self.at += 1;
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(true);
        }
        loop {
            item(self)?;
            match self.token()? {
                b',' => {}
                end if end == close => return Ok(true),
                _ => return Err(Malformed),
            }
        }
    }

    /// Reads a string; `None` if the value is of another type. Lone surrogates become U+FFFD.
    pub(super) fn string(&mut self) -> Scanned<Option<Cow<'a, str>>> {
        if self.peek() != Some(b'"') {
            self.skip()?;
            return Ok(None);
        }
        let start = self.at;
        self.at += 1;
        let escaped = self.string_rest()?;
        Ok(decode(self.between(start, self.at), escaped))
    }

    /// Reads any value and returns its text.
    pub(super) fn value(&mut self) -> Scanned<&'a str> {
        let start = self.start_of_value();
        self.skip()?;
        Ok(self.between(start, self.at))
    }

    /// Skips any value.
    pub(super) fn skip(&mut self) -> Scanned<()> {
        self.at = extent::value_end(self.text.as_bytes(), self.at)?;
        Ok(())
    }

    /// Reads a key and the colon after it; `None` for one with a lone surrogate.
    fn key(&mut self) -> Scanned<Option<Cow<'a, str>>> {
        if self.token()? != b'"' {
            return Err(Malformed);
        }
        let start = self.at - 1;
        let escaped = self.string_rest()?;
        let quoted = self.between(start, self.at);
        if self.token()? != b':' {
            return Err(Malformed);
        }
        Ok(if escaped { serde_json::from_str(quoted).ok().map(Cow::Owned) } else { decode(quoted, false) })
    }

    /// Reads a string after its opening quotation mark. Returns whether it has escapes.
    fn string_rest(&mut self) -> Scanned<bool> {
        let extent::StringEnd { end, has_escapes } = extent::string_end(self.text.as_bytes(), self.at)?;
        self.at = end;
        Ok(has_escapes)
    }

    fn current(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips white space and returns the next byte without reading it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.current()? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Skips white space and reads the next byte.
    fn token(&mut self) -> Scanned<u8> {
        extent::token(self.text.as_bytes(), &mut self.at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;
    use crate::testing::{config, json_text};

    fn scan(text: &str) -> Scanned<&str> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    #[test]
    fn every_value_is_skipped_to_its_exact_end() {
        let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
        for text in [
            "null", "true", "false", "0", "-0", "-1.50e+3", "1E999", "\"\"", "\"a\\\"b\"", "\"\\ud83d\"", "{}", "[ ]",
            "{\"a\" : [1 , {\"b\":\"}\"}] }", &deep,
        ] {
            assert_eq!(scan(&format!(" {text}\n")), Ok(text));
        }
    }

    #[test]
    fn other_text_is_malformed() {
        for text in [
            "", " ", "nul", "01", "-", "1.", "1e", ".5", "+1", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "{", "[",
            "[1", "[1,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{1:2}", "[}", "{]", "1 2", "tru", "'a'", "\u{a0}1",
        ] {
            assert_eq!(scan(text), Err(Malformed), "{text}");
        }
    }

    /// Texts that are JSON, nearly JSON, or made of its tokens.
    fn text() -> impl Strategy<Value = String> {
        let token = prop_oneof![
            "[\\[\\]{}:,\" \\\\]",
            Just("\"a\":".to_owned()),
            Just("null".to_owned()),
            "-?[0-9]{1,2}(\\.[0-9])?([eE][+-]?[0-9])?",
            "\"[a-zé\\\\\"n/u0-9]{0,12}\"",
            Just("\"\\u00e9\\ud83d\"".to_owned()),
            Just("\u{7}".to_owned()),
        ];
        let tokens = prop::collection::vec(token, 0..9).prop_map(|tokens| tokens.concat());
        let cut = (json_text(), any::<prop::sample::Index>(), "[\"{}\\[\\],:0a]?").prop_map(|(text, at, byte)| {
            let mut at = at.index(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            format!("{}{byte}{}", &text[..at], &text[at..])
        });
        prop_oneof![tokens, json_text(), cut]
    }

    proptest! {
        #![proptest_config(config(2000))]

        #[test]
        fn it_accepts_the_same_texts_as_serde_json(text in text()) {
            let expected: Result<&RawValue, _> = serde_json::from_str(&text);
            prop_assert_eq!(scan(&text).ok(), expected.ok().map(RawValue::get));
        }
    }
}
