//! Rewriting of composed lessons by a model.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;

use super::Settings;
use super::job::{Job, JobError, Ran};
use callwright_knowledge::experience::NoteTaker;
use callwright_store::{Memory, Revision, Store};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Label, LearningJob, Purpose, TokenKind};
use callwright_types::memory::{Author, Wording};
use callwright_types::{Cost, Lesson};

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
        let before = self.note_taker.cost();
        let asked = self.note_taker.word(&lesson).await;
        self.count(before, self.note_taker.cost());
        let reworded = reworded(lesson, asked.map_err(JobError::Model)?, Timestamp::now());
        Memory::put(&*self.store, &[reworded], seen).await?;
        Ok(())
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

    async fn batch(&self) -> Result<Ran, JobError> {
        let noted = self.store.job_cursor(Self::KIND.label()).await?;
        let after: Revision = noted.and_then(|noted| noted.parse().ok()).unwrap_or_default();
        let changes = Memory::<Lesson>::changed(&*self.store, after, self.settings.batch).await?;
        if changes.upto == after {
            return Ok(Ran::Idle);
        }
        let pace = Duration::from_secs(60) / self.settings.notes_per_minute.max(1);
        for lesson in changes.changed.into_iter().filter(is_due) {
            // A model request takes time: the lease must outlast one lesson, not a batch.
            if !self.store.take_job(Self::KIND.label(), self.settings.lease()).await? {
                return Ok(Ran::Elsewhere);
            }
            self.word(lesson, changes.upto).await?;
            sleep(pace).await;
        }
        self.store.note_job(Self::KIND.label(), &changes.upto.to_string()).await?;
        Ok(Ran::Learned)
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

/// Returns the lesson with the result of the model.
fn reworded(lesson: Lesson, taken: Option<Wording>, now: Timestamp) -> Lesson {
    let composed = Some(Wording { key: lesson.key.clone(), value: lesson.value.clone() });
    match taken {
        Some(Wording { key, value }) => {
            Lesson { key, value, author: Author::Model, composed, updated_at: now, ..lesson }
        }
        None => Lesson { composed, updated_at: now, ..lesson },
    }
}
