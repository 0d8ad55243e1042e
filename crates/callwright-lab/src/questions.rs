//! Tools of questions, located by question id and read again on demand.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::OfflineError;
use super::input::InputReader;
use super::lines::{InputLine, InputLines, each_input_line};
use callwright_common::limits::WORD_CHARS;
use callwright_common::progress::ProgressObserver;
use callwright_wire::{RecordedAnswer, name_of};

/// Lines `{"id", "tools"}` of a file. Only the positions of the lines are in memory. The lines are in the file or, if
/// that is compressed or a pipe, in a temporary copy.
#[derive(Debug)]
pub(super) struct QuestionIndex {
    positions: HashMap<Box<str>, QuestionPosition>,
    lines: Mutex<File>,
}

/// Position of a line.
#[derive(Debug, Clone, Copy)]
struct QuestionPosition {
    offset: u64,
    length: usize,
    number: u64,
}

impl QuestionIndex {
    /// Reads the whole file once. Unusable lines are reported to the observer and counted.
    ///
    /// # Errors
    /// [`OfflineError`] if the file cannot be read or the temporary copy cannot be written.
    pub(super) fn index(path: &Path, observer: &dyn ProgressObserver) -> Result<(Self, u64), OfflineError> {
        let mut input = InputReader::open(path)?;
        let plain = input.plain.take();
        let mut copy = if plain.is_none() { Some(QuestionCopy::new()?) } else { None };
        let mut positions = HashMap::new();
        let read = each_input_line(InputLines::of(input), observer, |line, report| {
            if let Err(message) = note(&mut positions, line, copy.as_mut())? {
                report(message);
            }
            Ok(())
        })?;
        let file = plain.or(copy.map(|copy| copy.file));
        // One of the two always exists; otherwise nothing can be found.
        let Some(file) = file else { return Err(QuestionCopy::failed(io::ErrorKind::NotFound.into())) };
        Ok((Self { positions, lines: Mutex::new(file) }, read.problems))
    }

    /// Returns the text of a question's `tools`; `None` if there is no such question.
    ///
    /// # Errors
    /// A message if the file has changed meanwhile.
    pub(super) fn tools_text(&self, id: &str) -> Result<Option<String>, String> {
        let Some(position) = self.positions.get(id) else { return Ok(None) };
        let mut bytes = vec![0; position.length];
        let mut file = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(position.offset))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| format!("the tools of its question cannot be read again: {error}"))?;
        drop(file);
        let line = std::str::from_utf8(&bytes).map_err(|_| CHANGED)?;
        let tools = RecordedAnswer::parse(line).and_then(|record| Ok(record.tools_text()?.map(str::to_owned)));
        Ok(Some(tools.ok().flatten().ok_or(CHANGED)?))
    }
}

/// Error for a line that has changed.
const CHANGED: &str = "the tools of its question have changed; do not modify the file during a run";

/// Records the position of a line's id. The outer error ends the run, the inner one concerns the line.
fn note(
    positions: &mut HashMap<Box<str>, QuestionPosition>,
    line: &InputLine,
    copy: Option<&mut QuestionCopy>,
) -> Result<Result<(), String>, OfflineError> {
    let read = line.text().and_then(|text| id_of(text).map(|id| (id, text)));
    let (id, text) = match read {
        Ok(read) => read,
        Err(message) => return Ok(Err(message)),
    };
    let entry = match positions.entry(id) {
        Entry::Vacant(entry) => entry,
        Entry::Occupied(entry) => {
            let message = format!(
                "the id `{}` is already used on line {}, which takes precedence; give each line a unique id",
                callwright_common::text::excerpt(entry.key(), WORD_CHARS),
                entry.get().number
            );
            return Ok(Err(message));
        }
    };
    let offset = match copy {
        Some(copy) => copy.append(text)?,
        None => line.offset,
    };
    entry.insert(QuestionPosition { offset, length: text.len(), number: line.number });
    Ok(Ok(()))
}

fn id_of(text: &str) -> Result<Box<str>, String> {
    let record = RecordedAnswer::parse(text).map_err(|error| error.message)?;
    if record.tools_text().map_err(|error| error.message)?.is_none() {
        return Err("there are no `tools`; give the list that was offered, `[]` where none was".to_owned());
    }
    let id = record.member("id").and_then(name_of);
    Ok(id.ok_or("there is no `id`; give each line a string or a number that lines of --in name as `question`")?.into())
}

/// Temporary copy of the lines of an input that cannot be read twice. It has no name and is deleted when it is closed.
struct QuestionCopy {
    file: File,
    length: u64,
}

impl QuestionCopy {
    fn new() -> Result<Self, OfflineError> {
        Ok(Self { file: tempfile::tempfile().map_err(Self::failed)?, length: 0 })
    }

    /// Appends a text and returns its offset.
    fn append(&mut self, text: &str) -> Result<u64, OfflineError> {
        self.file.write_all(text.as_bytes()).map_err(Self::failed)?;
        let offset = self.length;
        self.length += text.len() as u64;
        Ok(offset)
    }

    fn failed(source: io::Error) -> OfflineError {
        OfflineError::Unwritable { file: "a temporary copy of the tools".to_owned(), source }
    }
}
