//! HTTP/1.1 connections without a task of their own.
//!
//! hyper separates a connection from its requests. Usually a spawned task polls the connection, and every head and every
//! chunk passes from that task to the one that waits for it. Here the waiting task polls both, which spares a wake-up
//! per chunk and a task per stream.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use callwright_common::limits::BUFFER_BYTES;
use futures_util::task::AtomicWaker;
use http::{HeaderName, HeaderValue, Request, Response};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::runtime::{self, Handle};
use tokio::task::coop;

use crate::body::RequestBody;
use crate::transport::Transport;
use crate::witness::Witness;

/// Maximum number of rounds of one poll; a connection that makes progress in each of them is polled again later.
const MAX_ROUNDS: usize = 32;

/// Field with the idle time that the server permits (RFC 2068, section 19.7.1.1): `timeout=5, max=100`.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Margin before the announced end for the time that a request takes to reach the server.
const END_MARGIN: Duration = Duration::from_secs(1);

/// Connection for one request at a time.
#[derive(Debug)]
pub(super) struct Http1Connection {
    sender: SendRequest<RequestBody>,
    driver: Driver,
    to_proxy: bool,
    runtime: runtime::Id,
    witness: Option<Arc<Witness>>,
    /// Host of the upstream, for the log.
    host: HeaderValue,
    /// Idle time after which the server closes the connection, as its last response announced.
    announced_timeout: Option<Duration>,
}

impl Http1Connection {
    /// Starts HTTP/1.1 on a transport to `host` that the current runtime has opened. Nothing is sent yet.
    pub(super) async fn start(transport: Transport, host: HeaderValue) -> hyper::Result<Self> {
        let (to_proxy, witness) = (transport.is_to_proxy(), transport.witness());
        let (sender, connection) =
            http1::Builder::new().max_buf_size(BUFFER_BYTES).handshake(TokioIo::new(transport)).await?;
        let (driver, runtime) = (Driver::new(connection), Handle::current().id());
        Ok(Self { sender, driver, to_proxy, runtime, witness, host, announced_timeout: None })
    }

    /// Whether the peer is an HTTP proxy, which needs request targets in absolute form.
    pub(super) fn is_to_proxy(&self) -> bool {
        self.to_proxy
    }

    /// Returns the runtime that opened the connection. It receives the connection's events, so it would have to wake
    /// another one for each of them.
    pub(super) fn runtime(&self) -> runtime::Id {
        self.runtime
    }

    /// Whether the server had closed the connection before it could read the whole of the request that failed.
    pub(super) fn left_request_unread(&self) -> bool {
        self.witness.as_ref().is_some_and(|witness| witness.is_unread())
    }

    /// Sends a request and waits for the head of the response.
    ///
    /// # Errors
    /// With the request if nothing of it was sent.
    pub(super) async fn send(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, TrySendError<Request<RequestBody>>> {
        let mut response = pin!(self.sender.try_send_request(request));
        let response = poll_fn(|cx| self.driver.poll_with(cx, |cx| response.as_mut().poll(cx))).await;
        if let Ok(response) = &response {
            self.announced_timeout = response.headers().get(KEEP_ALIVE).and_then(idle_timeout);
        }
        response
    }

    /// Whether the server may be about to close a connection that has been idle for this long. A request that meets the
    /// end of the connection may have been read.
    pub(super) fn may_end(&self, idle: Duration) -> bool {
        self.announced_timeout.is_some_and(|timeout| idle >= timeout.saturating_sub(END_MARGIN))
    }

    /// Polls the next frame of the response.
    pub(super) fn poll_frame(
        &mut self,
        incoming: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        self.driver.poll_with(cx, |cx| Pin::new(&mut *incoming).poll_frame(cx))
    }

    /// Polls the connection once, for no waiting task. Returns whether the next request can be sent.
    pub(super) fn is_reusable(&mut self) -> bool {
        if self.driver.poll_detached().is_some_and(|error| is_unexpected_message(&error)) {
            let host = self.host.to_str().unwrap_or_default();
            tracing::warn!(
                host,
                "an upstream sent bytes on a connection without a request; the connection is closed, because they could be \
                 taken for the answer to the next request"
            );
        }
        self.sender.is_ready()
    }

    /// Waits for the end of the exchange. Returns whether the next request can be sent.
    pub(super) async fn becomes_reusable(&mut self) -> bool {
        poll_fn(|cx| self.driver.poll_with(cx, |cx| self.sender.poll_ready(cx))).await.is_ok()
    }
}

fn idle_timeout(value: &HeaderValue) -> Option<Duration> {
    let mut parameters = value.to_str().ok()?.split(',').filter_map(|parameter| parameter.split_once('='));
    let (_, seconds) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("timeout"))?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// Whether a connection ended because bytes arrived without a request. hyper has no other error without a cause for a
/// connection that has no request, except for one that is closed or cancelled.
fn is_unexpected_message(error: &hyper::Error) -> bool {
    error.source().is_none() && !error.is_closed() && !error.is_canceled() && !error.is_incomplete_message()
}

/// Reads and writes of a connection.
struct Driver {
    /// `None` once the connection has ended.
    connection: Option<http1::Connection<TokioIo<Transport>, RequestBody>>,
    wakes: Arc<Wakes>,
    /// Waker of `wakes`.
    waker: Waker,
}

impl Driver {
    fn new(connection: http1::Connection<TokioIo<Transport>, RequestBody>) -> Self {
        let wakes = Arc::<Wakes>::default();
        Self { connection: Some(connection), waker: Waker::from(Arc::clone(&wakes)), wakes }
    }

    /// Polls the connection and what waits for it until neither makes progress.
    fn poll_with<T>(&mut self, cx: &mut Context<'_>, mut waiting: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        self.wakes.begin(cx.waker());
        let mut output = Poll::Pending;
        let mut makes_progress = true;
        for _ in 0..MAX_ROUNDS {
            self.wakes.clear();
            output = waiting(&mut Context::from_waker(&self.waker));
            if output.is_ready() {
                break;
            }
            let has_ended = self.poll_connection().is_some();
            makes_progress = has_ended || self.wakes.is_set();
            if !makes_progress || !coop::has_budget_remaining() {
                break;
            }
        }
        self.wakes.end();
        if output.is_pending() && (makes_progress || self.wakes.is_set()) {
            cx.waker().wake_by_ref();
        }
        output
    }

    /// Polls the connection once, for no waiting task. Returns the error with which it has just ended.
    fn poll_detached(&mut self) -> Option<hyper::Error> {
        self.wakes.detach();
        self.poll_connection()?.err()
    }

    /// Returns the result of a connection that has just ended.
    fn poll_connection(&mut self) -> Option<hyper::Result<()>> {
        let connection = self.connection.as_mut()?;
        match Pin::new(connection).poll(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(result) => {
                // Its error, if any, is reported to the request or the body, at the latest by this.
                self.connection = None;
                Some(result)
            }
            Poll::Pending => None,
        }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("has_ended", &self.connection.is_none()).finish_non_exhaustive()
    }
}

/// Wake-ups of a connection and of what waits for it. Those that occur while a task polls both stay here; others wake
/// that task.
#[derive(Default)]
struct Wakes {
    task: AtomicWaker,
    is_polling: AtomicBool,
    is_set: AtomicBool,
}

impl Wakes {
    /// Starts a poll by the task of `waker`.
    fn begin(&self, waker: &Waker) {
        self.task.register(waker);
        self.is_polling.store(true, Ordering::SeqCst);
    }

    fn end(&self) {
        self.is_polling.store(false, Ordering::SeqCst);
    }

    fn clear(&self) {
        self.is_set.store(false, Ordering::SeqCst);
    }

    /// Whether there was a wake-up since [`Wakes::clear`].
    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }

    /// Releases the waker of the task, which would keep the memory of the task.
    fn detach(&self) {
        self.task.take();
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The poll looks at `is_set` after it has cleared `is_polling`, so that one of the two sides sees the other.
        self.is_set.store(true, Ordering::SeqCst);
        if !self.is_polling.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}
