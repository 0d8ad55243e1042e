//! Learns lessons and procedures from verified outcomes.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::batch::LearningBatch;
use super::job::{Job, JobError, JobOutcome};
use super::progress::LearningProgress;
use super::{CachedMemory, MemoryCache, Settings};
use callwright_common::limits::ATTEMPTS;
use callwright_store::{FeedbackRow, Memory, Revision, Store, StoreError, Traces};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Label, LearningJob};
use callwright_types::memory::ToolSample;
use callwright_types::{Lesson, Procedure, Trace};

/// Learns from the traces and feedback in the store.
#[derive(Debug)]
pub struct Learner {
    store: Arc<Store>,
    memory_cache: Arc<MemoryCache>,
    settings: Settings,
    metrics: Arc<Metrics>,
}

/// Feedback to process.
struct FeedbackVerdicts {
    verdicts: Vec<(FeedbackRow, Trace)>,
    /// Last processed revision. Feedback before it that is processed again still counts once.
    upto: Revision,
}

impl Learner {
    /// Creates a learner for this store, with the memory that `memory_cache` caches.
    pub fn new(store: Arc<Store>, memory_cache: Arc<MemoryCache>, settings: Settings, metrics: Arc<Metrics>) -> Self {
        Self { store, memory_cache, settings, metrics }
    }
}

impl Job for Learner {
    const KIND: LearningJob = LearningJob::Learn;

    /// Memory written before its progress is stored is written only once: each event counts once, whichever process
    /// finds it again.
    async fn batch(&self) -> Result<JobOutcome, JobError> {
        let noted = self.store.job_cursor(Self::KIND.label()).await?;
        let before: LearningProgress =
            noted.as_deref().and_then(|noted| serde_json::from_str(noted).ok()).unwrap_or_default();
        // The order matters: a turn with feedback here is among the traces read now or before.
        let mut judged = self.judged(before.feedback).await?;
        let learnable = self.store.learnable(before.traces, self.settings.batch).await?;
        if learnable.traces.len() >= self.settings.batch as usize {
            // The turns of this feedback may be among the next traces.
            judged = FeedbackVerdicts { verdicts: Vec::new(), upto: before.feedback };
        }
        let is_further = learnable.upto != before.traces || judged.upto != before.feedback;
        if !is_further && judged.verdicts.is_empty() {
            return Ok(JobOutcome::Idle);
        }
        for _ in 0..ATTEMPTS {
            let memory = self.memory_cache.refresh().await?;
            let mut progress = before.clone();
            let now = Timestamp::now();
            let mut batch = LearningBatch::new(&memory, &self.settings, now);
            for (revision, trace) in &learnable.traces {
                batch.turn(&mut progress, *revision, trace);
            }
            for (row, trace) in &judged.verdicts {
                batch.verdict(&mut progress, row, trace);
            }
            progress.expire(now, &self.settings);
            (progress.traces, progress.feedback) = (learnable.upto, judged.upto);
            if self.write(&batch, &memory).await? {
                let progress =
                    serde_json::to_string(&progress).map_err(|error| StoreError::Refused(error.to_string()))?;
                // A process that has taken over meanwhile finds the written memory and counts it once.
                self.store.note_job(Self::KIND.label(), &progress).await?;
                return Ok(if is_further { JobOutcome::Learned } else { JobOutcome::Idle });
            }
        }
        Err(StoreError::Unavailable("the learned memory changes faster than it can be written".to_owned()).into())
    }
}

impl Learner {
    /// Writes samples without conflict detection: each sample rests on the feedback on one turn and has no other
    /// writer.
    async fn write_samples(&self, batch: &LearningBatch<'_>) -> Result<(), StoreError> {
        let mut samples: BTreeMap<&str, Option<ToolSample>> = BTreeMap::new();
        for expectation in &batch.expectations {
            let existing = match samples.remove(expectation.id.as_str()) {
                Some(existing) => existing,
                None => self.store.tool_samples().find(&expectation.id).await?,
            };
            samples.insert(&expectation.id, expectation.over(existing));
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

    /// Returns the feedback after a revision with the traces of its turns. Feedback may arrive before the trace is
    /// stored, so that it is retried for a while. After that, the trace counts as missing and the feedback is ignored.
    async fn judged(&self, after: Revision) -> Result<FeedbackVerdicts, StoreError> {
        let given = self.store.feedback_since(after, self.settings.batch).await?;
        let limit = SignedDuration::from_secs(i64::from(self.settings.verdict_seconds));
        let mut judged = FeedbackVerdicts { verdicts: Vec::new(), upto: given.upto };
        for (revision, row) in given.rows {
            match self.store.get(&row.trace).await? {
                Some(trace) => judged.verdicts.push((row, trace)),
                None if Timestamp::now().duration_since(row.at) < limit => {
                    judged.upto = judged.upto.min(revision - 1);
                }
                None => {}
            }
        }
        Ok(judged)
    }

    /// Writes the changes of a batch. Returns `false` after a conflict with a concurrent change.
    async fn write(&self, batch: &LearningBatch<'_>, memory: &CachedMemory) -> Result<bool, StoreError> {
        let lessons: Vec<Lesson> = batch.lessons.values().cloned().collect();
        if !lessons.is_empty() && !Memory::put(&*self.store, &lessons, memory.lessons).await?.outdated.is_empty() {
            return Ok(false);
        }
        let procedures: Vec<Procedure> = batch.workflows.changed().cloned().collect();
        if !procedures.is_empty()
            && !Memory::put(&*self.store, &procedures, memory.procedures).await?.outdated.is_empty()
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

#[cfg(test)]
mod tests {
    use super::super::job::LEASE;
    use super::*;
    use crate::{experience, procedures};
    use callwright_store::{self as store, FeedbackVerdict, TraceRow};
    use callwright_types::memory::{Backing, Polarity};
    use callwright_types::trace::sample;
    use callwright_types::{EvidenceKind, LessonDraft, MemoryNote, Scope};

    /// Turn of the client `a` whose draft is learned if the client confirms the turn.
    fn turn() -> Trace {
        let mut memory = MemoryNote::of(Scope::of_key("a"));
        memory.drafts.push(LessonDraft {
            kind: EvidenceKind::Mended,
            toolset: Some("hotel".to_owned()),
            tools: vec!["book".to_owned()],
            polarity: Polarity::Negative,
            key: "book, day".to_owned(),
            value: "`book` cannot be called without `day`.".to_owned(),
            client: None,
            backing: Backing::Verdict,
        });
        Trace { id: "t1".to_owned(), tenant: "a".to_owned(), memory: Some(memory), ..sample() }
    }

    async fn learner(verdict_seconds: u32) -> (Learner, Arc<Store>) {
        let settings = store::Settings { url: "sqlite::memory:".into(), ..Default::default() };
        let store = Arc::new(Store::open(&settings, std::path::Path::new("")).await);
        let of = (experience::Settings::default(), procedures::Settings::default());
        let memory_cache = Arc::new(MemoryCache::new(Arc::clone(&store), None, of.0, of.1));
        let settings = Settings { verdict_seconds, ..Settings::default() };
        (Learner::new(Arc::clone(&store), memory_cache, settings, Arc::new(Metrics::new())), store)
    }

    async fn give(store: &Store, verdict: FeedbackVerdict) {
        let (expected, comment) = Default::default();
        let (trace, source) = ("t1".to_owned(), Scope::of_key("a").as_str().to_owned());
        store
            .give_feedback(&FeedbackRow { trace, source, verdict, expected, comment, at: Timestamp::now() })
            .await
            .unwrap();
    }

    async fn store_turn(store: &Store) {
        store.append(&[TraceRow::new(&turn()).unwrap()]).await.unwrap();
    }

    /// Processes one batch as a worker does.
    async fn work(learner: &Learner) -> JobOutcome {
        assert!(learner.store.take_job(Learner::KIND.label(), LEASE).await.unwrap());
        learner.batch().await.unwrap()
    }

    async fn lessons(learner: &Learner) -> usize {
        learner.memory_cache.refresh().await.unwrap().lesson_store.len()
    }

    #[tokio::test]
    async fn a_verdict_before_its_trace_counts_once_that_is_stored() {
        let (learner, store) = learner(60).await;
        give(&store, FeedbackVerdict::Right).await;
        assert_eq!(work(&learner).await, JobOutcome::Idle, "not a reason to poll repeatedly");
        store_turn(&store).await;
        assert_eq!(work(&learner).await, JobOutcome::Learned);
        assert_eq!(lessons(&learner).await, 1);
        assert_eq!(work(&learner).await, JobOutcome::Idle);
    }

    #[tokio::test]
    async fn a_verdict_on_a_missing_trace_is_ignored() {
        let (learner, store) = learner(0).await;
        give(&store, FeedbackVerdict::Right).await;
        assert_eq!(work(&learner).await, JobOutcome::Learned);
        store_turn(&store).await;
        work(&learner).await;
        assert_eq!(lessons(&learner).await, 0);
    }
}
