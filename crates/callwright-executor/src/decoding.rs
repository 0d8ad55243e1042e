//! Content codings of response bodies (RFC 9110 section 8.4.1).
//!
//! Servers and proxies label plain bytes as compressed, and send `deflate` with or without the zlib header. The bytes
//! themselves therefore decide whether and how a body is decoded.

use std::io::Read;

use bytes::Bytes;
use callwright_common::limits::ENCODINGS;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// First bytes of a gzip stream (RFC 1952 section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct DecodedBody {
    pub(super) bytes: Bytes,
    /// Whether the body was cut at the limit, or is broken from there on.
    pub(super) is_truncated: bool,
}

/// Removes the codings of a `Content-Encoding` value from `body`, up to `max_bytes`. Unknown codings remain.
pub(super) fn decoded(body: Bytes, codings: &str, max_bytes: usize) -> DecodedBody {
    let mut body = DecodedBody { bytes: body, is_truncated: false };
    for coding in codings.split(',').rev().map(str::trim).take(ENCODINGS) {
        let (bytes, is_truncated) = match coding.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" if body.bytes.starts_with(&GZIP_MAGIC) => {
                read(MultiGzDecoder::new(&body.bytes[..]), max_bytes)
            }
            "deflate" => match read(ZlibDecoder::new(&body.bytes[..]), max_bytes) {
                // Without the header, nothing is read.
                (bytes, true) if bytes.is_empty() => match read_without_header(&body.bytes, max_bytes) {
                    Some(decoded) => decoded,
                    None => continue,
                },
                decoded => decoded,
            },
            "gzip" | "x-gzip" | "identity" | "" => continue,
            _ => break,
        };
        body = DecodedBody { bytes, is_truncated: is_truncated || body.is_truncated };
    }
    body
}

/// Decodes a stream without the zlib header, which many servers send. It has no mark, so only a stream that fills the
/// body, or exceeds the limit, is recognised.
fn read_without_header(body: &[u8], max_bytes: usize) -> Option<(Bytes, bool)> {
    let mut decoder = DeflateDecoder::new(body);
    let (bytes, is_truncated) = read(&mut decoder, max_bytes);
    let is_whole = !is_truncated && usize::try_from(decoder.total_in()) == Ok(body.len());
    (!bytes.is_empty() && (is_whole || bytes.len() == max_bytes)).then_some((bytes, is_truncated))
}

/// Reads at most `max_bytes`. Also returns whether the rest is missing: over the limit, or broken.
fn read(mut reader: impl Read, max_bytes: usize) -> (Bytes, bool) {
    let mut bytes = Vec::new();
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    // Bytes that were decoded before an error stay in the buffer.
    let is_broken = reader.by_ref().take(limit).read_to_end(&mut bytes).is_err();
    let is_long = bytes.len() > max_bytes;
    bytes.truncate(max_bytes);
    (bytes.into(), is_broken || is_long)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const TEXT: &[u8] = br#"{"a": 1, "text": "a text that is long enough to be compressed, compressed, compressed"}"#;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib() -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(TEXT).unwrap();
        encoder.finish().unwrap()
    }

    fn raw() -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(TEXT).unwrap();
        encoder.finish().unwrap()
    }

    fn read_whole(body: Vec<u8>, codings: &str) -> (Vec<u8>, bool) {
        let DecodedBody { bytes, is_truncated } = decoded(body.into(), codings, 1_000);
        (bytes.to_vec(), is_truncated)
    }

    #[test]
    fn every_coding_is_removed_in_each_of_its_forms() {
        let cases = [
            ("gzip", gzip(TEXT)),
            ("X-GZip", gzip(TEXT)),
            ("gzip, gzip", gzip(&gzip(TEXT))),
            ("deflate", zlib()),
            ("deflate", raw()),
            ("identity, gzip", gzip(TEXT)),
        ];
        for (codings, body) in cases {
            assert_eq!(read_whole(body, codings), (TEXT.to_vec(), false), "{codings}");
        }
    }

    #[test]
    fn plain_bytes_stay_whatever_their_label_is() {
        for codings in ["gzip", "x-gzip", "deflate", "", "identity", "gzip, deflate"] {
            assert_eq!(read_whole(TEXT.to_vec(), codings), (TEXT.to_vec(), false), "{codings}");
            assert_eq!(read_whole(Vec::new(), codings), (Vec::new(), false), "{codings}");
        }
        let brotli = vec![0x8b, 0x02, 0x80];
        assert_eq!(read_whole(brotli.clone(), "br"), (brotli, false));
    }

    #[test]
    fn a_broken_stream_keeps_what_was_read_and_is_marked() {
        for (codings, body) in [("gzip", gzip(&TEXT.repeat(5))), ("deflate", zlib())] {
            let half = body[..body.len() / 2].to_vec();
            let (bytes, is_truncated) = read_whole(half, codings);
            assert!(is_truncated && TEXT.repeat(5).starts_with(&bytes), "{codings}");
        }
        let (bytes, is_truncated) = read_whole([&GZIP_MAGIC[..], b"no gzip"].concat(), "gzip");
        assert!(bytes.is_empty() && is_truncated);
    }

    #[test]
    fn a_bomb_is_read_up_to_the_limit() {
        let bomb = gzip(&vec![0; 10_000_000]);
        let DecodedBody { bytes, is_truncated } = decoded(bomb.into(), "gzip", 1_000);
        assert_eq!((bytes.len(), is_truncated), (1_000, true));
    }
}
