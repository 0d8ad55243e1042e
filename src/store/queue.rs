//! The bounded queue between the turns and the store. A turn never waits for it; what does not fit is dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::writer::Writer;
use super::{Settings, TraceRow, Traces};
use crate::domain::Trace;

/// The queue of finished traces, and the task that writes them.
pub struct TraceQueue {
    /// `None` where the store is switched off: traces go nowhere, and that is no loss.
    sender: Option<mpsc::Sender<TraceRow>>,
    backlog: Arc<Backlog>,
    max_bytes: usize,
    closing: CancellationToken,
    writer: Mutex<Option<JoinHandle<()>>>,
}

/// What waits to be written, and what was lost.
pub(super) struct Backlog {
    traces: AtomicUsize,
    bytes: AtomicUsize,
    on_dropped: Box<dyn Fn(u64) + Send + Sync>,
}

impl Backlog {
    /// These rows wait no longer.
    pub(super) fn settle(&self, rows: &[TraceRow]) {
        self.traces.fetch_sub(rows.len(), Ordering::Relaxed);
        self.bytes.fetch_sub(rows.iter().map(TraceRow::weight).sum(), Ordering::Relaxed);
    }

    /// Counts lost traces.
    pub(super) fn dropped(&self, traces: usize) {
        if traces > 0 {
            (self.on_dropped)(traces as u64);
        }
    }
}

impl TraceQueue {
    /// Starts the writer. `on_dropped` is told how many traces were lost, each time some are. Needs a Tokio runtime.
    pub fn start(
        store: Arc<dyn Traces>,
        settings: &Settings,
        on_dropped: impl Fn(u64) + Send + Sync + 'static,
    ) -> Self {
        let backlog = Arc::new(Backlog {
            traces: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            on_dropped: Box::new(on_dropped),
        });
        let closing = CancellationToken::new();
        let (sender, receiver) = mpsc::channel(settings.queue_traces.max(1));
        let is_off = settings.url.trim().is_empty();
        let writer = Writer::new(store, settings, receiver, Arc::clone(&backlog), closing.clone());
        let writer = (!is_off).then(|| tokio::spawn(writer.run()));
        Self {
            sender: (!is_off).then_some(sender),
            backlog,
            max_bytes: settings.queue_bytes,
            closing,
            writer: Mutex::new(writer),
        }
    }

    /// Hands a trace over. Never waits: where the queue is full, by number or by bytes, the trace is dropped and counted.
    pub fn push(&self, trace: Trace) {
        let Some(sender) = &self.sender else { return };
        let Ok(row) = TraceRow::new(trace) else { return self.backlog.dropped(1) };
        let weight = row.weight();
        self.backlog.traces.fetch_add(1, Ordering::Relaxed);
        let bytes = self.backlog.bytes.fetch_add(weight, Ordering::Relaxed) + weight;
        if bytes > self.max_bytes || sender.try_send(row).is_err() {
            self.backlog.traces.fetch_sub(1, Ordering::Relaxed);
            self.backlog.bytes.fetch_sub(weight, Ordering::Relaxed);
            self.backlog.dropped(1);
        }
    }

    /// Traces that wait to be written.
    pub fn waiting(&self) -> usize {
        self.backlog.traces.load(Ordering::Relaxed)
    }

    /// Takes no more traces and writes those that wait, for at most `within`. What is left then is dropped and counted;
    /// returns how many that are. A second call returns 0.
    pub async fn drain(&self, within: Duration) -> usize {
        self.closing.cancel();
        let Some(mut writer) = self.writer.lock().await.take() else { return 0 };
        if tokio::time::timeout(within, &mut writer).await.is_ok() {
            return 0;
        }
        writer.abort();
        let lost = self.waiting();
        self.backlog.dropped(lost);
        lost
    }
}

impl std::fmt::Debug for TraceQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceQueue").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
