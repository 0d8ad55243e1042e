//! Inputs of a run: questions with known answers, lessons, and the guide of the task.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::run::NotesFiles;
use crate::OfflineError;
use crate::input::refuse_second_stream;
use crate::lines::{LinesRead, each_line, parse_line};
use crate::output::OutputWriter;
use callwright_common::json::scalar_text;
use callwright_common::limits::SHORT_BODY_BYTES;
use callwright_common::progress::ProgressObserver;
use callwright_memory::experience::prompts::TaskGuide;
use callwright_types::Lesson;

/// Question with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TrainingCase {
    pub(super) question: String,
    pub(super) answer: String,
    /// Position in the input: `FILE:LINE`.
    pub(super) source: String,
}

#[derive(Deserialize)]
struct CaseLine {
    question: Option<String>,
    answer: Option<Value>,
}

/// Inputs of a run.
#[derive(Debug, Default)]
pub(super) struct NotesInputs {
    pub(super) train: Vec<TrainingCase>,
    pub(super) test: Vec<TrainingCase>,
    pub(super) lessons: Vec<Lesson>,
    pub(super) guide: TaskGuide,
    pub(super) read: LinesRead,
}

impl NotesInputs {
    /// Reads all files. Unusable lines are reported to the observer and counted.
    ///
    /// # Errors
    /// [`OfflineError`] if a file cannot be read, or there is nothing to do.
    pub(super) fn read(files: &NotesFiles, observer: &dyn ProgressObserver) -> Result<Self, OfflineError> {
        let NotesFiles { train, test, notes, instructions, demonstrations, .. } = files;
        if train.is_none() && (test.is_none() || notes.is_none()) {
            return Err(OfflineError::NothingToDo);
        }
        refuse_second_stream(&[
            ("--train", train.as_deref()),
            ("--test", test.as_deref()),
            ("--notes", notes.as_deref()),
            ("--demonstrations", demonstrations.as_deref()),
        ])?;
        let mut inputs = Self::default();
        let mut reader = FileReader { read: LinesRead::default(), observer };
        inputs.train = reader.read(train, case_of)?;
        inputs.test = reader.read(test, case_of)?;
        inputs.lessons = reader.read(notes, |text, _| {
            serde_json::from_str(text).map_err(|error| {
                format!("the line is not a lesson: {error}; `callwright learn notes --out` writes them")
            })
        })?;
        inputs.guide.demonstrations = reader.read(demonstrations, |text, _| {
            parse_line(text, "a demonstration", "one object with `question` and `truth` on each line")
        })?;
        inputs.read = reader.read;
        if let Some(path) = instructions {
            inputs.guide.instructions = read_instructions(path)?;
        }
        Ok(inputs)
    }
}

struct FileReader<'a> {
    read: LinesRead,
    observer: &'a dyn ProgressObserver,
}

impl FileReader<'_> {
    /// Reads the lines of a file, if one is given, with a function of the text and of `FILE:LINE`.
    fn read<T>(
        &mut self,
        path: &Option<PathBuf>,
        parse: impl Fn(&str, String) -> Result<T, String>,
    ) -> Result<Vec<T>, OfflineError> {
        let Some(path) = path else { return Ok(Vec::new()) };
        let (file, mut all) = (path.display(), Vec::new());
        let LinesRead { problems, lines } = each_line(path, self.observer, |number, text| {
            all.push(parse(text, format!("{file}:{number}"))?);
            Ok(())
        })?;
        self.read.problems += problems;
        self.read.lines += lines;
        Ok(all)
    }
}

fn case_of(text: &str, source: String) -> Result<TrainingCase, String> {
    let line: CaseLine = parse_line(text, "a case", "one object with `question` and `answer` on each line")?;
    let question = line.question.filter(|question| !question.trim().is_empty());
    let question = question.ok_or("there is no `question`; give its text")?;
    let answer = line.answer.as_ref().and_then(scalar_text).filter(|answer| !answer.trim().is_empty());
    let answer = answer.ok_or("there is no `answer`; give the right one, as a text or a number")?;
    Ok(TrainingCase { question, answer, source })
}

/// Reads the instructions: the whole text of a file.
fn read_instructions(path: &Path) -> Result<String, OfflineError> {
    let unreadable = |source| OfflineError::Unreadable {
        file: path.display().to_string(),
        source,
        fix: "give a text file of at most 64 KiB",
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > SHORT_BODY_BYTES as u64 {
        let reason = format!("the file has {size} bytes");
        return Err(unreadable(std::io::Error::new(std::io::ErrorKind::FileTooLarge, reason)));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// Writes one lesson per line.
///
/// # Errors
/// [`OfflineError::Unwritable`], or [`OfflineError::SameFile`] if the file is one of `inputs`.
pub(super) fn write_lessons<'a>(
    path: &Path,
    inputs: &[&Path],
    lessons: impl IntoIterator<Item = &'a Lesson>,
) -> Result<(), OfflineError> {
    let mut lines = Vec::new();
    for lesson in lessons {
        serde_json::to_writer(&mut lines, lesson)
            .map_err(|error| OfflineError::Unwritable { file: path.display().to_string(), source: error.into() })?;
        lines.push(b'\n');
    }
    let mut output = OutputWriter::create(path, inputs)?;
    output.write(&lines)?;
    output.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_a_question_and_its_answer() {
        let case = case_of(r#"{"question": "2+2?", "answer": 4, "id": 7}"#, "f:1".to_owned()).unwrap();
        assert_eq!((case.question.as_str(), case.answer.as_str()), ("2+2?", "4"));
        for (line, expected) in [
            ("7", "the line is not a case"),
            (r#"{"question": " ", "answer": "a"}"#, "there is no `question`"),
            (r#"{"question": "q"}"#, "there is no `answer`"),
            (r#"{"question": "q", "answer": []}"#, "there is no `answer`"),
            (r#"{"question": "q", "answer": ""}"#, "there is no `answer`"),
        ] {
            let error = case_of(line, String::new()).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
