//! Body of a request in progress, with time limits.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::Connections;
use super::body_pace::BodyPace;
use crate::http::body_fault::BodyFault;
use callwright_telemetry::labels::CloseReason;

/// Progress of a request's body, shared by its reader and its connection.
#[derive(Debug, Clone, Default)]
pub(super) struct BodyProgress(Arc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    is_whole: AtomicBool,
    fault: OnceLock<BodyFault>,
}

impl BodyProgress {
    /// Whether the body was read to its end.
    pub(super) fn is_whole(&self) -> bool {
        self.0.is_whole.load(Ordering::Relaxed)
    }

    /// Returns the fault that ended the body.
    pub(super) fn fault(&self) -> Option<BodyFault> {
        self.0.fault.get().copied()
    }
}

/// Request body that fails if it arrives too slowly while it is read.
#[derive(Debug)]
pub(super) struct TimedBody {
    body: Incoming,
    connections: Arc<Connections>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Start of the wait of a reader.
    waiting_since: Option<Instant>,
    pace: BodyPace,
    progress: BodyProgress,
}

impl TimedBody {
    pub(super) fn new(body: Incoming, connections: Arc<Connections>, progress: BodyProgress) -> Self {
        let length = body.size_hint().exact().unwrap_or(connections.timeouts.longest_body);
        let pace = BodyPace::new(connections.timeouts.body, length);
        Self { body, connections, timer: None, waiting_since: None, pace, progress }
    }

    /// Records a frame, or the end of the body.
    fn arrived(&mut self, frame: Option<&Frame<Bytes>>) {
        let waiting_since = self.waiting_since.take();
        if let Some(data) = frame.and_then(Frame::data_ref) {
            self.pace.received(data.len());
        }
        if frame.is_none() || self.body.is_end_stream() {
            self.progress.0.is_whole.store(true, Ordering::Relaxed);
        } else if let Some(since) = waiting_since {
            self.pace.waited(since.elapsed());
        }
    }

    /// Polls the time limits.
    fn poll_fault(&mut self, cx: &mut Context<'_>) -> Poll<BodyFault> {
        let is_begun = self.waiting_since.is_some();
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let deadline = || since + self.pace.patience();
        let timer = match &mut self.timer {
            Some(timer) => {
                if !is_begun {
                    timer.as_mut().reset(deadline());
                }
                timer
            }
            None => self.timer.insert(Box::pin(sleep_until(deadline()))),
        };
        while timer.as_mut().poll(cx).is_ready() {
            if let Some(fault) = self.pace.fault(since.elapsed()) {
                return Poll::Ready(fault);
            }
            timer.as_mut().reset(since + self.pace.patience());
        }
        Poll::Pending
    }

    /// Records a fault, and returns the error of the body.
    fn failed(&self, fault: BodyFault) -> axum::Error {
        if self.progress.0.fault.set(fault).is_ok() {
            match fault {
                BodyFault::Stalled { .. } => self.connections.closed(CloseReason::BodyTimeout),
                BodyFault::TooSlow => self.connections.closed(CloseReason::BodyTooSlow),
                BodyFault::Malformed | BodyFault::Incomplete => {}
            }
        }
        axum::Error::new(fault)
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(self.failed(BodyFault::of_connection(&error))))),
            Poll::Ready(frame) => {
                let frame = frame.and_then(Result::ok);
                self.arrived(frame.as_ref());
                Poll::Ready(frame.map(Ok))
            }
            Poll::Pending => self.poll_fault(cx).map(|fault| Some(Err(self.failed(fault)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
