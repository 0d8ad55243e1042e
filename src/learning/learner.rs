//! What was verified → lessons and procedures.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::batch::Batch;
use super::job::{Job, JobError, Ran};
use super::progress::Progress;
use super::{Keeper, Known, Settings};
use crate::domain::memory::ToolSample;
use crate::domain::{Lesson, Procedure, Trace};
use crate::store::{Feedback, FeedbackRow, Jobs, Memory, Store, StoreError, Traces};
use crate::telemetry::Metrics;
use crate::telemetry::labels::{Label, LearningJob};

/// Times that a batch is decided anew because somebody else changed what it changes.
const TRIES: u32 = 3;

/// Learns from the traces and verdicts that the store has.
#[derive(Debug)]
pub struct Learner {
    store: Arc<Store>,
    keeper: Arc<Keeper>,
    settings: Settings,
    metrics: Arc<Metrics>,
}

impl Learner {
    /// A learner of this store, by what `keeper` knows of it.
    pub fn new(store: Arc<Store>, keeper: Arc<Keeper>, settings: Settings, metrics: Arc<Metrics>) -> Self {
        Self { store, keeper, settings, metrics }
    }
}

impl Job for Learner {
    const KIND: LearningJob = LearningJob::Learn;

    /// What is written before it is noted how far it came is written once all the same: each event counts once, whoever finds it again.
    async fn batch(&self) -> Result<Ran, JobError> {
        let noted = self.store.job_cursor(Self::KIND.label()).await?;
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
                self.store.note_job(Self::KIND.label(), &progress).await?;
                return Ok(Ran::Learned);
            }
        }
        Err(StoreError::Unavailable("what is learned changes faster than it can be written".to_owned()).into())
    }
}

impl Learner {
    /// Nobody else changes samples: each rests on the verdicts on one turn.
    async fn write_samples(&self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let mut samples: BTreeMap<&str, Option<ToolSample>> = BTreeMap::new();
        for expectation in &batch.expectations {
            let standing = match samples.remove(expectation.id.as_str()) {
                Some(standing) => standing,
                None => self.store.tool_samples().find(&expectation.id).await?,
            };
            samples.insert(&expectation.id, expectation.over(standing));
        }
        let made: Vec<ToolSample> = samples.values().flatten().cloned().collect();
        if !made.is_empty() {
            self.store.tool_samples().restore(&made).await?;
        }
        let none = samples.iter().filter(|(_, sample)| sample.is_none());
        let none: Vec<String> = none.map(|(id, _)| (*id).to_owned()).collect();
        if !none.is_empty() {
            self.store.tool_samples().remove(&none).await?;
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
        let procedures: Vec<Procedure> = batch.workflows.changed().cloned().collect();
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
        batch.learned().for_each(|(kind, evidence)| self.metrics.learned.inc(kind, evidence));
        batch.retired().for_each(|kind| self.metrics.retired.inc(kind));
        Ok(true)
    }
}
