//! Background job: bounded batches, one process at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callwright_store::{Store, StoreError};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Label, LearningJob, LearningRun};

/// Background job.
pub trait Job: Send + Sync + 'static {
    /// Kind of the job: its name in metrics and in the store.
    const KIND: LearningJob;

    /// Processes one batch. Meanwhile no other process runs the job. A batch may be cancelled at any time: the next one
    /// begins at the stored progress and finds what was written since.
    fn batch(&self) -> impl Future<Output = Result<JobOutcome, JobError>> + Send;
}

/// Result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobOutcome {
    /// A batch was processed; there may be more.
    Learned,
    /// There was nothing to process.
    Idle,
    /// Another process runs the job.
    Elsewhere,
}

/// Error of a batch. Nothing is lost: the next run begins at the same point.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model that rewrites lessons does not answer: cause and remedy.
    #[error("the model that rewrites lessons: {0}")]
    Model(String),
}

/// Time without renewal after which another process takes over a job.
pub(super) const LEASE: Duration = Duration::from_secs(30);

/// Minimum time between two runs of a job. What arrives meanwhile is one batch.
pub const PAUSE: Duration = Duration::from_millis(250);

/// Runs a job unless another process runs it.
#[derive(Debug)]
pub struct Worker<J> {
    job: J,
    store: Arc<Store>,
    metrics: Arc<Metrics>,
}

impl<J: Job> Worker<J> {
    /// Creates a worker for this job.
    pub fn new(job: J, store: Arc<Store>, metrics: Arc<Metrics>) -> Self {
        Self { job, store, metrics }
    }

    /// Processes one batch.
    pub async fn run(&self) -> Result<JobOutcome, JobError> {
        let started = Instant::now();
        let ran = match self.store.take_job(J::KIND.label(), LEASE).await {
            Ok(true) => self.job.batch().await,
            Ok(false) => Ok(JobOutcome::Elsewhere),
            Err(error) => Err(error.into()),
        };
        let result = match &ran {
            Ok(JobOutcome::Learned) => LearningRun::Learned,
            Ok(JobOutcome::Idle) => LearningRun::Idle,
            Ok(JobOutcome::Elsewhere) => LearningRun::Elsewhere,
            Err(_) => LearningRun::Failed,
        };
        if result == LearningRun::Learned {
            self.metrics.learning_duration.observe(started.elapsed().as_secs_f64());
        }
        self.metrics.learning_runs.inc(J::KIND, result);
        ran
    }

    /// Releases the job, so that another process can continue at once.
    pub async fn leave(&self) {
        // If the store is unavailable, the lease expires by itself.
        let _ = self.store.leave_job(J::KIND.label()).await;
    }
}
