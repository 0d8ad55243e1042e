//! The loop that learns, of which one replica at a time runs one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::batch::Batch;
use super::progress::Progress;
use super::{Keeper, Known, Settings};
use crate::domain::memory::ToolSample;
use crate::domain::{Lesson, Procedure, Trace};
use crate::store::{Feedback, FeedbackRow, Jobs, Memory, Store, StoreError, Traces};
use crate::telemetry::Metrics;
use crate::telemetry::labels::LearningRun;

/// What the job is called in the store.
const NAME: &str = "learn";

/// Times that a batch is decided anew because somebody else changed what it changes.
const TRIES: u32 = 3;

/// Learns from what the store has.
#[derive(Debug)]
pub struct Learner {
    store: Arc<Store>,
    keeper: Arc<Keeper>,
    settings: Settings,
    metrics: Arc<Metrics>,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// There was something; there may be more.
    Learned,
    /// There was nothing.
    Idle,
    /// Another process is at it.
    Elsewhere,
}

impl Learner {
    /// A learner of this store, by what `keeper` knows of it.
    pub fn new(store: Arc<Store>, keeper: Arc<Keeper>, settings: Settings, metrics: Arc<Metrics>) -> Self {
        Self { store, keeper, settings, metrics }
    }

    /// Least time between two runs.
    pub fn pause(&self) -> Duration {
        Duration::from_millis(self.settings.pause_milliseconds.max(1))
    }

    /// Learns from one batch, where no other process learns. What is written before it is noted how far it came is written once all the
    /// same: each event counts once, whoever finds it again.
    ///
    /// # Errors
    /// [`StoreError`]: nothing is lost, and the next run begins where this one did.
    pub async fn run(&self) -> Result<Ran, StoreError> {
        let started = Instant::now();
        let ran = self.turn_by_turn().await;
        let result = match &ran {
            Ok(Ran::Learned) => LearningRun::Learned,
            Ok(Ran::Idle) => LearningRun::Idle,
            Ok(Ran::Elsewhere) => LearningRun::Elsewhere,
            Err(_) => LearningRun::Failed,
        };
        if ran == Ok(Ran::Learned) {
            self.metrics.learning_duration.observe(started.elapsed().as_secs_f64());
        }
        self.metrics.learning_runs.inc(result);
        ran
    }

    /// Lets another process go on at once.
    pub async fn leave(&self) {
        // Where the store does not hear of it, the time of the lease ends it.
        let _ = self.store.leave_job(NAME).await;
    }

    async fn turn_by_turn(&self) -> Result<Ran, StoreError> {
        let lease = Duration::from_secs(self.settings.lease_seconds.max(1));
        if !self.store.take_job(NAME, lease).await? {
            return Ok(Ran::Elsewhere);
        }
        let noted = self.store.job_cursor(NAME).await?;
        let before: Progress = noted.as_deref().and_then(|noted| serde_json::from_str(noted).ok()).unwrap_or_default();
        let taught = self.store.taught(before.traces, self.settings.batch).await?;
        let given = self.store.given(before.feedback, self.settings.batch).await?;
        if taught.upto == before.traces && given.upto == before.feedback {
            return Ok(Ran::Idle);
        }
        let verdicts = self.judged(given.rows).await?;
        for _ in 0..TRIES {
            let known = self.keeper.refresh().await?;
            let mut progress = before.clone();
            let now = Timestamp::now();
            let mut batch = Batch::new(&known, &self.settings, now);
            for (revision, trace) in &taught.traces {
                batch.turn(&mut progress, *revision, trace);
            }
            for (row, trace) in &verdicts {
                batch.verdict(&mut progress, row, trace);
            }
            progress.expire(now, &self.settings);
            (progress.traces, progress.feedback) = (taught.upto, given.upto);
            if self.write(&batch, &known).await? {
                let progress =
                    serde_json::to_string(&progress).map_err(|error| StoreError::Refused(error.to_string()))?;
                // Whoever has taken over meanwhile finds what was written, and counts it once.
                self.store.note_job(NAME, &progress).await?;
                return Ok(Ran::Learned);
            }
        }
        Err(StoreError::Unavailable("what is learned changes faster than it can be written".to_owned()))
    }

    /// Nobody else changes samples: each rests on the verdicts on one turn.
    async fn write_samples(&self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let made: Vec<ToolSample> = batch.samples.values().flatten().cloned().collect();
        if !made.is_empty() {
            Memory::restore(&*self.store, &made).await?;
        }
        let none = batch.samples.iter().filter(|(_, sample)| sample.is_none());
        let none: Vec<String> = none.map(|(id, _)| id.clone()).collect();
        if !none.is_empty() {
            Memory::<ToolSample>::remove(&*self.store, &none).await?;
        }
        Ok(())
    }

    /// The verdicts with the turns that they are about; those on turns that are not stored (any more) teach nothing.
    async fn judged(&self, rows: Vec<FeedbackRow>) -> Result<Vec<(FeedbackRow, Trace)>, StoreError> {
        let mut judged = Vec::with_capacity(rows.len());
        for row in rows {
            if let Some(trace) = self.store.get(&row.trace).await? {
                judged.push((row, trace));
            }
        }
        Ok(judged)
    }

    /// Writes what a batch came to. `false`: something of it was changed by somebody else since.
    async fn write(&self, batch: &Batch<'_>, known: &Known) -> Result<bool, StoreError> {
        let lessons: Vec<Lesson> = batch.lessons.values().cloned().collect();
        if !lessons.is_empty() && !Memory::put(&*self.store, &lessons, known.lessons).await?.outdated.is_empty() {
            return Ok(false);
        }
        let procedures: Vec<Procedure> = batch.procedures.values().cloned().collect();
        if !procedures.is_empty()
            && !Memory::put(&*self.store, &procedures, known.procedures).await?.outdated.is_empty()
        {
            return Ok(false);
        }
        self.write_samples(batch).await?;
        let surplus = batch.surplus();
        if !surplus.is_empty() {
            Memory::<Lesson>::remove(&*self.store, &surplus).await?;
        }
        batch.learned.iter().for_each(|(kind, evidence)| self.metrics.learned.inc(*kind, *evidence));
        batch.retired.iter().for_each(|kind| self.metrics.retired.inc(*kind));
        Ok(true)
    }
}
