//! Values of path parameters that a server might read as a way to another operation.
//!
//! Such a value leaves as one encoded segment, and by RFC 3986 it stays one. But many servers, and the proxies in front of them, decode `%2F`
//! before they resolve `..`, decode twice, or fold characters that look like a dot or a slash: `GET /users/..%2Fadmin` is `/admin` then. What
//! only means something to them is not worth the risk.

use percent_encoding::percent_decode;
use unicode_normalization::UnicodeNormalization;

/// How often a value is decoded: what some chain of servers does.
const DECODINGS: usize = 3;

/// Longest encodings of UTF-8 that are too long for their character (RFC 3629 section 10), for `.`, `/` and `\`: some decoders take them.
const OVERLONG: [(&[u8], u8); 6] = [
    (&[0xe0, 0x80, 0xae], b'.'),
    (&[0xe0, 0x80, 0xaf], b'/'),
    (&[0xe0, 0x81, 0x9c], b'\\'),
    (&[0xc0, 0xae], b'.'),
    (&[0xc0, 0xaf], b'/'),
    (&[0xc1, 0x9c], b'\\'),
];

/// Would a server that reads `value` (not encoded) as generously as any does resolve a `.` or `..` in it, or find nothing but slashes?
pub(super) fn leads_elsewhere(value: &str) -> bool {
    let mut bytes = value.as_bytes().to_vec();
    for _ in 0..=DECODINGS {
        if has_detour(&folded(&bytes)) {
            return true;
        }
        let decoded: Vec<u8> = percent_decode(&bytes).collect();
        if decoded == bytes {
            return false;
        }
        bytes = decoded;
    }
    false
}

fn has_detour(text: &str) -> bool {
    let mut segments = text.split(['/', '\\']);
    // `..;x` is `..` to a server that cuts path parameters off.
    let is_dots = |segment: &str| matches!(segment.split(';').next().unwrap_or_default().trim(), "." | "..");
    text.split(['/', '\\']).any(is_dots) || segments.all(str::is_empty)
}

/// With characters that look like a dot or a slash made one, and overlong encodings made what they stand for.
fn folded(bytes: &[u8]) -> String {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, behind)) = rest.split_first() {
        let overlong = OVERLONG.iter().find(|(long, _)| rest.starts_with(long));
        plain.push(overlong.map_or(*first, |(_, short)| *short));
        rest = overlong.and_then(|(long, _)| rest.get(long.len()..)).unwrap_or(behind);
    }
    let text = String::from_utf8_lossy(&plain);
    text.nfkc()
        .map(|letter| match letter {
            // Fraction slash, division slash, big solidus: no compatibility forms of a slash, but drawn like one.
            '\u{2044}' | '\u{2215}' | '\u{29f8}' => '/',
            '\u{2216}' | '\u{29f5}' | '\u{29f9}' => '\\',
            _ => letter,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_out_are_found_in_every_writing() {
        for value in [
            "..",
            ".",
            "../admin",
            "a/../b",
            "a/..",
            "..\\..\\x",
            "%2e%2e",
            "%2e%2e%2fadmin",
            "%252e%252e%252f",
            ".%2e/x",
            "．．／x",
            "\u{2025}/x",
            "\u{2024}\u{2024}/x",
            "..\u{2215}x",
            "..\u{ff3c}x",
            "%c0%ae%c0%ae%c0%afx",
            "%e0%80%ae./x",
            "/",
            "//",
            "\\",
            "%2f",
            "..;/admin",
            "..;a=b",
            ".. /x",
            "a/./b",
        ] {
            assert!(leads_elsewhere(value), "{value}");
        }
    }

    #[test]
    fn what_stays_is_left_alone() {
        for value in [
            "a",
            "a/b",
            "/a",
            "//a",
            "a..b",
            "...",
            "a.b.c",
            ".env",
            "..a",
            "1.5",
            "50%",
            "100%25",
            "ü",
            "a;b",
            "https://a.example/x?y=%2F",
            "Zürich 1/2",
            "½",
            "…",
        ] {
            assert!(!leads_elsewhere(value), "{value}");
        }
    }
}
