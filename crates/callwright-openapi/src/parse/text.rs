//! Decodes bytes to text in several encodings.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// A decoded text, and a remark about faulty bytes.
#[derive(Debug)]
pub(crate) struct DecodedText {
    pub(crate) text: String,
    pub(super) remark: Option<&'static str>,
}

/// Decodes `bytes` without a byte order mark. UTF-8 and UTF-16 are detected, UTF-16 also without a mark, because one
/// byte of its first character is zero (RFC 4627, section 3). Other bytes are decoded as Windows-1252, which accepts
/// any bytes and is common in old documents. Unpaired UTF-16 surrogates become U+FFFD.
pub(crate) fn decode(mut bytes: Vec<u8>) -> DecodedText {
    let (encoding, mark_bytes) = encoding(&bytes);
    bytes.drain(..mark_bytes);
    if encoding == UTF_8 {
        return match String::from_utf8(bytes) {
            Ok(text) => DecodedText { text, remark: None },
            Err(error) => {
                let text = WINDOWS_1252.decode_without_bom_handling(error.as_bytes()).0.into_owned();
                DecodedText { text, remark: Some("is not encoded in UTF-8, and is read as Windows-1252") }
            }
        };
    }
    let (text, has_faults) = encoding.decode_without_bom_handling(&bytes);
    let remark = has_faults.then_some("has bytes that are not valid UTF-16; they are replaced by U+FFFD");
    DecodedText { text: text.into_owned(), remark }
}

/// Returns the encoding and the length of its byte order mark.
fn encoding(bytes: &[u8]) -> (&'static Encoding, usize) {
    Encoding::for_bom(bytes).unwrap_or(match bytes {
        [0, second, ..] if *second != 0 => (UTF_16BE, 0),
        [first, 0, ..] if *first != 0 => (UTF_16LE, 0),
        _ => (UTF_8, 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_8_and_utf_16_are_read_with_and_without_a_mark() {
        let text = "name: Zürich 🏔\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for (mark, body) in [
            (&[][..], text.as_bytes()),
            (&[0xEF, 0xBB, 0xBF][..], text.as_bytes()),
            (&[][..], &little[..]),
            (&[0xFF, 0xFE][..], &little[..]),
            (&[][..], &big[..]),
            (&[0xFE, 0xFF][..], &big[..]),
        ] {
            let decoded = decode([mark, body].concat());
            assert_eq!((decoded.text.as_str(), decoded.remark), (text, None), "mark {mark:x?}");
        }
    }

    #[test]
    fn text_that_is_not_unicode_is_decoded_as_windows_1252() {
        let decoded = decode(b"Z\xfcrich \x96 5 \x80".to_vec());
        assert_eq!(decoded.text, "Zürich – 5 €");
        assert!(decoded.remark.is_some_and(|remark| remark.contains("Windows-1252")));
    }

    #[test]
    fn broken_utf_16_is_decoded_with_replacement_characters() {
        let decoded = decode(vec![0xFF, 0xFE, b'a', 0, 0x00, 0xD8]);
        assert_eq!(decoded.text, "a\u{fffd}");
        assert!(decoded.remark.is_some_and(|remark| remark.contains("UTF-16")));
        assert_eq!(decode(Vec::new()).text, "");
    }
}
