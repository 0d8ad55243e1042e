//! Output of lines: a file or standard output, compressed depending on the name.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::OfflineError;
use super::input::STANDARD_STREAM;

/// File name extension of a compressed file.
const GZIP_EXTENSION: &str = "gz";

/// Output of lines.
pub(super) struct OutputWriter {
    name: String,
    sink: OutputSink,
}

enum OutputSink {
    Plain(Box<dyn Write>),
    Gzip(GzEncoder<File>),
}

impl OutputWriter {
    /// Creates a file, or uses standard output for `-`. A file with the extension `.gz` is compressed.
    ///
    /// # Errors
    /// [`OfflineError::Unwritable`]; [`OfflineError::SameFile`] if the file is one of `inputs`.
    pub(super) fn create(path: &Path, inputs: &[&Path]) -> Result<Self, OfflineError> {
        if path.as_os_str() == STANDARD_STREAM {
            return Ok(Self { name: "standard output".to_owned(), sink: OutputSink::Plain(Box::new(io::stdout())) });
        }
        refuse_input(path, inputs)?;
        let name = path.display().to_string();
        let file = File::create(path).map_err(|source| OfflineError::Unwritable { file: name.clone(), source })?;
        let sink = if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(GZIP_EXTENSION)) {
            OutputSink::Gzip(GzEncoder::new(file, Compression::default()))
        } else {
            OutputSink::Plain(Box::new(file))
        };
        Ok(Self { name, sink })
    }

    /// Writes complete lines.
    ///
    /// # Errors
    /// [`OfflineError::Unwritable`], or [`OfflineError::OutputClosed`] for a pipe without a reader.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<(), OfflineError> {
        let written = match &mut self.sink {
            OutputSink::Plain(sink) => sink.write_all(lines),
            OutputSink::Gzip(sink) => sink.write_all(lines),
        };
        written.map_err(|source| unwritable(&self.name, source))
    }

    /// Flushes the buffers.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(super) fn finish(self) -> Result<(), OfflineError> {
        let finished = match self.sink {
            OutputSink::Plain(mut sink) => sink.flush(),
            OutputSink::Gzip(sink) => sink.finish().map(drop),
        };
        finished.map_err(|source| unwritable(&self.name, source))
    }
}

/// Checks that the output is not one of the inputs.
pub(super) fn refuse_input(path: &Path, inputs: &[&Path]) -> Result<(), OfflineError> {
    if let Ok(target) = fs::canonicalize(path)
        && fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        && inputs.iter().any(|input| fs::canonicalize(input).is_ok_and(|input| input == target))
    {
        return Err(OfflineError::SameFile { file: path.display().to_string() });
    }
    Ok(())
}

fn unwritable(file: &str, source: io::Error) -> OfflineError {
    match source.kind() {
        io::ErrorKind::BrokenPipe => OfflineError::OutputClosed,
        _ => OfflineError::Unwritable { file: file.to_owned(), source },
    }
}

/// Writes a file atomically: an interruption leaves either the old or the new content.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), OfflineError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // Temporary files are private by default; this file must have the usual permissions.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let written = builder.prefix(".new-").tempfile_in(folder).and_then(|mut new| {
        new.write_all(bytes)?;
        new.as_file().sync_all()?;
        new.persist(path)?;
        Ok(())
    });
    written.map_err(|source| OfflineError::Unwritable { file: path.display().to_string(), source })
}
