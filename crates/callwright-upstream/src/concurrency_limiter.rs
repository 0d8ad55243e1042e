//! Admission of requests to an upstream: circuit breaker and concurrency limit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Settings;
use super::circuit::{Circuit, CircuitRules, Ticket};
use super::failure::FailureBuilder;
use callwright_types::{CircuitState, UpstreamFailure, UpstreamFailureKind};

/// Current load of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Number of in-flight requests, from sending to the last byte of the response.
    pub in_flight: usize,
    /// Number of requests that wait for a slot.
    pub queued: usize,
    pub circuit: CircuitState,
}

/// Admits all requests to one upstream.
#[derive(Debug)]
pub(super) struct ConcurrencyLimiter {
    circuit: Mutex<Circuit>,
    /// `None` for unlimited concurrency.
    slots: Option<Arc<Semaphore>>,
    max_queued: usize,
    patience: Duration,
    in_flight: AtomicUsize,
    queued: AtomicUsize,
}

/// Window in which failures are counted.
const CIRCUIT_WINDOW: Duration = Duration::from_secs(30);

impl ConcurrencyLimiter {
    /// Creates a limiter from an upstream's settings.
    pub(super) fn new(settings: &Settings) -> Self {
        let rules = CircuitRules {
            failures: settings.circuit_failures,
            percent: settings.circuit_failure_percent,
            window: CIRCUIT_WINDOW,
            open: Duration::from_secs(settings.circuit_open_seconds),
            probes: settings.circuit_probes,
        };
        let slots = settings.max_concurrent.min(Semaphore::MAX_PERMITS);
        Self {
            circuit: Mutex::new(Circuit::new(rules, Instant::now())),
            slots: (slots > 0).then(|| Arc::new(Semaphore::new(slots))),
            max_queued: settings.max_queued,
            patience: Duration::from_millis(settings.queue_milliseconds),
            in_flight: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
        }
    }

    pub(super) fn load(&self) -> Load {
        Load {
            in_flight: self.in_flight.load(Ordering::Relaxed),
            queued: self.queued.load(Ordering::Relaxed),
            circuit: self.with_circuit(|circuit| circuit.state(Instant::now())),
        }
    }

    /// Admits a request, after a wait if necessary.
    ///
    /// # Errors
    /// If the circuit is open, the queue is full or the wait times out. Nothing was sent in these cases.
    pub(super) async fn enter(self: &Arc<Self>, failures: &FailureBuilder) -> Result<UpstreamPermit, UpstreamFailure> {
        // Requests do not queue while the circuit is open.
        self.with_circuit(|circuit| circuit.check(Instant::now())).map_err(|wait| circuit_open(failures, wait))?;
        let slot = match &self.slots {
            None => None,
            Some(slots) => Some(self.slot(slots, failures).await?),
        };
        let ticket =
            self.with_circuit(|circuit| circuit.admit(Instant::now())).map_err(|wait| circuit_open(failures, wait))?;
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(UpstreamPermit {
            limiter: Arc::clone(self),
            ticket,
            reported: ReportedOutcome::Nothing,
            counts: true,
            _slot: slot,
        })
    }

    async fn slot(
        &self,
        slots: &Arc<Semaphore>,
        failures: &FailureBuilder,
    ) -> Result<OwnedSemaphorePermit, UpstreamFailure> {
        if let Ok(slot) = Arc::clone(slots).try_acquire_owned() {
            return Ok(slot);
        }
        let message = match QueuedRequest::begin(&self.queued, self.max_queued) {
            None => "the limit of concurrent requests is reached, and the queue is full (max_concurrent, max_queued)",
            Some(_waiting) => match timeout(self.patience, Arc::clone(slots).acquire_owned()).await {
                Ok(Ok(slot)) => return Ok(slot),
                // The semaphore is never closed, so both cases are a timeout.
                Ok(Err(_)) | Err(_) => {
                    "no concurrent request ended within the queue time (max_concurrent, queue_milliseconds)"
                }
            },
        };
        Err(failures.not_sent(UpstreamFailureKind::Busy, message, self.patience))
    }

    fn with_circuit<T>(&self, look: impl FnOnce(&mut Circuit) -> T) -> T {
        look(&mut self.circuit.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn circuit_open(failures: &FailureBuilder, wait: Duration) -> UpstreamFailure {
    let message = "the circuit is open because it failed too often (circuit_failures)";
    failures.not_sent(UpstreamFailureKind::CircuitOpen, message, wait)
}

/// Counts a request as queued until it is dropped.
struct QueuedRequest<'a>(&'a AtomicUsize);

impl<'a> QueuedRequest<'a> {
    /// Counts a request; `None` if `most` are queued.
    fn begin(queued: &'a AtomicUsize, most: usize) -> Option<Self> {
        queued
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| (waiting < most).then_some(waiting + 1))
            .ok()
            .map(|_| Self(queued))
    }
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An admitted request, until its response has ended or is dropped.
#[derive(Debug)]
pub(super) struct UpstreamPermit {
    limiter: Arc<ConcurrencyLimiter>,
    ticket: Ticket,
    reported: ReportedOutcome,
    /// Whether the circuit counts the result.
    counts: bool,
    _slot: Option<OwnedSemaphorePermit>,
}

/// The result of a request that was reported to the circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportedOutcome {
    Nothing,
    Answered,
    Failed,
}

impl UpstreamPermit {
    /// Excludes the result from the circuit, as if the request had been abandoned.
    pub(super) fn uncounted(&mut self) {
        self.counts = false;
    }

    /// Reports the status of a response. A server error counts as a failure, except 501, which means an unsupported
    /// feature.
    pub(super) fn answered(&mut self, status: StatusCode) {
        if !self.counts {
            return;
        }
        if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED {
            self.failed();
        } else if self.reported == ReportedOutcome::Nothing {
            self.reported = ReportedOutcome::Answered;
            self.limiter.with_circuit(|circuit| circuit.succeeded(self.ticket, Instant::now()));
        }
    }

    /// Reports a failure of the upstream, before or within its response.
    pub(super) fn failed(&mut self) {
        if !self.counts {
            return;
        }
        let reported = std::mem::replace(&mut self.reported, ReportedOutcome::Failed);
        self.limiter.with_circuit(|circuit| match reported {
            ReportedOutcome::Nothing => circuit.failed(self.ticket, Instant::now()),
            ReportedOutcome::Answered => circuit.broke(self.ticket, Instant::now()),
            ReportedOutcome::Failed => {}
        });
    }
}

impl Drop for UpstreamPermit {
    fn drop(&mut self) {
        self.limiter.in_flight.fetch_sub(1, Ordering::Relaxed);
        if self.reported == ReportedOutcome::Nothing {
            self.limiter.with_circuit(|circuit| circuit.abandoned(self.ticket));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concurrency_limiter(settings: Settings) -> Arc<ConcurrencyLimiter> {
        Arc::new(ConcurrencyLimiter::new(&settings))
    }

    fn failures() -> FailureBuilder {
        FailureBuilder::of("u")
    }

    #[tokio::test]
    async fn what_has_no_limit_passes_and_is_counted_until_it_ends() {
        let concurrency_limiter = concurrency_limiter(Settings::default());
        let (one, other) = (
            concurrency_limiter.enter(&failures()).await.unwrap(),
            concurrency_limiter.enter(&failures()).await.unwrap(),
        );
        assert_eq!(concurrency_limiter.load(), Load { in_flight: 2, queued: 0, circuit: CircuitState::Closed });
        drop((one, other));
        assert_eq!(concurrency_limiter.load().in_flight, 0);
    }

    #[tokio::test]
    async fn requests_beyond_the_limit_wait_and_beyond_the_queue_fail() {
        let concurrency_limiter = concurrency_limiter(Settings {
            max_concurrent: 1,
            max_queued: 1,
            queue_milliseconds: 60_000,
            ..Settings::default()
        });
        let first = concurrency_limiter.enter(&failures()).await.unwrap();
        let waiting = tokio::spawn({
            let concurrency_limiter = Arc::clone(&concurrency_limiter);
            async move { concurrency_limiter.enter(&failures()).await }
        });
        while concurrency_limiter.load().queued == 0 {
            tokio::task::yield_now().await;
        }
        let refused = concurrency_limiter.enter(&failures()).await.unwrap_err();
        assert_eq!((refused.kind, refused.retry_after_seconds()), (UpstreamFailureKind::Busy, Some(60)), "{refused}");
        drop(first);
        let second = waiting.await.unwrap().unwrap();
        assert_eq!(concurrency_limiter.load(), Load { in_flight: 1, queued: 0, circuit: CircuitState::Closed });
        drop(second);
    }

    #[tokio::test]
    async fn a_wait_ends() {
        let concurrency_limiter = concurrency_limiter(Settings {
            max_concurrent: 1,
            max_queued: 1,
            queue_milliseconds: 1,
            ..Settings::default()
        });
        let _first = concurrency_limiter.enter(&failures()).await.unwrap();
        assert_eq!(concurrency_limiter.enter(&failures()).await.unwrap_err().kind, UpstreamFailureKind::Busy);
        assert_eq!(concurrency_limiter.load().queued, 0);
    }

    #[tokio::test]
    async fn one_who_leaves_the_queue_is_no_longer_counted() {
        let concurrency_limiter =
            concurrency_limiter(Settings { max_concurrent: 1, max_queued: 1, ..Settings::default() });
        let _first = concurrency_limiter.enter(&failures()).await.unwrap();
        let failures = failures();
        {
            let mut waiting = std::pin::pin!(concurrency_limiter.enter(&failures));
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
            assert_eq!(concurrency_limiter.load().queued, 1);
        }
        assert_eq!(concurrency_limiter.load().queued, 0);
    }

    #[tokio::test]
    async fn only_server_errors_and_broken_answers_open_the_circuit() {
        let concurrency_limiter =
            concurrency_limiter(Settings { circuit_failures: 2, circuit_failure_percent: 1, ..Settings::default() });
        for status in [200, 400, 404, 429, 501] {
            let mut passage = concurrency_limiter.enter(&failures()).await.unwrap();
            passage.answered(StatusCode::from_u16(status).unwrap());
        }
        drop(concurrency_limiter.enter(&failures()).await.unwrap());
        let mut passage = concurrency_limiter.enter(&failures()).await.unwrap();
        passage.answered(StatusCode::BAD_GATEWAY);
        passage.failed();
        assert_eq!(concurrency_limiter.load().circuit, CircuitState::Closed, "one request fails once");
        let mut passage = concurrency_limiter.enter(&failures()).await.unwrap();
        passage.answered(StatusCode::OK);
        passage.failed();
        assert_eq!(concurrency_limiter.load().circuit, CircuitState::Open);
        let refused = concurrency_limiter.enter(&failures()).await.unwrap_err();
        assert_eq!(refused.kind, UpstreamFailureKind::CircuitOpen);
        assert!(refused.retry_after_seconds().is_some_and(|seconds| (1..=10).contains(&seconds)), "{refused:?}");
    }
}
