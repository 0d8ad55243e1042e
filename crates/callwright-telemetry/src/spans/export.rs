//! The bounded queue of spans, and the task that sends them. Turns never wait for it.

use callwright_common::limits::ATTEMPTS;
use callwright_common::tasks::supervised;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::endpoint::{ExportRefusal, OtlpCollector};
use crate::labels::SpanEnd;
use crate::{Metrics, Settings};

/// Delay before the second attempt; doubled for the third.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Maximum delay that a collector may request; the queue fills up in the meantime.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Queues spans of turns and sends them.
#[derive(Debug)]
pub(super) struct Exporter {
    queue: mpsc::Sender<Span>,
    closing: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
}

impl Exporter {
    /// Starts the task. Requires a Tokio runtime.
    pub(super) fn start(collector: OtlpCollector, settings: &Settings, metrics: Arc<Metrics>) -> Self {
        let (queue, waiting) = mpsc::channel(settings.otlp_queue_spans);
        let closing = CancellationToken::new();
        let sender = Sender {
            collector,
            waiting,
            closing: closing.clone(),
            batch: settings.otlp_batch_spans,
            patience: Duration::from_millis(settings.otlp_batch_milliseconds),
            metrics: metrics.clone(),
            is_down: false,
        };
        Self { queue, closing, task: Mutex::new(Some(tokio::spawn(sender.run()))), metrics }
    }

    /// Queues the spans of a turn, all of them or none.
    pub(super) fn push(&self, spans: Vec<Span>) {
        let count = spans.len();
        match self.queue.try_reserve_many(count) {
            Ok(places) => places.zip(spans).for_each(|(place, span)| place.send(span)),
            Err(_) => self.metrics.spans.add(SpanEnd::Dropped, count as u64),
        }
    }

    /// Sends the queued spans once, and stops.
    pub(super) async fn flush(&self, deadline: Duration) {
        self.closing.cancel();
        if let Some(task) = self.task.lock().await.take()
            && timeout(deadline, task).await.is_err()
        {
            tracing::warn!("spans were not sent before shutdown: the collector is slow or unreachable");
        }
    }
}

/// The receiving end of the queue.
struct Sender {
    collector: OtlpCollector,
    waiting: mpsc::Receiver<Span>,
    closing: CancellationToken,
    /// Maximum number of spans per request.
    batch: usize,
    /// Maximum time that a span waits for others.
    patience: Duration,
    metrics: Arc<Metrics>,
    /// Whether the collector did not accept the last spans. Only changes are logged.
    is_down: bool,
}

impl Sender {
    async fn run(self) {
        supervised("span_exporter", self, async |sender: &mut Self| sender.send_queued().await).await;
    }

    async fn send_queued(&mut self) {
        loop {
            let spans = self.next().await;
            if spans.is_empty() {
                return;
            }
            self.send(spans).await;
        }
    }

    /// Returns the next spans to send; none at the end.
    async fn next(&mut self) -> Vec<Span> {
        let mut spans = Vec::new();
        tokio::select! {
            biased;
            taken = self.waiting.recv_many(&mut spans, self.batch) => if taken == 0 { return spans; },
            () = self.closing.cancelled() => {
                // Spans that are already queued are available at once.
                while spans.len() < self.batch && let Ok(span) = self.waiting.try_recv() {
                    spans.push(span);
                }
                return spans;
            }
        }
        let until = Instant::now() + self.patience;
        while spans.len() < self.batch && !self.closing.is_cancelled() {
            let room = self.batch - spans.len();
            let taken = tokio::select! {
                taken = timeout_at(until, self.waiting.recv_many(&mut spans, room)) => taken,
                () = self.closing.cancelled() => break,
            };
            if !taken.is_ok_and(|taken| taken > 0) {
                break;
            }
        }
        spans
    }

    /// Sends spans, with retries if these may help and the task is not closing.
    async fn send(&mut self, spans: Vec<Span>) {
        let count = spans.len() as u64;
        let body = self.collector.body(spans);
        let mut wait = FIRST_WAIT;
        for number in 1..=ATTEMPTS {
            match self.collector.send(body.clone()).await {
                Ok(rejected) => return self.taken(count, rejected),
                Err(refusal) if number == ATTEMPTS || !refusal.again || self.closing.is_cancelled() => {
                    return self.refused(count, &refusal);
                }
                Err(refusal) => {
                    tracing::debug!(collector = self.collector.host(), reason = refusal.reason, "spans are sent again");
                    let wait_now = refusal.after.unwrap_or(wait).min(MAX_WAIT);
                    tokio::select! {
                        () = sleep(wait_now) => {}
                        () = self.closing.cancelled() => {}
                    }
                    wait *= 2;
                }
            }
        }
    }

    fn taken(&mut self, count: u64, rejected: Option<(u64, String)>) {
        let (rejected, reason) = rejected.unwrap_or_default();
        let rejected = rejected.min(count);
        self.metrics.spans.add(SpanEnd::Exported, count - rejected);
        self.metrics.spans.add(SpanEnd::Failed, rejected);
        let collector = self.collector.host();
        if rejected > 0 {
            tracing::warn!(collector, rejected, reason, "the collector rejects spans");
        }
        if std::mem::take(&mut self.is_down) {
            tracing::info!(collector, "the collector accepts spans again");
        }
    }

    fn refused(&mut self, count: u64, refusal: &ExportRefusal) {
        self.metrics.spans.add(SpanEnd::Failed, count);
        if !std::mem::replace(&mut self.is_down, true) {
            let (collector, reason) = (self.collector.host(), &refusal.reason);
            tracing::warn!(collector, reason, "the collector accepts no spans: they are dropped until it does");
        }
    }
}
