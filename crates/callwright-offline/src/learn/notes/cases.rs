//! Questions with known answers.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::lines::{LinesRead, each_line};
use crate::{OfflineError, Watcher};
use callwright_common::json::scalar_text;

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

/// Reads lines `{"question", "answer"}`. Unusable lines are reported to the watcher and counted.
///
/// # Errors
/// [`OfflineError::Unreadable`].
pub(super) fn read(path: &Path, watcher: &dyn Watcher) -> Result<(Vec<TrainingCase>, LinesRead), OfflineError> {
    let (file, mut cases) = (path.display().to_string(), Vec::new());
    let counted = each_line(path, watcher, |number, text| {
        cases.push(case_of(text, format!("{file}:{number}"))?);
        Ok(())
    })?;
    Ok((cases, counted))
}

fn case_of(text: &str, source: String) -> Result<TrainingCase, String> {
    let line: CaseLine = serde_json::from_str(text).map_err(|error| {
        format!("the line is not a case: {error}; give one object with `question` and `answer` on each line")
    })?;
    let question = line.question.filter(|question| !question.trim().is_empty());
    let question = question.ok_or("there is no `question`; give its text")?;
    let answer = line.answer.as_ref().and_then(scalar_text).filter(|answer| !answer.trim().is_empty());
    let answer = answer.ok_or("there is no `answer`; give the right one, as a text or a number")?;
    Ok(TrainingCase { question, answer, source })
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
