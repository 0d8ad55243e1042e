//! Detects OpenAPI documents by the top of their text.
//!
//! Reads the keys of the outermost object without parsing. This also recognises documents with syntax errors, and
//! other files cost one pass. The loader makes the final decision.

use crate::parse::end_of_string;

/// The outermost keys found in a text.
#[derive(Default)]
struct OutermostKeys {
    /// `openapi` or `swagger` has a version.
    version: bool,
    /// `openapi` or `swagger` has another value, such as the path of a document in a configuration file.
    name: bool,
    /// `paths` is present.
    paths: bool,
}

/// Whether `text`, or its beginning, is an OpenAPI document: it has a version, or has `paths` and an `openapi` or
/// `swagger` member without a version.
pub(crate) fn is_in(text: &str) -> bool {
    let mut keys = OutermostKeys::default();
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with(['{', '[']) {
        keys.flow(start);
    } else {
        keys.block(text.trim_start_matches('\u{feff}'));
    }
    keys.is_claim()
}

impl OutermostKeys {
    fn is_claim(&self) -> bool {
        self.version || self.name && self.paths
    }

    /// Records the member that begins `text`, if any.
    fn member(&mut self, text: &str) {
        let Some((key, value)) = member(text) else { return };
        match key {
            "openapi" | "swagger" if is_version(value) => self.version = true,
            "openapi" | "swagger" => self.name = true,
            "paths" => self.paths = true,
            _ => {}
        }
    }

    /// Scans YAML block style: keys of the outermost mapping begin lines at the indentation of the first key. Scans
    /// all documents of a stream.
    fn block(&mut self, text: &str) {
        let mut indent = None;
        for (start, line) in lines(text) {
            let content = line.trim_start_matches(' ');
            let is_mark = line.starts_with("---") || line.starts_with("...") || line.starts_with('%');
            if is_mark {
                indent = None;
            }
            if is_mark || content.trim().is_empty() || content.starts_with('#') {
                continue;
            }
            let column = line.len() - content.len();
            if indent.is_none() && content.starts_with('{') {
                self.flow(text.get(start + column..).unwrap_or_default());
            } else if column == *indent.get_or_insert(column) {
                self.member(content);
            }
            if self.is_claim() {
                return;
            }
        }
    }

    /// Scans JSON and YAML flow style: keys of the outermost object follow its brace or a comma.
    fn flow(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let (mut at, mut depth, mut before) = (0_usize, 0_usize, b' ');
        let mut is_key_next = false;
        while let Some(&byte) = bytes.get(at) {
            let rest = text.get(at..).unwrap_or_default();
            if let Some(length) = comment(rest, before, is_key_next) {
                at += length;
                before = b' ';
                continue;
            }
            if is_key_next && !byte.is_ascii_whitespace() {
                is_key_next = false;
                self.member(rest);
                if self.is_claim() {
                    return;
                }
            }
            match byte {
                b'"' => at = end_of_string(bytes, at + 1) - 1,
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth <= 1 => return,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            is_key_next |= depth == 1 && matches!(byte, b'{' | b',');
            before = byte;
            at += 1;
        }
    }
}

/// Returns the lines of `text` with their start offsets.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    })
}

/// Returns the key that `text` begins with, and the text behind its colon.
fn member(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let key = match quote {
        Some(quote) => text.get(1..)?.split(quote).next()?,
        None => text.split([':', '\n', ',']).next()?,
    };
    let quotes = if quote.is_some() { 2 } else { 0 };
    let value = text.get(key.len() + quotes..)?.trim_start().strip_prefix(':')?;
    Some((key.trim_end(), value))
}

/// Whether `value` begins with a version number: `3.0.0`, `"2.0"`, `v3`.
fn is_version(value: &str) -> bool {
    let value = value.trim_start();
    let value = value.strip_prefix(['"', '\'']).unwrap_or(value).trim_start();
    value.strip_prefix(['v', 'V']).unwrap_or(value).starts_with(|first: char| first.is_ascii_digit())
}

/// Returns the length of the comment that `text` begins with, if any. `before` is the preceding byte: the slashes of
/// `https://` do not begin a comment.
fn comment(text: &str, before: u8, is_key_next: bool) -> Option<usize> {
    let is_apart = before.is_ascii_whitespace() || b",{}[]\"".contains(&before);
    let end = match text.as_bytes() {
        [b'#', ..] if is_key_next => "\n",
        [b'/', b'/', ..] if is_apart => "\n",
        [b'/', b'*', ..] if is_apart => "*/",
        _ => return None,
    };
    Some(text.find(end).map_or(text.len(), |found| found + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_a_version_are_documents_even_if_they_are_broken() {
        for text in [
            "openapi: 3.0.0",
            "\u{feff}openapi: 3.0.0",
            "swagger: '2.0'\n",
            "info: {title: x}\nopenapi : \"3.1.0\"\n",
            "\"openapi\": 3.0.0\n",
            "# c\n%YAML 1.2\n---\n# d\nopenapi: 3\n",
            "a: 1\n---\nswagger: 2.0\n",
            "  info: {}\n  openapi: 3.0.0\n",
            "openapi:\t3.0.0\npaths: [",
            "openapi: v3.0\n",
            "# c\n{openapi: 3.0.0}",
            r#"{"info": {"a": "}\"{"}, "openapi": "3.0.0""#,
            r#"{"paths": {}, "tags": [1, {"x": 2}], "swagger" : 2.0}"#,
            "{ // a comment's quote: \"\n /* and , { */ \"openapi\": \"3.0.0\",}",
            "{info: {}, openapi: 3.0.0}",
            "{'openapi': '3.0.0'}",
            "{servers: [{url: https://x.example/}],\n# c\n openapi: 3.0.0}",
            "openapi: \"${VERSION}\"\npaths: {}\n",
            r#"{"openapi": null, "paths": {}}"#,
        ] {
            assert!(is_in(text), "{text}");
        }
    }

    #[test]
    fn texts_that_mention_documents_are_not_documents() {
        for text in [
            "",
            "openapi",
            "a: {openapi: 3.0.0}\n",
            "a:\n  openapi: 3.0.0\n",
            "- openapi: 3.0.0\n",
            "openapi: ./api.yaml\n",
            "openapi:\n  file: 3.0.0\n",
            "swagger: true\n",
            r#"{"openapi": "https://example.com/openapi.json"}"#,
            r#"{"a": {"openapi": "3.0.0"}, "b": "openapi", "c": ["swagger: 2.0"]}"#,
            r#"[{"openapi": "3.0.0"}]"#,
            r#"{"a": "\", \"openapi\": \"3.0.0"}"#,
            "{}{\"openapi\": 3}",
            "{",
            "\"open",
        ] {
            assert!(!is_in(text), "{text}");
        }
    }

    #[test]
    fn hostile_texts_take_linear_time() {
        let n = 200_000;
        for text in ["{".repeat(n), "\"".repeat(n), "/*".repeat(n), "{//,".repeat(n), "{,\"".repeat(n), "a\n".repeat(n)]
        {
            assert!(!is_in(&text));
        }
        assert!(!is_in(&format!("{{{}", ",".repeat(n))));
        assert!(!is_in(&format!("{{{}", ",#".repeat(n))));
    }
}
