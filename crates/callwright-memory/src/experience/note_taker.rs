//! Model that answers questions and takes notes: the training and test stages of the paper, one question at a time (section
//! 3.1).

use std::sync::Arc;

use serde_json::Value;

use super::Settings;
use super::prompts::{
    Feedback, PromptNote, TaskGuide, continuation, feedback, parse_output, reflecting, solving, training, wording,
};
use super::redaction::redacted;
use super::reflection::{CasePromptData, LessonCase, accepted_reflection};
use super::wording::{LessonPromptData, accepted_wording};
use callwright_common::text::one_line;
use callwright_prompt::CountedModel;
use callwright_types::memory::Wording;
use callwright_types::{Cost, Lesson};
use callwright_upstream::{Answered, TextSource};
use callwright_wire::Role;

/// Model that learns from questions.
#[derive(Debug)]
pub struct NoteTaker {
    model: CountedModel,
    settings: Settings,
    guide: TaskGuide,
}

/// Result of a question in the training stage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrainingResult {
    /// Whether the first answer was right.
    pub is_right: bool,
    /// Notes taken after the feedback: keys and values, without addresses, numbers and secrets.
    pub notes: Vec<(String, String)>,
}

impl NoteTaker {
    /// Creates a note taker from a model and settings.
    pub fn new(model: Arc<dyn TextSource>, settings: Settings) -> Self {
        Self { model: CountedModel::new(model), settings, guide: TaskGuide::default() }
    }

    /// Uses instructions and demonstrations of a task in place of the built-in examples.
    #[must_use]
    pub fn with_guide(self, guide: TaskGuide) -> Self {
        Self { guide, ..self }
    }

    /// Runs the training stage: an answer, the truth, and up to [`Settings::note_actions`] messages to think and take
    /// notes.
    ///
    /// # Errors
    /// Returns the reason why there is no answer, and its remedy. A refused or truncated answer counts as wrong and is
    /// no error.
    pub async fn train(&self, question: &str, truth: &str) -> Result<TrainingResult, String> {
        let mut messages = training(question, &self.settings, &self.guide);
        let first = self.complete(&messages).await?;
        let output = parse_output(&first, &self.settings);
        let mut trained = TrainingResult { is_right: is_right(output.answer.as_deref(), truth), notes: Vec::new() };
        messages.push((Role::Assistant, first));
        messages.push(feedback(&Feedback::new(trained.is_right, truth)));
        self.collect_notes(messages, self.settings.note_actions, |note| {
            if !trained.notes.contains(&note) {
                trained.notes.push(note);
            }
            false
        })
        .await?;
        Ok(trained)
    }

    /// Rewrites a composed lesson in the model's words. Returns `None` if no acceptable note is produced.
    ///
    /// # Errors
    /// Same as [`Self::train`].
    pub async fn reword(&self, lesson: &Lesson) -> Result<Option<Wording>, String> {
        let messages = wording(&LessonPromptData::from(lesson), &self.settings);
        let mut accepted = None;
        self.collect_notes(messages, self.settings.note_actions.saturating_add(1), |(key, value): (String, String)| {
            accepted = accepted.take().or_else(|| accepted_wording(lesson, &key, value, &self.settings));
            accepted.is_some()
        })
        .await?;
        Ok(accepted)
    }

    /// Requests a note that abstracts a lesson from its case, in one answer. Returns `None` if the note is not
    /// acceptable, or if no lesson is withheld: a note about a case must be verified.
    ///
    /// # Errors
    /// Same as [`Self::train`].
    pub async fn reflect(&self, lesson: &Lesson, case: &LessonCase) -> Result<Option<Wording>, String> {
        if self.settings.withhold <= 0.0 {
            return Ok(None);
        }
        let question = reflecting(&CasePromptData::new(lesson, case), &self.settings);
        let text = self.request(&question.messages, Some(&question.form)).await?;
        let notes = parse_output(&text, &self.settings).notes;
        let wordings = notes.into_iter().map(|(key, value)| (redacted(&key), redacted(&value)));
        let mut wordings =
            wordings.filter_map(|(key, value)| accepted_reflection(lesson, case, &key, value, &self.settings));
        Ok(wordings.next())
    }

    /// Lets the model think and take notes for at most `actions` messages. Stops early when `take` returns `true`, or
    /// when the output contains `DONE` or is empty.
    async fn collect_notes(
        &self,
        mut messages: Vec<(Role, String)>,
        actions: usize,
        mut take: impl FnMut((String, String)) -> bool,
    ) -> Result<(), String> {
        for left in (0..actions).rev() {
            let text = self.complete(&messages).await?;
            let output = parse_output(&text, &self.settings);
            let mut is_enough = false;
            for (key, value) in output.notes {
                is_enough |= take((redacted(&key), redacted(&value)));
            }
            if is_enough || output.done || text.is_empty() {
                break;
            }
            messages.push((Role::Assistant, text));
            messages.push(continuation(left));
        }
        Ok(())
    }

    /// Runs the test stage: answers a question with these notes and without further actions. Returns `None` if the
    /// model gives no answer.
    ///
    /// # Errors
    /// Same as [`Self::train`].
    pub async fn solve(&self, question: &str, notes: &[PromptNote<'_>]) -> Result<Option<String>, String> {
        let text = self.complete(&solving(question, notes, &self.guide)).await?;
        Ok(parse_output(&text, &self.settings).answer)
    }

    /// Returns the cost so far, as counted by the provider.
    pub fn cost(&self) -> Cost {
        self.model.cost()
    }

    async fn complete(&self, messages: &[(Role, String)]) -> Result<String, String> {
        self.request(messages, None).await
    }

    /// Requests an output from the model; empty if it refuses or is cut off.
    async fn request(&self, messages: &[(Role, String)], form: Option<&Value>) -> Result<String, String> {
        Ok(match self.model.request(messages, form).await? {
            Answered::Text(text) => text,
            Answered::CutOff | Answered::Refused(_) => String::new(),
        })
    }
}

/// Whether an answer matches the expected one, ignoring case, whitespace, enclosing quotes and full stops.
pub fn is_right(answer: Option<&str>, truth: &str) -> bool {
    answer.is_some_and(|answer| normalized(answer) == normalized(truth))
}

/// Returns a text in lower case, without surrounding quotation marks and full stops.
fn normalized(text: &str) -> String {
    let text = one_line(text).to_lowercase();
    text.trim_matches(['"', '\'', '`', ' ', '.', '\u{201c}', '\u{201d}']).to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::future::BoxFuture;

    use super::*;
    use callwright_judge::repair::answers::habits;
    use callwright_upstream::{Exchange, Manner};

    /// Returns the scripted outputs in order and records the requests.
    #[derive(Debug, Default)]
    struct Scripted {
        script: Mutex<Vec<Result<Answered, String>>>,
        requests: Mutex<Vec<Vec<(Role, String)>>>,
    }

    impl TextSource for Scripted {
        fn ask<'a>(&'a self, messages: &'a [(Role, String)], _: Manner<'a>) -> BoxFuture<'a, Exchange> {
            self.requests.lock().unwrap().push(messages.to_vec());
            let answered = self.script.lock().unwrap().remove(0);
            Box::pin(std::future::ready(Exchange { answered, requests: 1, usage: None }))
        }
    }

    fn note_taker(script: &[&str]) -> (NoteTaker, Arc<Scripted>) {
        let script = script.iter().map(|text| Ok(Answered::Text((*text).to_owned()))).collect();
        let scripted = Arc::new(Scripted { script: Mutex::new(script), ..Scripted::default() });
        (NoteTaker::new(scripted.clone(), Settings { note_actions: 3, ..Settings::default() }), scripted)
    }

    #[tokio::test]
    async fn truth_follows_the_answer_and_precedes_the_notes() {
        let (note_taker, scripted) = note_taker(&[
            "NOTE[early]: x\nANSWER: 5",
            "THINK[so]",
            "NOTE[sum]: add both\nNOTE[who]: ask a@b.org",
            "DONE",
        ]);
        let trained = note_taker.train("2+2?", "4").await.unwrap();
        let notes =
            [("sum", "add both"), ("who", "ask <email>")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(
            trained,
            TrainingResult { is_right: false, notes: notes.to_vec() },
            "notes before the truth are ignored"
        );
        let requests = scripted.requests.lock().unwrap();
        assert_eq!(requests.iter().map(Vec::len).collect::<Vec<_>>(), [2, 4, 6, 8]);
        assert!(requests[0].iter().all(|(_, text)| !text.contains("\"4\"")));
        assert_eq!(requests[1][3].1, r#"{"feedback":"wrong","truth":"4"}"#);
        assert_eq!(note_taker.cost().requests, 4);
    }

    #[tokio::test]
    async fn actions_are_limited() {
        let (note_taker, _) = note_taker(&["ANSWER: 4", "THINK[a]", "THINK[b]", "NOTE[k]: v", "NOTE[never]: asked"]);
        let trained = note_taker.train("2+2?", "4").await.unwrap();
        assert_eq!((trained.is_right, trained.notes.len(), note_taker.cost().requests), (true, 1, 4));
    }

    #[tokio::test]
    async fn refusals_give_no_answer_and_failures_are_errors() {
        let (note_taker, scripted) = note_taker(&[]);
        scripted.script.lock().unwrap().extend([
            Ok(Answered::Refused("no".to_owned())),
            Ok(Answered::CutOff),
            Ok(Answered::Refused("no".to_owned())),
            Err("down".to_owned()),
        ]);
        assert_eq!(note_taker.train("q", "t").await, Ok(TrainingResult::default()));
        assert_eq!(note_taker.solve("q", &[]).await, Ok(None));
        assert_eq!(note_taker.solve("q", &[]).await, Err("down".to_owned()));
    }

    fn reflected_case() -> (Lesson, LessonCase) {
        let lesson = Lesson {
            tools: vec!["book".to_owned()],
            key: "book, day, wrong type".to_owned(),
            value: "In calls of `book`, `day` must be a date.".to_owned(),
            ..callwright_types::memory::sample_lesson()
        };
        let mut case = LessonCase { corrected: ("book".to_owned(), "{}".to_owned()), ..LessonCase::default() };
        case.private.add_arguments(r#"{"day":"tomorrow"}"#);
        (lesson, case)
    }

    #[tokio::test]
    async fn notes_about_a_case_are_parsed_in_every_habit() {
        let (lesson, case) = reflected_case();
        let note = "Relative days are no dates for `book`: work out the `day` first.";
        let one = serde_json::json!({"key": "relative day", "value": note}).to_string();
        let commands = [format!("NOTE[relative day]: {note}"), format!("THINK[so]\nNOTE[relative day]: {note}\nDONE")];
        for text in habits(&one).into_iter().chain(commands) {
            let wording = note_taker(&[&text]).0.reflect(&lesson, &case).await.unwrap();
            let expected = Wording { key: format!("relative day, {}", lesson.key), value: note.to_owned() };
            assert_eq!(wording, Some(expected), "{text}");
        }
    }

    #[tokio::test]
    async fn notes_with_case_values_or_without_verification_are_rejected() {
        let (lesson, case) = reflected_case();
        let answer = r#"{"key": "day", "value": "Tomorrow is no date for `book`."}"#;
        assert_eq!(note_taker(&[answer]).0.reflect(&lesson, &case).await, Ok(None));
        assert_eq!(note_taker(&[r#"{"key": "", "value": ""}"#]).0.reflect(&lesson, &case).await, Ok(None));
        let never = Settings { withhold: 0.0, ..Settings::default() };
        let (model, scripted) = note_taker(&[]);
        assert_eq!(NoteTaker { settings: never, ..model }.reflect(&lesson, &case).await, Ok(None));
        assert!(scripted.requests.lock().unwrap().is_empty());
    }

    #[test]
    fn answers_are_compared_after_normalization() {
        assert!(is_right(Some("\"Pfe\"."), "pfe") && is_right(Some(" a  b "), "A b"));
        assert!(!is_right(Some("pf"), "pfe") && !is_right(None, ""));
    }
}
