//! Rewriting of composed lessons by a model, in its own words or as an abstraction of their cases.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;

use super::Settings;
use super::case::lesson_case;
use super::job::{Job, JobError, JobOutcome, LEASE};
use crate::experience::{LessonCase, NoteTaker};
use callwright_store::{Memory, Revision, Store, StoreError, Traces};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Label, LearningJob, TokenKind};
use callwright_types::memory::{Author, Wording};
use callwright_types::{Cost, Lesson, Purpose, UsageCounter};

/// Maximum number of events, the latest, whose turns are searched for the case of a lesson.
const MAX_EVENTS: usize = 4;

/// Rewrites composed lessons with a model. A lesson is in use before that, and keeps its text if the model returns
/// nothing better. The model is queried once per lesson.
#[derive(Debug)]
pub struct LessonRewriter {
    store: Arc<Store>,
    note_taker: NoteTaker,
    settings: Settings,
    metrics: Arc<Metrics>,
}

impl LessonRewriter {
    /// Creates the job for the lessons of this store.
    pub fn new(store: Arc<Store>, note_taker: NoteTaker, settings: Settings, metrics: Arc<Metrics>) -> Self {
        Self { store, note_taker, settings, metrics }
    }

    /// Sends one lesson to the model; `seen` is its revision. A lesson that others changed meanwhile is processed
    /// later.
    async fn word(&self, lesson: Lesson, seen: Revision) -> Result<(), JobError> {
        let case = self.case(&lesson).await?;
        let before = self.note_taker.cost();
        let written = self.write(&lesson, case.as_ref()).await;
        self.count(before, self.note_taker.cost());
        let rewritten = rewritten(lesson, written.map_err(JobError::Model)?, Timestamp::now());
        Memory::put(&*self.store, &[rewritten], seen).await?;
        Ok(())
    }

    /// Requests an abstraction of the lesson's case, or else other words for its text.
    async fn write(&self, lesson: &Lesson, case: Option<&LessonCase>) -> Result<RewriteResult, String> {
        if let Some(case) = case
            && let Some(wording) = self.note_taker.reflect(lesson, case).await?
        {
            return Ok(RewriteResult::Reflected(wording));
        }
        Ok(self.note_taker.reword(lesson).await?.map_or(RewriteResult::Nothing, RewriteResult::Reworded))
    }

    /// Returns the case of a lesson, if the policy of one of its latest turns permits reflection.
    async fn case(&self, lesson: &Lesson) -> Result<Option<LessonCase>, StoreError> {
        if !lesson.scope.is_group() {
            return Ok(None);
        }
        for trace in lesson.evidence.iter().rev().filter_map(|event| event.trace.as_deref()).take(MAX_EVENTS) {
            let trace = self.store.get(trace).await?;
            if let Some(case) = trace.and_then(|trace| lesson_case(&trace, lesson)) {
                return Ok(Some(case));
            }
        }
        Ok(None)
    }

    fn count(&self, before: Cost, after: Cost) {
        let tokens = [
            (TokenKind::Prompt, after.prompt_tokens - before.prompt_tokens),
            (TokenKind::Completion, after.completion_tokens - before.completion_tokens),
        ];
        tokens.into_iter().for_each(|(kind, spent)| self.metrics.tokens.add(kind, Purpose::Note, spent));
    }
}

impl Job for LessonRewriter {
    const KIND: LearningJob = LearningJob::Word;

    async fn batch(&self) -> Result<JobOutcome, JobError> {
        let noted = self.store.job_cursor(Self::KIND.label()).await?;
        let after: Revision = noted.and_then(|noted| noted.parse().ok()).unwrap_or_default();
        let changes = Memory::<Lesson>::changed(&*self.store, after, self.settings.batch).await?;
        if changes.upto == after {
            return Ok(JobOutcome::Idle);
        }
        let pace = Duration::from_secs(60) / self.settings.notes_per_minute.max(1);
        for lesson in changes.changed.into_iter().filter(is_due) {
            // A model request takes time: the lease must outlast one lesson, not a batch.
            if !self.store.take_job(Self::KIND.label(), LEASE).await? {
                return Ok(JobOutcome::Elsewhere);
            }
            self.word(lesson, changes.upto).await?;
            sleep(pace).await;
        }
        self.store.note_job(Self::KIND.label(), &changes.upto.to_string()).await?;
        Ok(JobOutcome::Learned)
    }
}

/// Whether a lesson was composed and not yet sent to a model. Lessons about a client's own tools have no text to
/// rewrite.
fn is_due(lesson: &Lesson) -> bool {
    lesson.client.is_none()
        && lesson.author == Author::Composed
        && lesson.composed.is_none()
        && lesson.retired.is_none()
}

/// Result of the model for a lesson.
enum RewriteResult {
    /// An abstraction of the lesson's case.
    Reflected(Wording),
    /// The lesson's text in other words.
    Reworded(Wording),
    /// No acceptable text.
    Nothing,
}

/// Returns the lesson with the result of the model. A reflection states more than the composed lesson, so its test
/// begins again: it is withheld as often as a new lesson.
fn rewritten(lesson: Lesson, written: RewriteResult, now: Timestamp) -> Lesson {
    let composed = Some(Wording { key: lesson.key.clone(), value: lesson.value.clone() });
    let (Wording { key, value }, tally) = match written {
        RewriteResult::Nothing => return Lesson { composed, updated_at: now, ..lesson },
        RewriteResult::Reworded(wording) => (wording, lesson.tally),
        RewriteResult::Reflected(wording) => {
            (wording, UsageCounter { counted: lesson.tally.counted, ..UsageCounter::default() })
        }
    };
    Lesson { key, value, author: Author::Model, composed, tally, updated_at: now, ..lesson }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Mutex;

    use futures_util::future::BoxFuture;
    use serde_json::{Value, json};

    use super::*;
    use crate::experience;
    use callwright_common::json::Pointer;
    use callwright_judge::repair::answers::habits;
    use callwright_store::{self as store, TraceRow};
    use callwright_types::memory::sample_lesson;
    use callwright_types::trace::{Attempt, sample};
    use callwright_types::{Call, Diagnosis, EvidenceKind, FaultCode, MemoryNote, Scope, Trace, Usage};
    use callwright_upstream::{Answered, Exchange, Manner, TextSource};
    use callwright_wire::Role;

    /// Model that answers the first prompt with a text and others with `DONE`, and records them.
    #[derive(Debug)]
    struct Scripted {
        text: String,
        prompts: Mutex<Vec<String>>,
    }

    impl TextSource for Scripted {
        fn ask<'a>(&'a self, messages: &'a [(Role, String)], _: Manner<'a>) -> BoxFuture<'a, Exchange> {
            let mut prompts = self.prompts.lock().unwrap();
            let text = if prompts.is_empty() { &self.text } else { "DONE" };
            prompts.push(messages[1].1.clone());
            let answered = Ok(Answered::Text(text.to_owned()));
            Box::pin(std::future::ready(Exchange { answered, requests: 1, usage: None }))
        }
    }

    /// Turn of the group `g` in which `book` was corrected; its client brought a tool of its own.
    fn turn() -> Trace {
        let call = |id: &str, day: &str| Call {
            id: id.to_owned(),
            name: "book".to_owned(),
            arguments: json!({"day": day, "guest": "Lovelace"}).to_string(),
        };
        let fault = Diagnosis {
            code: FaultCode::TypeMismatch,
            call: 0,
            path: Pointer::root().child("day"),
            message: "`day` must be a date".to_owned(),
            facts: Value::Null,
            suggestion: None,
        };
        let attempt = |call: Call, diagnoses: Vec<Diagnosis>| {
            let attempt = Attempt::unjudged(Purpose::First, "u", "success", Usage::default(), 1.0);
            Attempt { calls: vec![call], diagnoses, ..attempt }
        };
        let tools = json!([{"type": "function", "function": {"name": "files", "description": "Of patient Turing."}}]);
        Trace {
            id: "t1".to_owned(),
            request: Some(
                json!({"messages": [{"role": "user", "content": "Book tomorrow, ada@example.org"}], "tools": tools}),
            ),
            memory: Some(MemoryNote { reflect: true, ..MemoryNote::of(Scope::of_group("g")) }),
            attempts: vec![attempt(call("1", "tomorrow"), vec![fault]), attempt(call("2", "2026-11-22"), Vec::new())],
            ..sample()
        }
    }

    fn lesson(trace: &Trace) -> Lesson {
        Lesson {
            scope: Scope::of_group("g"),
            toolset: Some("hotel".to_owned()),
            tools: vec!["book".to_owned()],
            key: "book, day, wrong type".to_owned(),
            value: "In calls of `book`, `day` must be a date.".to_owned(),
            evidence: vec![trace.evidence(EvidenceKind::Mended, Timestamp::UNIX_EPOCH)],
            tally: UsageCounter { uses: 400, helped: 400, counted: 7, ..UsageCounter::default() },
            ..sample_lesson()
        }
    }

    /// Runs the job with a model that answers with `text`. Returns the lesson and the prompts.
    async fn run(trace: Trace, lesson: Lesson, text: &str) -> (Lesson, Vec<String>) {
        let settings = store::Settings { url: "sqlite::memory:".into(), ..Default::default() };
        let store = Arc::new(Store::open(&settings, Path::new("")).await);
        store.append(&[TraceRow::new(&trace).unwrap()]).await.unwrap();
        Memory::put(&*store, &[lesson], 0).await.unwrap();
        let model = Arc::new(Scripted { text: text.to_owned(), prompts: Mutex::default() });
        let note_taker = NoteTaker::new(model.clone(), experience::Settings { note_actions: 0, ..Default::default() });
        let settings = Settings { notes_per_minute: u32::MAX, ..Settings::default() };
        let job = LessonRewriter::new(store.clone(), note_taker, settings, Arc::new(Metrics::new()));
        assert!(store.take_job(LessonRewriter::KIND.label(), LEASE).await.unwrap());
        assert_eq!(job.batch().await.unwrap(), JobOutcome::Learned);
        let [lesson] = <[Lesson; 1]>::try_from(Memory::changed(&*store, 0, 10).await.unwrap().changed).unwrap();
        let prompts = model.prompts.lock().unwrap().clone();
        (lesson, prompts)
    }

    const NOTE: &str = "Relative days are no dates for `book`: work out the `day` first.";

    fn answer(value: &str) -> String {
        json!({"key": "relative day", "value": value}).to_string()
    }

    #[tokio::test]
    async fn a_group_lesson_is_abstracted_and_its_test_begins_again() {
        for text in habits(&answer(NOTE)) {
            let (lesson, prompts) = run(turn(), lesson(&turn()), &text).await;
            assert_eq!((lesson.author, lesson.value.as_str()), (Author::Model, NOTE), "{text}");
            assert_eq!(lesson.composed.unwrap().value, "In calls of `book`, `day` must be a date.");
            assert_eq!(lesson.tally, UsageCounter { counted: 7, ..UsageCounter::default() });
            let [prompt] = &prompts[..] else { panic!("{prompts:?}") };
            assert!(prompt.contains("tomorrow") && prompt.contains("`day` must be a date"), "{prompt}");
            assert!(!prompt.contains("ada@") && !prompt.contains("Turing"), "{prompt}");
        }
    }

    #[tokio::test]
    async fn a_note_with_a_part_of_the_case_leaves_the_lesson_as_composed() {
        for value in [
            "`book` has no tomorrow.", "Lovelace needs `book`.", "`book` is not for a patient.",
            "Use 2026-11-22 in `book`.",
        ] {
            let (lesson, prompts) = run(turn(), lesson(&turn()), &answer(value)).await;
            assert_eq!(lesson.value, "In calls of `book`, `day` must be a date.", "{value}");
            assert_eq!((lesson.tally.uses, lesson.composed.is_some()), (400, true));
            // The rewriting follows, which sees no case.
            assert!(prompts.len() == 2 && !prompts[1].contains("tomorrow"), "{prompts:?}");
        }
    }

    #[tokio::test]
    async fn without_permission_group_or_bodies_no_case_is_sent() {
        let reworded = "In `book`, the `day` is a date.";
        let memory = |reflect, scope| Some(MemoryNote { reflect, ..MemoryNote::of(scope) });
        let (key, group) = (Scope::of_key("a"), Scope::of_group("g"));
        for (trace, scope) in [
            (Trace { memory: memory(false, group.clone()), ..turn() }, group.clone()),
            (Trace { memory: memory(true, key.clone()), ..turn() }, key),
            (Trace { memory: memory(true, Scope::of_group("h")), ..turn() }, group.clone()),
            (Trace { request: None, ..turn() }, group),
        ] {
            let lesson = Lesson { scope, ..lesson(&trace) };
            let (lesson, prompts) = run(trace, lesson, &answer(reworded)).await;
            assert_eq!((lesson.value.as_str(), lesson.tally.uses), (reworded, 400), "its evidence counts on");
            assert!(prompts.len() == 1 && !prompts[0].contains("tomorrow"), "{prompts:?}");
        }
    }
}
