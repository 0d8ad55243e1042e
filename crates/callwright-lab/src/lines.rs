//! Lines of bounded length, in batches.

use std::io::{self, BufRead, Read};
use std::path::Path;

use serde::Deserialize;

use super::OfflineError;
use super::input::{InputReader, MAX_BATCH_BYTES};
use callwright_common::parallel::WorkLimits;
use callwright_common::progress::{Problem, ProgressObserver, StepLength};

/// Maximum length of a line in bytes: twice the default limit of a request body, which a trace may contain.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of lines in a batch.
const MAX_BATCH_LINES: usize = 256;

/// Maximum number of batches per worker that are read before the result of an earlier one is delivered.
const BATCHES_AHEAD: usize = 4;

/// Byte order mark that some editors write before UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Lines of an input, in order. Blank lines are skipped, but counted.
pub(super) struct InputLines {
    input: InputReader,
    number: u64,
    offset: u64,
}

#[derive(Debug)]
pub(super) struct InputLine {
    /// Line number, from 1.
    pub(super) number: u64,
    /// Byte offset in the decompressed text.
    pub(super) offset: u64,
    /// Text without its line ending, or the reason why it is unusable.
    pub(super) text: Result<String, String>,
}

/// Consecutive lines.
#[derive(Debug, Default)]
pub(super) struct LineBatch {
    pub(super) lines: Vec<InputLine>,
    /// Number of input bytes read when the batch was closed.
    pub(super) consumed: u64,
}

/// Counts of read and unusable lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinesRead {
    /// Unusable lines, reported to the observer.
    pub problems: u64,
    pub lines: u64,
}

/// Returns the limits for processing batches in `workers` threads.
pub(super) fn batch_limits(workers: usize) -> WorkLimits {
    WorkLimits { workers, weight: u64::MAX, ahead: BATCHES_AHEAD * workers }
}

/// Reads a whole file, and calls `read` with each line's number and text. Unusable lines are reported to the observer
/// and counted.
pub(super) fn each_line(
    path: &Path,
    observer: &dyn ProgressObserver,
    mut read: impl FnMut(u64, &str) -> Result<(), String>,
) -> Result<LinesRead, OfflineError> {
    each_input_line(InputLines::open(path)?, observer, |line, report| {
        if let Err(message) = line.text().and_then(|text| read(line.number, text)) {
            report(message);
        }
        Ok(())
    })
}

/// Reads all lines, and calls `read` with each line and a function that reports its problems.
///
/// # Errors
/// [`OfflineError::Unreadable`], or an error of `read`.
pub(super) fn each_input_line(
    mut lines: InputLines,
    observer: &dyn ProgressObserver,
    mut read: impl FnMut(&InputLine, &mut dyn FnMut(String)) -> Result<(), OfflineError>,
) -> Result<LinesRead, OfflineError> {
    let name = lines.name().to_owned();
    let mut found = LinesRead::default();
    observer.begins(&name, StepLength::Bytes(lines.size()));
    while let Some(batch) = lines.next_batch()? {
        for line in &batch.lines {
            found.lines += 1;
            read(line, &mut |message| {
                found.problems += 1;
                observer.problem(&line.problem(&name, message));
            })?;
        }
        observer.advances(batch.consumed, found.lines);
    }
    observer.ends();
    Ok(found)
}

/// Parses the JSON of a line.
///
/// # Errors
/// The error and its remedy, such as "the line is not a tool: ...; give ...".
pub(super) fn parse_line<'t, T: Deserialize<'t>>(text: &'t str, kind: &str, form: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => format!("the line is not {kind}: {error}; give {form}"),
        _ => format!("the line is not valid JSON: {error}; give one object on each line"),
    })
}

impl InputLines {
    /// Opens a file, or standard input for `-`.
    pub(super) fn open(path: &Path) -> Result<Self, OfflineError> {
        Ok(Self::of(InputReader::open(path)?))
    }

    pub(super) fn of(input: InputReader) -> Self {
        Self { input, number: 0, offset: 0 }
    }

    /// Returns the name of the input in messages.
    pub(super) fn name(&self) -> &str {
        &self.input.name
    }

    /// Returns the size of the input on disk, if known.
    pub(super) fn size(&self) -> Option<u64> {
        self.input.size
    }

    /// Returns all batches; an error is the last item.
    pub(super) fn into_batches(mut self) -> impl Iterator<Item = Result<LineBatch, OfflineError>> + Send {
        let mut failed = false;
        std::iter::from_fn(move || {
            if failed {
                return None;
            }
            let next = self.next_batch();
            failed = next.is_err();
            next.transpose()
        })
    }

    /// Returns the next lines. A batch is closed when the next line is not buffered yet, so that input from a pipe is
    /// processed as it arrives.
    pub(super) fn next_batch(&mut self) -> Result<Option<LineBatch>, OfflineError> {
        let mut batch = LineBatch::default();
        let mut bytes = 0;
        while let Some(line) = self.next_line()? {
            bytes += line.text.as_ref().map_or(0, String::len);
            batch.lines.push(line);
            let is_full = batch.lines.len() >= MAX_BATCH_LINES || bytes >= MAX_BATCH_BYTES;
            if is_full || memchr::memchr(b'\n', self.input.reader.buffer()).is_none() {
                break;
            }
        }
        batch.consumed = self.input.consumed.load(std::sync::atomic::Ordering::Relaxed);
        Ok((!batch.lines.is_empty()).then_some(batch))
    }

    /// Returns the next line that is not blank.
    pub(super) fn next_line(&mut self) -> Result<Option<InputLine>, OfflineError> {
        loop {
            let mut offset = self.offset;
            let read = self.read_line();
            let line = read.map_err(|source| super::input::unreadable(&self.input.name, source))?;
            let Some(bytes) = line else { return Ok(None) };
            self.number += 1;
            let mut text = bytes.and_then(utf8);
            if let Ok(text) = &mut text
                && self.number == 1
                && text.starts_with(BYTE_ORDER_MARK)
            {
                text.drain(..BYTE_ORDER_MARK.len());
                offset += BYTE_ORDER_MARK.len() as u64;
            }
            if text.as_ref().map_or(true, |text| !text.trim_ascii().is_empty()) {
                return Ok(Some(InputLine { number: self.number, offset, text }));
            }
        }
    }

    /// Reads to the end of the next line: its bytes, or an error if it is too long. Returns `None` at the end of the
    /// input.
    fn read_line(&mut self) -> io::Result<Option<Result<Vec<u8>, String>>> {
        let mut bytes = Vec::new();
        let read = (&mut self.input.reader).take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut bytes)?;
        self.offset += read as u64;
        if read == 0 {
            return Ok(None);
        }
        if bytes.len() > MAX_LINE_BYTES && bytes.last() != Some(&b'\n') {
            drop(bytes);
            self.offset += skip_line(&mut self.input.reader)?;
            return Ok(Some(Err(format!(
                "the line is longer than {} MiB; write each record on its own line",
                MAX_LINE_BYTES / (1024 * 1024)
            ))));
        }
        while matches!(bytes.last(), Some(b'\n' | b'\r')) {
            bytes.pop();
        }
        Ok(Some(Ok(bytes)))
    }
}

impl InputLine {
    /// Returns the text.
    ///
    /// # Errors
    /// Why the line is unusable.
    pub(super) fn text(&self) -> Result<&str, String> {
        self.text.as_deref().map_err(Clone::clone)
    }

    /// Returns the problem of this unusable line.
    pub(super) fn problem(&self, file: &str, message: impl Into<String>) -> Problem {
        Problem { file: file.to_owned(), line: self.number, message: message.into() }
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        format!("the line is not UTF-8 from byte {} on; convert the file to UTF-8", valid + 1)
    })
}

/// Skips the rest of a line of any length; returns the number of skipped bytes.
fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let (length, is_end) = match memchr::memchr(b'\n', buffer) {
            Some(position) => (position + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(length);
        skipped += length as u64;
        if is_end {
            return Ok(skipped);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;

    /// Returns the lines of a file with these bytes: number, offset, and text or error.
    fn lines_of(bytes: &[u8]) -> Vec<(u64, u64, Result<String, String>)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = open(file.path());
        let mut found = Vec::new();
        while let Some(batch) = lines.next_batch().unwrap() {
            found.extend(batch.lines.into_iter().map(|line| (line.number, line.offset, line.text)));
        }
        found
    }

    fn open(path: &Path) -> InputLines {
        InputLines::open(path).unwrap()
    }

    fn texts(bytes: &[u8]) -> Vec<String> {
        lines_of(bytes).into_iter().map(|(_, _, text)| text.unwrap()).collect()
    }

    #[test]
    fn ends_of_lines_blank_lines_and_byte_order_marks_are_no_text() {
        assert_eq!(texts(b"a\r\n\n \t\nb"), ["a", "b"]);
        assert!(texts(b"").is_empty() && texts(b"\n\n").is_empty());
        let marked = lines_of("\u{feff}a\n\u{feff}b\n".as_bytes());
        assert_eq!(marked[0], (1, 3, Ok("a".to_owned())));
        assert_eq!(marked[1], (2, 5, Ok("\u{feff}b".to_owned())));
    }

    #[test]
    fn positions_refer_to_the_decompressed_text() {
        let bytes = b"{}\n\n  [1]\r\nx";
        let found = lines_of(bytes);
        assert_eq!(found.iter().map(|(number, _, _)| *number).collect::<Vec<_>>(), [1, 3, 4]);
        for (_, offset, text) in found {
            assert!(bytes[usize::try_from(offset).unwrap()..].starts_with(text.unwrap().as_bytes()));
        }
    }

    #[test]
    fn an_invalid_line_does_not_affect_its_neighbours() {
        let found = lines_of(b"a\nb\xffc\nd\n");
        assert!(found[1].2.as_ref().unwrap_err().contains("from byte 2 on"));
        assert_eq!((found[2].0, found[2].2.as_deref()), (3, Ok("d")));
    }

    #[test]
    fn an_over_long_line_is_skipped() {
        let mut bytes = vec![b'x'; MAX_LINE_BYTES];
        bytes.push(b'\n');
        let exact = lines_of(&bytes);
        assert!(exact.len() == 1 && exact[0].2.is_ok());
        bytes.splice(..0, *b"yy");
        bytes.extend_from_slice(b"z");
        let found = lines_of(&bytes);
        assert!(found[0].2.as_ref().unwrap_err().contains("64 MiB"));
        assert_eq!((found[1].0, found[1].1, found[1].2.as_deref()), (2, bytes.len() as u64 - 1, Ok("z")));
    }

    #[test]
    fn batches_are_bounded() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&b"x\n".repeat(1000)).unwrap();
        let batch = open(file.path()).next_batch().unwrap().unwrap();
        assert_eq!((batch.lines.len(), batch.consumed), (MAX_BATCH_LINES, 2000));
    }
}
