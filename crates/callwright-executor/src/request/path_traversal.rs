//! Path traversal: values of path parameters that a server might resolve to another operation.
//!
//! Such a value is sent as one encoded segment, and by RFC 3986 it remains one. However, many servers and reverse
//! proxies decode `%2F` before they resolve `..`, decode twice, or fold characters that look like a dot or a slash.
//! `GET /users/..%2Fadmin` then becomes `/admin`. Values that are only meaningful to such servers are refused.

use callwright_common::limits::ENCODINGS;
use callwright_common::text::nfkc;
use percent_encoding::percent_decode;

/// Overlong UTF-8 encodings (RFC 3629 section 10) of `.`, `/` and `\`, longest first. Some decoders accept them.
const OVERLONG: [(&[u8], u8); 6] = [
    (&[0xe0, 0x80, 0xae], b'.'),
    (&[0xe0, 0x80, 0xaf], b'/'),
    (&[0xe0, 0x81, 0x9c], b'\\'),
    (&[0xc0, 0xae], b'.'),
    (&[0xc0, 0xaf], b'/'),
    (&[0xc1, 0x9c], b'\\'),
];

/// Whether the most lenient server would resolve a `.` or `..` in `value` (not encoded), or find nothing but slashes.
pub(super) fn is_path_traversal(value: &str) -> bool {
    let mut bytes = value.as_bytes().to_vec();
    for _ in 0..=ENCODINGS {
        if resolves_elsewhere(&folded(&bytes)) {
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

fn resolves_elsewhere(text: &str) -> bool {
    text.split(['/', '\\']).any(is_dots) || text.split(['/', '\\']).all(str::is_empty)
}

/// Whether the segment is `.` or `..`. `..;x` is `..` for a server that removes path parameters.
fn is_dots(segment: &str) -> bool {
    matches!(segment.split(';').next().unwrap_or_default().trim(), "." | "..")
}

/// Replaces characters that look like a dot or a slash, and overlong encodings, with the ASCII character.
fn folded(bytes: &[u8]) -> String {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, behind)) = rest.split_first() {
        let overlong = OVERLONG.iter().find(|(long, _)| rest.starts_with(long));
        plain.push(overlong.map_or(*first, |(_, short)| *short));
        rest = overlong.and_then(|(long, _)| rest.get(long.len()..)).unwrap_or(behind);
    }
    let text = String::from_utf8_lossy(&plain);
    nfkc(&text)
        .chars()
        .map(|letter| match letter {
            // Fraction slash, division slash and big solidus have no compatibility decomposition to a slash, but look
            // like one.
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
    fn path_traversal_is_detected_in_every_encoding() {
        for value in [
            "..", ".", "../admin", "a/../b", "a/..", "..\\..\\x", "%2e%2e", "%2e%2e%2fadmin", "%252e%252e%252f",
            ".%2e/x", "．．／x", "\u{2025}/x", "\u{2024}\u{2024}/x", "..\u{2215}x", "..\u{ff3c}x",
            "%c0%ae%c0%ae%c0%afx", "%e0%80%ae./x", "/", "//", "\\", "%2f", "..;/admin", "..;a=b", ".. /x", "a/./b",
        ] {
            assert!(is_path_traversal(value), "{value}");
        }
    }

    #[test]
    fn paths_within_the_base_are_unchanged() {
        for value in [
            "a", "a/b", "/a", "//a", "a..b", "...", "a.b.c", ".env", "..a", "1.5", "50%", "100%25", "ü", "a;b",
            "https://a.example/x?y=%2F", "Zürich 1/2", "½", "…",
        ] {
            assert!(!is_path_traversal(value), "{value}");
        }
    }
}
