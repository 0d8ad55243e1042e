//! Task behind the queue: batches, behaviour during a store outage, retention.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::disk::Disk;
use super::settings::{HOURS_PER_DAY, SWEEP_ROWS};
use super::{Ages, Settings, StoreError, TraceRow, Traces};
use callwright_common::tasks::supervised;

/// Pause after a sweep that found nothing more to remove.
const SWEEP_PAUSE: Duration = Duration::from_secs(60);

/// Pause after an incomplete sweep: faster than any rate of new traces, and keeps the lock free most of the time.
const SWEEP_AGAIN: Duration = Duration::from_millis(50);

/// Time that a write of traces may take before they go to disk. A batch takes some milliseconds.
const SPILL_TIMEOUT: Duration = Duration::from_millis(500);

/// Interval at which rows of an incomplete batch are collected: short enough for full batches under any load.
const FILL_INTERVAL: Duration = Duration::from_millis(5);

/// Retry interval while the queue is drained: the process is about to end.
const RETRY_AT_THE_END: Duration = Duration::from_millis(100);

/// Retention of rows; `None`: for ever.
#[derive(Debug, Clone, Copy)]
struct Retention {
    usual: Option<SignedDuration>,
    unknown: Option<SignedDuration>,
}

impl Retention {
    fn new(settings: &Settings) -> Self {
        let [usual, unknown] = [settings.retention_days, settings.unknown_retention_days]
            .map(|days| (days > 0).then(|| SignedDuration::from_hours(i64::from(days) * HOURS_PER_DAY)));
        Self { usual, unknown }
    }

    fn ends(self) -> bool {
        self.usual.is_some() || self.unknown.is_some()
    }

    fn ages(self, now: Timestamp) -> Ages {
        let [before, unknown_before] =
            [self.usual, self.unknown].map(|age| age.and_then(|age| now.checked_sub(age).ok()));
        Ages { before, unknown_before }
    }
}

/// Counters of waiting and dropped traces.
pub(super) struct Backlog {
    pub(super) traces: AtomicUsize,
    pub(super) bytes: AtomicUsize,
    pub(super) on_disk: AtomicU64,
    on_dropped: Box<dyn Fn(u64) + Send + Sync>,
}

impl Backlog {
    pub(super) fn new(on_dropped: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self {
            traces: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            on_disk: AtomicU64::new(0),
            on_dropped: Box::new(on_dropped),
        }
    }

    /// Subtracts rows that no longer wait.
    fn settle(&self, rows: &[TraceRow]) {
        self.traces.fetch_sub(rows.len(), Ordering::Relaxed);
        self.bytes.fetch_sub(rows.iter().map(TraceRow::weight).sum(), Ordering::Relaxed);
    }

    /// Sets the size of the traces on disk, in bytes.
    fn on_disk(&self, bytes: u64) {
        self.on_disk.store(bytes, Ordering::Relaxed);
    }

    /// Counts dropped traces.
    pub(super) fn dropped(&self, traces: usize) {
        if traces > 0 {
            (self.on_dropped)(traces as u64);
        }
    }
}

/// Rows that no longer wait in the queue. If their writing panics, they count as dropped.
struct RowsInHand {
    rows: Vec<TraceRow>,
    is_kept: bool,
    backlog: Arc<Backlog>,
}

impl Drop for RowsInHand {
    fn drop(&mut self) {
        self.backlog.settle(&self.rows);
        if !self.is_kept {
            self.backlog.dropped(self.rows.len());
        }
    }
}

/// Writer of queued traces: to the store, or to disk during a store outage.
pub(super) struct TraceWriter {
    store: Arc<dyn Traces>,
    receiver: mpsc::Receiver<TraceRow>,
    backlog: Arc<Backlog>,
    closing: CancellationToken,
    disk: Disk,
    batch_traces: usize,
    linger: Duration,
    /// Timeout of a write, after which its traces go to disk; unlimited without a disk buffer.
    timeout: Duration,
    retry: Duration,
    next_try: Instant,
    retention: Retention,
    next_sweep: Instant,
}

enum TraceWriteResult {
    /// The rows are stored, or dropped for good.
    Settled,
    /// The store is unavailable.
    Not,
}

impl TraceWriter {
    /// Creates a writer that has not begun.
    pub(super) fn new(
        store: Arc<dyn Traces>,
        settings: &Settings,
        base_dir: &Path,
        receiver: mpsc::Receiver<TraceRow>,
        backlog: Arc<Backlog>,
        closing: CancellationToken,
    ) -> Self {
        let disk = Disk::new(settings, base_dir);
        Self {
            store,
            receiver,
            backlog,
            closing,
            timeout: if disk.is_on() { SPILL_TIMEOUT } else { Duration::MAX },
            disk,
            batch_traces: settings.batch_traces.max(1),
            linger: Duration::from_millis(settings.batch_milliseconds),
            retry: Duration::from_secs(settings.retry_seconds.max(1)),
            next_try: Instant::now(),
            retention: Retention::new(settings),
            next_sweep: Instant::now(),
        }
    }

    /// Writes until the queue is closed and empty, also after a panic.
    pub(super) async fn run(mut self) {
        self.disk.open().await;
        self.backlog.on_disk(self.disk.bytes());
        supervised("trace_writer", self, async |writer: &mut Self| writer.write_queue().await).await;
    }

    async fn write_queue(&mut self) {
        let mut batch = Vec::new();
        loop {
            // Between two batches, so that traces on disk make progress under load.
            if self.disk.holds_some() && self.next_try <= Instant::now() && !self.closing.is_cancelled() {
                self.write_back().await;
            }
            tokio::select! {
                biased;
                () = self.closing.cancelled(), if !self.receiver.is_closed() => self.receiver.close(),
                received = self.receiver.recv_many(&mut batch, self.batch_traces) => {
                    if received == 0 {
                        return;
                    }
                    self.fill(&mut batch).await;
                    self.keep(std::mem::take(&mut batch)).await;
                }
                () = tokio::time::sleep_until(self.next_try), if self.disk.holds_some() => {}
                () = tokio::time::sleep_until(self.next_sweep), if self.retention.ends() => self.sweep().await,
            }
        }
    }

    /// Waits briefly for more rows of the batch. It looks at the queue at intervals, because each row would wake a task
    /// that waits at the queue: a system call for the turn that adds the row, and a switch of threads.
    async fn fill(&mut self, batch: &mut Vec<TraceRow>) {
        let until = Instant::now() + self.linger;
        loop {
            while batch.len() < self.batch_traces
                && let Ok(row) = self.receiver.try_recv()
            {
                batch.push(row);
            }
            let now = Instant::now();
            if batch.len() >= self.batch_traces || now >= until || self.receiver.is_closed() {
                return;
            }
            tokio::select! {
                biased;
                () = self.closing.cancelled() => self.receiver.close(),
                () = tokio::time::sleep_until(until.min(now + FILL_INTERVAL)) => {}
            }
        }
    }

    /// Stores a batch, or appends it to the traces on disk. If both fail, it retries without limit: the queue before it
    /// is bounded.
    async fn keep(&mut self, batch: Vec<TraceRow>) {
        let mut batch = RowsInHand { rows: batch, is_kept: false, backlog: Arc::clone(&self.backlog) };
        loop {
            if !self.disk.holds_some() {
                if let TraceWriteResult::Settled = self.write(&batch.rows).await {
                    break;
                }
                self.next_try = Instant::now() + self.retry;
            }
            if self.disk.push(&batch.rows).await {
                break;
            }
            self.pause().await;
            if self.disk.holds_some() {
                self.write_back().await;
            }
        }
        batch.is_kept = true;
        drop(batch);
        self.backlog.on_disk(self.disk.bytes());
    }

    async fn write(&self, rows: &[TraceRow]) -> TraceWriteResult {
        let append = tokio::time::timeout(self.timeout, self.store.append(rows)).await;
        match append {
            Ok(Ok(())) => TraceWriteResult::Settled,
            Ok(Err(error)) if !error.is_passing() => self.write_singly(rows, &error).await,
            // Rows that were stored despite the timeout are skipped by the next write.
            Ok(Err(_)) | Err(_) => TraceWriteResult::Not,
        }
    }

    /// Writes the rows one by one after the store refused one of them, so that the others are kept.
    async fn write_singly(&self, rows: &[TraceRow], error: &StoreError) -> TraceWriteResult {
        if rows.len() == 1 {
            tracing::warn!(%error, "the store refused a trace; it is dropped");
            self.backlog.dropped(1);
            return TraceWriteResult::Settled;
        }
        for row in rows.chunks(1) {
            if let TraceWriteResult::Not = Box::pin(self.write(row)).await {
                return TraceWriteResult::Not;
            }
        }
        TraceWriteResult::Settled
    }

    /// Stores the oldest traces on disk.
    async fn write_back(&mut self) {
        let Some(chunk) = self.disk.oldest(self.batch_traces).await else {
            self.next_try = Instant::now() + self.retry;
            return;
        };
        if let TraceWriteResult::Not = self.write(&chunk.rows).await {
            self.next_try = Instant::now() + self.retry;
            return;
        }
        self.backlog.dropped(chunk.lost);
        self.disk.settle().await;
        self.backlog.on_disk(self.disk.bytes());
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
