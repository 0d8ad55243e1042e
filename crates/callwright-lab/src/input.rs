//! Input of lines: a file or standard input, optionally compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::OfflineError;

/// File name that denotes standard input or output.
pub(super) const STANDARD_STREAM: &str = "-";

/// Size in bytes of the read buffers, and at which a batch of lines is closed.
pub(super) const MAX_BATCH_BYTES: usize = 256 * 1024;

/// First bytes of a gzip member (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Input of lines.
pub(super) struct InputReader {
    /// Name in messages.
    pub(super) name: String,
    /// Size on disk in bytes; unknown unless it is a regular file.
    pub(super) size: Option<u64>,
    /// Number of bytes read from disk.
    pub(super) consumed: Arc<AtomicU64>,
    /// Decompressed text.
    pub(super) reader: BufReader<Box<dyn Read + Send>>,
    /// The file itself if it is an uncompressed regular file, so that lines can be read again.
    pub(super) plain: Option<File>,
}

impl InputReader {
    /// Opens a file, or standard input for `-`. Gzip is detected by content, independent of the name.
    pub(super) fn open(path: &Path) -> Result<Self, OfflineError> {
        let name = input_name(path);
        if path.as_os_str() == STANDARD_STREAM {
            return Self::of(name, None, io::stdin(), None);
        }
        let opened = File::open(path).and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        let (file, metadata) = opened.map_err(|source| unreadable(&name, source))?;
        if metadata.is_dir() {
            return Err(unreadable(&name, io::ErrorKind::IsADirectory.into()));
        }
        let again = if metadata.is_file() { file.try_clone().ok() } else { None };
        Self::of(name, metadata.is_file().then_some(metadata.len()), file, again)
    }

    fn of(
        name: String,
        size: Option<u64>,
        source: impl Read + Send + 'static,
        plain: Option<File>,
    ) -> Result<Self, OfflineError> {
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = CountedReader { inner: source, bytes: Arc::clone(&consumed) };
        let mut raw = BufReader::with_capacity(MAX_BATCH_BYTES, counted);
        let is_gzip = begins_like_gzip(&mut raw).map_err(|source| unreadable(&name, source))?;
        let text: Box<dyn Read + Send> = if is_gzip { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) };
        let plain = plain.filter(|_| !is_gzip);
        Ok(Self { name, size, consumed, reader: BufReader::with_capacity(MAX_BATCH_BYTES, text), plain })
    }
}

/// Returns the name of an input in messages.
pub(super) fn input_name(path: &Path) -> String {
    if path.as_os_str() == STANDARD_STREAM { "standard input".to_owned() } else { path.display().to_string() }
}

/// Refuses standard input as more than one of these inputs.
pub(super) fn refuse_second_stream(inputs: &[(&'static str, Option<&Path>)]) -> Result<(), OfflineError> {
    let streams = inputs.iter().filter(|(_, path)| path.is_some_and(|path| path.as_os_str() == STANDARD_STREAM));
    match streams.map(|(name, _)| *name).collect::<Vec<_>>().as_slice() {
        [first, second, ..] => Err(OfflineError::StandardInputTwice { first, second }),
        _ => Ok(()),
    }
}

/// Returns the error of an unreadable input, with its remedy.
pub(super) fn unreadable(file: &str, source: io::Error) -> OfflineError {
    let fix = match source.kind() {
        io::ErrorKind::NotFound => "check its name; `-` is standard input",
        io::ErrorKind::PermissionDenied => "allow this user to read it",
        io::ErrorKind::IsADirectory => "name a file; `cat FOLDER/* | callwright ...` reads many",
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            "its compression is damaged or truncated; create the file again"
        }
        _ => "check the file and its disk",
    };
    OfflineError::Unreadable { file: file.to_owned(), source, fix }
}

/// Whether the input starts with the gzip magic, without consuming it. A pipe may deliver the first bytes one by one.
fn begins_like_gzip<R: Read>(reader: &mut BufReader<R>) -> io::Result<bool> {
    // The first byte alone nearly always decides. If only one byte is available, the decoder reports a missing second
    // one.
    Ok(match reader.fill_buf()? {
        [first] => *first == GZIP_MAGIC[0],
        bytes => bytes.starts_with(&GZIP_MAGIC),
    })
}

/// Reader that counts bytes.
struct CountedReader<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
