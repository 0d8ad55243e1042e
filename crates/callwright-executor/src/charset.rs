//! Conversion of response bodies to UTF-8. Code outside this module does not handle other charsets.

use bytes::Bytes;
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::media_type::{charset, essence};

/// Number of bytes of an XML document that are searched for its encoding declaration.
const XML_HEAD_BYTES: usize = 256;

/// Returns the body as UTF-8 without a byte order mark if `content_type` is a text type in another charset; otherwise
/// unchanged.
///
/// The charset is taken from the byte order mark, then from the media type parameter, then from the XML declaration
/// (RFC 7303 section 3). A `text/*` body that is not UTF-8 is decoded as windows-1252, as in browsers (WHATWG
/// Encoding, legacy default).
pub(super) fn in_utf8(body: Bytes, content_type: Option<&str>, truncated: bool) -> Bytes {
    let content_type = content_type.unwrap_or_default();
    let essence = essence(content_type);
    if !is_text(&essence) {
        return body;
    }
    if let Some((encoding, mark)) = Encoding::for_bom(&body) {
        return decoded(encoding, body.slice(mark..));
    }
    let named = charset(content_type).map(str::to_owned).or_else(|| declared(&body, &essence));
    match named.and_then(|label| Encoding::for_label(label.as_bytes())) {
        Some(encoding) => decoded(encoding, body),
        None if essence.starts_with("text/") && !is_utf8(&body, truncated) => decoded(WINDOWS_1252, body),
        None => body,
    }
}

fn decoded(encoding: &'static Encoding, body: Bytes) -> Bytes {
    if encoding == UTF_8 {
        return body;
    }
    let (text, _) = encoding.decode_without_bom_handling(&body);
    Bytes::from(text.into_owned())
}

fn is_text(essence: &str) -> bool {
    let subtype = essence.split('/').next_back().unwrap_or_default();
    let is_named =
        matches!(subtype, "json" | "xml" | "yaml" | "x-yaml" | "javascript" | "x-ndjson" | "graphql" | "csv");
    essence.starts_with("text/") || is_named || subtype.ends_with("+json") || subtype.ends_with("+xml")
}

/// Returns the encoding that an XML document declares in its first line (XML 1.0 section 4.3.3).
fn declared(body: &[u8], essence: &str) -> Option<String> {
    let head = body.get(..body.len().min(XML_HEAD_BYTES)).filter(|_| essence.contains("xml"))?;
    let head = String::from_utf8_lossy(head);
    let (declaration, _) = head.strip_prefix("<?xml")?.split_once("?>")?;
    let (_, behind) = declaration.split_once("encoding")?;
    let value = behind.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    value.get(1..)?.split(quote).next().map(str::to_owned)
}

/// Whether the body is UTF-8. A truncated body may end within a character.
fn is_utf8(body: &[u8], truncated: bool) -> bool {
    std::str::from_utf8(body).err().is_none_or(|error| truncated && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &[u8], content_type: &str) -> Vec<u8> {
        in_utf8(Bytes::copy_from_slice(body), Some(content_type), false).to_vec()
    }

    #[test]
    fn texts_become_utf_8_from_the_charset_that_they_are_in() {
        let cases: [(&[u8], &str, &str); 9] = [
            (b"gr\xfc\xdfe", "text/plain; charset=ISO-8859-1", "gr\u{fc}\u{df}e"),
            (b"\x93\xfa\x96\x7b", "text/csv;header=present; Charset=\"Shift_JIS\"", "\u{65e5}\u{672c}"),
            (b"{\"a\":\"\xe9\"}", "application/problem+json; charset=latin1", "{\"a\":\"\u{e9}\"}"),
            (b"\xff\xfeh\0i\0", "application/json", "hi"),
            (b"\xef\xbb\xbf{}", "application/json; charset=utf-16", "{}"),
            (
                b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xfc</a>",
                "application/xml",
                "<?xml version='1.0' encoding='ISO-8859-1'?><a>\u{fc}</a>",
            ),
            (b"caf\xe9 \x80", "text/html", "caf\u{e9} \u{20ac}"),
            ("gr\u{fc}n".as_bytes(), "text/html", "gr\u{fc}n"),
            ("gr\u{fc}n".as_bytes(), "text/html; charset=unheard-of", "gr\u{fc}n"),
        ];
        for (body, content_type, expected) in cases {
            assert_eq!(String::from_utf8(text(body, content_type)).unwrap(), expected, "{content_type}");
        }
    }

    #[test]
    fn binary_content_is_unchanged() {
        for (body, content_type) in [
            (&b"\xff\xfe\0\x01"[..], "image/png"),
            (b"\xef\xbb\xbfPK", "application/zip"),
            (b"\xff\xfe\0\x01", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
            (b"{\"a\":\"\xe9\"}", "application/json"),
            (b"\xff", ""),
        ] {
            assert_eq!(text(body, content_type), body, "{content_type}");
        }
        let cut = Bytes::copy_from_slice(&"gr\u{fc}".as_bytes()[..3]);
        assert_eq!(in_utf8(cut.clone(), Some("text/plain"), true), cut);
    }
}
