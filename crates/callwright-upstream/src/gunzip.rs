//! Incremental gzip decoding, for servers that encode although identity was requested.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;

/// Number of encoded bytes decoded between checks of the size limit. Gzip expands at most a thousandfold, so this
/// bounds the memory used beyond the limit.
const STEP_BYTES: usize = 4 * 1024;

/// A gzip decoder in progress.
#[derive(Debug)]
pub(super) struct Gunzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    is_empty: bool,
}

/// Result of decoding.
#[derive(Debug)]
pub(super) enum GunzipOutput {
    /// Decoded bytes, possibly none.
    Bytes(Bytes),
    /// The size limit is exceeded.
    TooLong,
}

impl Gunzip {
    /// Creates a decoder.
    pub(super) fn new() -> Self {
        Self { decoder: MultiGzDecoder::new(Vec::new()), is_empty: true }
    }

    /// Decodes the next chunk to at most `most` bytes.
    ///
    /// # Errors
    /// If the bytes are not gzip (RFC 1952).
    pub(super) fn push(&mut self, piece: &[u8], most: usize) -> io::Result<GunzipOutput> {
        self.is_empty &= piece.is_empty();
        for step in piece.chunks(STEP_BYTES) {
            self.decoder.write_all(step)?;
            self.decoder.flush()?;
            if self.decoder.get_ref().len() > most {
                return Ok(GunzipOutput::TooLong);
            }
        }
        Ok(GunzipOutput::Bytes(std::mem::take(self.decoder.get_mut()).into()))
    }

    /// Checks that the stream is complete. An empty stream is.
    ///
    /// # Errors
    /// If the stream is truncated.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if self.is_empty { Ok(()) } else { self.decoder.try_finish() }
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn gunzip(pieces: &[&[u8]], most: usize) -> io::Result<Option<Vec<u8>>> {
        let mut decoder = Gunzip::new();
        let mut out = Vec::new();
        for piece in pieces {
            match decoder.push(piece, most)? {
                GunzipOutput::Bytes(bytes) => out.extend_from_slice(&bytes),
                GunzipOutput::TooLong => return Ok(None),
            }
        }
        decoder.end()?;
        Ok(Some(out))
    }

    #[test]
    fn a_stream_is_decoded_however_it_is_split() {
        let text = "callwright ".repeat(5_000);
        let whole = gzip(text.as_bytes());
        for size in [1, 7, 1_000, whole.len()] {
            let pieces: Vec<&[u8]> = whole.chunks(size).collect();
            assert_eq!(gunzip(&pieces, text.len()).unwrap().unwrap(), text.as_bytes(), "{size}");
        }
        let twice = [gzip(b"a"), gzip(b"b")].concat();
        assert_eq!(gunzip(&[&twice], 10).unwrap().unwrap(), b"ab");
    }

    #[test]
    fn a_bomb_is_refused_before_it_unfolds() {
        let bomb = gzip(&vec![0; 64 << 20]);
        let mut decoder = Gunzip::new();
        assert!(matches!(decoder.push(&bomb, 1_000).unwrap(), GunzipOutput::TooLong));
        assert!(decoder.decoder.get_ref().len() < 8 << 20);
    }

    #[test]
    fn truncated_or_foreign_data_is_an_error_and_empty_is_empty() {
        let whole = gzip(b"callwright");
        assert!(gunzip(&[&whole[..whole.len() - 4]], 100).is_err());
        assert!(gunzip(&[b"no gzip !"], 100).is_err());
        assert_eq!(gunzip(&[], 100).unwrap().unwrap(), b"");
    }
}
