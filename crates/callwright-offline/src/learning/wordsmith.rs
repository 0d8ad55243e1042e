//! Composed lessons → lessons in a model's words.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::sleep;

use super::Settings;
use super::job::{Job, JobError, Ran};
use callwright_knowledge::experience::Student;
use callwright_store::{Jobs, Memory, Revision, Store};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Label, LearningJob, Purpose, TokenKind};
use callwright_types::memory::{Author, Wording};
use callwright_types::{Cost, Lesson};

/// Has a model word the lessons that were composed. A lesson is in use before, and stays as it is where the model finds nothing better; it is
/// asked about each once.
#[derive(Debug)]
pub struct Wordsmith {
    store: Arc<Store>,
    student: Student,
    settings: Settings,
    metrics: Arc<Metrics>,
}

impl Wordsmith {
    /// Has this model word the lessons of this store.
    pub fn new(store: Arc<Store>, student: Student, settings: Settings, metrics: Arc<Metrics>) -> Self {
        Self { store, student, settings, metrics }
    }

    /// Asks about one lesson; `seen` is the revision at which it stood so. What others changed since is left to a later look.
    async fn word(&self, lesson: Lesson, seen: Revision) -> Result<(), JobError> {
        let before = self.student.cost();
        let asked = self.student.word(&lesson).await;
        self.count(before, self.student.cost());
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

impl Job for Wordsmith {
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
            // A model takes its time: the lease is to outlast one lesson, not a batch.
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

/// Was a lesson composed, and no model asked about it yet? What is known of a client's own tools is no text that a model could reword.
fn is_due(lesson: &Lesson) -> bool {
    lesson.client.is_none()
        && lesson.author == Author::Composed
        && lesson.composed.is_none()
        && lesson.retired.is_none()
}

/// The lesson as it is after a model was asked.
fn reworded(lesson: Lesson, taken: Option<Wording>, now: Timestamp) -> Lesson {
    let composed = Some(Wording { key: lesson.key.clone(), value: lesson.value.clone() });
    match taken {
        Some(Wording { key, value }) => {
            Lesson { key, value, author: Author::Model, composed, updated_at: now, ..lesson }
        }
        None => Lesson { composed, updated_at: now, ..lesson },
    }
}
