//! The task behind the queue: batches, patience while the store is down, retention.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::queue::Backlog;
use super::{Ages, Settings, StoreError, TraceRow, Traces};

/// Most rows of each kind that one sweep removes: a sweep holds the write lock, and traces and intents wait behind it.
const SWEEP_ROWS: u32 = 500;

/// Pause after a sweep that found nothing more to remove.
const SWEEP_PAUSE: Duration = Duration::from_secs(60);

/// Pause after a sweep that left some: outruns any rate of new traces, and leaves the lock free most of the time.
const SWEEP_AGAIN: Duration = Duration::from_millis(50);

/// Pause between two attempts while the queue is drained: the process is about to end.
const RETRY_AT_THE_END: Duration = Duration::from_millis(100);

/// Hours of a day, as retention counts them.
const DAY_HOURS: i64 = 24;

/// How long rows are kept; `None`: for ever.
#[derive(Debug, Clone, Copy)]
struct Retention {
    usual: Option<SignedDuration>,
    unknown: Option<SignedDuration>,
}

impl Retention {
    fn of(settings: &Settings) -> Self {
        let age = |days: u32| (days > 0).then(|| SignedDuration::from_hours(i64::from(days) * DAY_HOURS));
        Self { usual: age(settings.retention_days), unknown: age(settings.unknown_retention_days) }
    }

    fn ends(self) -> bool {
        self.usual.is_some() || self.unknown.is_some()
    }

    fn ages(self, now: Timestamp) -> Ages {
        let before = |age: Option<SignedDuration>| age.and_then(|age| now.checked_sub(age).ok());
        Ages { before: before(self.usual), unknown_before: before(self.unknown) }
    }
}

/// Writes what comes through the queue.
pub(super) struct Writer {
    store: Arc<dyn Traces>,
    receiver: mpsc::Receiver<TraceRow>,
    backlog: Arc<Backlog>,
    closing: CancellationToken,
    batch_traces: usize,
    linger: Duration,
    retry: Duration,
    retention: Retention,
    next_sweep: Instant,
}

impl Writer {
    /// A writer that has not begun.
    pub(super) fn new(
        store: Arc<dyn Traces>,
        settings: &Settings,
        receiver: mpsc::Receiver<TraceRow>,
        backlog: Arc<Backlog>,
        closing: CancellationToken,
    ) -> Self {
        Self {
            store,
            receiver,
            backlog,
            closing,
            batch_traces: settings.batch_traces.max(1),
            linger: Duration::from_millis(settings.batch_milliseconds),
            retry: Duration::from_secs(settings.retry_seconds.max(1)),
            retention: Retention::of(settings),
            next_sweep: Instant::now(),
        }
    }

    /// Writes until the queue is closed and empty.
    pub(super) async fn run(mut self) {
        let mut batch = Vec::with_capacity(self.batch_traces);
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled(), if !self.receiver.is_closed() => self.receiver.close(),
                received = self.receiver.recv_many(&mut batch, self.batch_traces) => {
                    if received == 0 {
                        return;
                    }
                    self.fill(&mut batch).await;
                    self.write(&batch).await;
                    batch.clear();
                }
                () = tokio::time::sleep_until(self.next_sweep), if self.retention.ends() => self.sweep().await,
            }
        }
    }

    /// Waits a little for others to share the batch.
    async fn fill(&mut self, batch: &mut Vec<TraceRow>) {
        let until = Instant::now() + self.linger;
        while batch.len() < self.batch_traces && !self.receiver.is_closed() {
            let room = self.batch_traces - batch.len();
            tokio::select! {
                biased;
                () = self.closing.cancelled() => self.receiver.close(),
                received = self.receiver.recv_many(batch, room) => if received == 0 { return },
                () = tokio::time::sleep_until(until) => return,
            }
        }
    }

    /// Writes a batch, however long the store is down: the queue behind it is bounded.
    async fn write(&self, batch: &[TraceRow]) {
        loop {
            match self.store.append(batch).await {
                Ok(()) => return self.backlog.settle(batch),
                Err(error) if error.is_passing() => self.pause().await,
                Err(error) => return self.write_singly(batch, &error).await,
            }
        }
    }

    /// One row of the batch is refused: the others shall not be lost with it.
    async fn write_singly(&self, batch: &[TraceRow], error: &StoreError) {
        if batch.len() == 1 {
            tracing::warn!(%error, "a trace is lost");
            self.backlog.dropped(1);
            return self.backlog.settle(batch);
        }
        for row in batch.chunks(1) {
            Box::pin(self.write(row)).await;
        }
    }

    async fn pause(&self) {
        if self.closing.is_cancelled() {
            return tokio::time::sleep(RETRY_AT_THE_END.min(self.retry)).await;
        }
        tokio::select! {
            () = self.closing.cancelled() => {}
            () = tokio::time::sleep(self.retry) => {}
        }
    }

    async fn sweep(&mut self) {
        let left_some = match self.store.expire(self.retention.ages(Timestamp::now()), SWEEP_ROWS).await {
            Ok(removed) => removed >= u64::from(SWEEP_ROWS),
            Err(_) => false,
        };
        self.next_sweep = Instant::now() + if left_some { SWEEP_AGAIN } else { SWEEP_PAUSE };
    }
}
