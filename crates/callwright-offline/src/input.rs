//! Where lines come from: a file or standard input, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::OfflineError;

/// The name that stands for standard input or output.
pub(super) const STANDARD_STREAM: &str = "-";

/// Bytes that are read at once; a batch of lines is about as long.
const BUFFER_BYTES: usize = 256 * 1024;

/// The first bytes of a gzip member (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Something that lines are read from.
pub(super) struct Input {
    /// How messages call it.
    pub(super) name: String,
    /// Its bytes as they are on the disk; unknown for what is no regular file.
    pub(super) size: Option<u64>,
    /// Bytes of that which have been read.
    pub(super) consumed: Arc<AtomicU64>,
    /// The text, decompressed.
    pub(super) reader: BufReader<Box<dyn Read + Send>>,
    /// The file itself, where its text stands in it as it is, so that a place in it can be read again.
    pub(super) plain: Option<File>,
}

impl Input {
    /// Opens a file, or standard input for `-`. What begins like gzip is decompressed, whatever its name.
    ///
    /// # Errors
    /// [`OfflineError::Unreadable`].
    pub(super) fn open(path: &Path) -> Result<Self, OfflineError> {
        if path.as_os_str() == STANDARD_STREAM {
            return Self::of("standard input".to_owned(), None, io::stdin(), None);
        }
        let name = path.display().to_string();
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
        let counted = Counted { inner: source, bytes: Arc::clone(&consumed) };
        let mut raw = BufReader::with_capacity(BUFFER_BYTES, counted);
        let is_gzip = begins_like_gzip(&mut raw).map_err(|source| unreadable(&name, source))?;
        let text: Box<dyn Read + Send> = if is_gzip { Box::new(MultiGzDecoder::new(raw)) } else { Box::new(raw) };
        let plain = plain.filter(|_| !is_gzip);
        Ok(Self { name, size, consumed, reader: BufReader::with_capacity(BUFFER_BYTES, text), plain })
    }
}

/// Why an input cannot be read, and what mends it.
pub(super) fn unreadable(file: &str, source: io::Error) -> OfflineError {
    let fix = match source.kind() {
        io::ErrorKind::NotFound => "check its name; `-` is standard input",
        io::ErrorKind::PermissionDenied => "allow this user to read it",
        io::ErrorKind::IsADirectory => "name a file; `cat FOLDER/* | callwright ...` reads many",
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            "its compression is damaged or was cut off; make the file anew"
        }
        _ => "check the file and its disk",
    };
    OfflineError::Unreadable { file: file.to_owned(), source, fix }
}

/// Looks without taking anything; a pipe may give its first bytes one by one.
fn begins_like_gzip<R: Read>(reader: &mut BufReader<R>) -> io::Result<bool> {
    // A first byte alone decides nearly always; where it does, the second has come with it or the decoder says what is missing.
    Ok(match reader.fill_buf()? {
        [first] => *first == GZIP_MAGIC[0],
        bytes => bytes.starts_with(&GZIP_MAGIC),
    })
}

/// Counts the bytes that are read.
struct Counted<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
