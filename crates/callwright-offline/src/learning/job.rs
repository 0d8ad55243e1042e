//! A job beside the turns: bounded batches, one process at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Settings;
use callwright_store::{Jobs, Store, StoreError};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Label, LearningJob, LearningRun};

/// A job.
pub trait Job: Send + Sync + 'static {
    /// Which one: its name in metrics, and in the store.
    const KIND: LearningJob;

    /// Works on one batch. Meanwhile no other process is at the job. It may be broken off at any moment: the next one begins where it was noted
    /// last, and finds what was written since.
    fn batch(&self) -> impl Future<Output = Result<Ran, JobError>> + Send;
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

/// Why a batch was not finished; nothing is lost, and the next run begins where it did.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model that words lessons does not answer: why, and what mends it.
    #[error("the model that words lessons: {0}")]
    Model(String),
}

/// Does a job, where no other process does it.
#[derive(Debug)]
pub struct Worker<J> {
    job: J,
    store: Arc<Store>,
    lease: Duration,
    pause: Duration,
    metrics: Arc<Metrics>,
}

impl<J: Job> Worker<J> {
    /// A worker at this job.
    pub fn new(job: J, store: Arc<Store>, settings: &Settings, metrics: Arc<Metrics>) -> Self {
        let pause = Duration::from_millis(settings.pause_milliseconds.max(1));
        Self { job, store, lease: settings.lease(), pause, metrics }
    }

    /// Least time between two runs.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Works on one batch.
    ///
    /// # Errors
    /// [`JobError`].
    pub async fn run(&self) -> Result<Ran, JobError> {
        let started = Instant::now();
        let ran = match self.store.take_job(J::KIND.label(), self.lease).await {
            Ok(true) => self.job.batch().await,
            Ok(false) => Ok(Ran::Elsewhere),
            Err(error) => Err(error.into()),
        };
        let result = match &ran {
            Ok(Ran::Learned) => LearningRun::Learned,
            Ok(Ran::Idle) => LearningRun::Idle,
            Ok(Ran::Elsewhere) => LearningRun::Elsewhere,
            Err(_) => LearningRun::Failed,
        };
        if result == LearningRun::Learned {
            self.metrics.learning_duration.observe(started.elapsed().as_secs_f64());
        }
        self.metrics.learning_runs.inc(J::KIND, result);
        ran
    }

    /// Lets another process go on at once.
    pub async fn leave(&self) {
        // Where the store does not hear of it, the time of the lease ends it.
        let _ = self.store.leave_job(J::KIND.label()).await;
    }
}
