//! Body of a request in progress, with a read timeout.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

use super::Connections;
use callwright_telemetry::labels::CloseReason;

/// Whether a request's body stopped arriving.
#[derive(Debug, Clone, Default)]
pub(super) struct StallFlag(Arc<AtomicBool>);

impl StallFlag {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Request body that fails if no byte arrives within the timeout while it is read.
#[derive(Debug)]
pub(super) struct TimedBody {
    body: Incoming,
    connections: Arc<Connections>,
    /// Runs from the time at which a reader waits.
    timer: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
    stalled: StallFlag,
}

impl TimedBody {
    pub(super) fn new(body: Incoming, connections: Arc<Connections>, stalled: StallFlag) -> Self {
        Self { body, connections, timer: None, is_waiting: false, stalled }
    }

    /// Polls the read timeout.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = Instant::now() + self.connections.timeouts.body;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if !self.is_waiting {
            self.is_waiting = true;
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(cx)
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.is_waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new)));
        }
        if self.poll_timeout(cx).is_pending() {
            return Poll::Pending;
        }
        if !self.stalled.0.swap(true, Ordering::Relaxed) {
            self.connections.closed(CloseReason::BodyTimeout);
        }
        let error = io::Error::new(io::ErrorKind::TimedOut, "the request body stopped arriving");
        Poll::Ready(Some(Err(axum::Error::new(error))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
