//! Body of a response in progress. Its end is the end of the request.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Version;
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

use super::activity::InProgress;

/// Maximum number of bytes of a frame of a concurrent response. hyper takes the next frame when the window of the client
/// admits a part of the last one, so that small frames show progress.
const MAX_FRAME_BYTES: usize = 16 * 1024;

/// Response body; the request is in progress until it is dropped.
pub(super) enum ResponseBody {
    /// Body on a connection with one response at a time. The writes of the connection show its progress.
    Only(Body, #[expect(dead_code, reason = "ends the request when it is dropped")] InProgress),
    /// Body of one of the concurrent responses of an HTTP/2 connection. Each of them has a window of its own.
    Concurrent(Arc<Mutex<StreamBody>>),
}

/// Body of a concurrent response, shared with the task that watches the connection's timeouts.
#[derive(Debug)]
pub(super) struct StreamBody {
    /// `None` after the client has accepted nothing for too long.
    source: Option<(Body, InProgress)>,
    /// Rest of the last data of the source.
    rest: Bytes,
    /// Whether hyper has taken a frame and not requested the next one.
    is_taken: bool,
    /// Number of frames that were taken.
    frames: u64,
    /// Number of frames at the first check that found this number, and the time of that check.
    checked: Option<(u64, Instant)>,
}

impl ResponseBody {
    pub(super) fn new(body: Body, request: InProgress, version: Version) -> Self {
        if version != Version::HTTP_2 {
            return Self::Only(body, request);
        }
        let stream = StreamBody { source: None, rest: Bytes::new(), is_taken: false, frames: 0, checked: None };
        let stream = Arc::new(Mutex::new(stream));
        request.watch(&stream);
        lock(&stream).source = Some((body, request));
        Self::Concurrent(stream)
    }
}

fn lock(stream: &Mutex<StreamBody>) -> MutexGuard<'_, StreamBody> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StreamBody {
    /// Ends a response whose client has accepted no frame for `limit`. Returns whether it did. hyper still waits for the
    /// client's window, and resets the stream when it opens.
    pub(super) fn end_if_slow(stream: &Weak<Mutex<Self>>, now: Instant, limit: Duration) -> bool {
        let Some(stream) = stream.upgrade() else { return false };
        let mut stream = lock(&stream);
        if !stream.is_slow(now, limit) {
            return false;
        }
        stream.rest = Bytes::new();
        let source = stream.source.take();
        // The end of the body cancels its turn, which may poll it.
        drop(stream);
        source.is_some()
    }

    fn is_slow(&mut self, now: Instant, limit: Duration) -> bool {
        if !self.is_taken {
            self.checked = None;
            return false;
        }
        match self.checked {
            Some((frames, since)) if frames == self.frames => now.saturating_duration_since(since) >= limit,
            _ => {
                self.checked = Some((self.frames, now));
                false
            }
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some((body, _)) = &mut self.source else {
            let error = io::Error::new(io::ErrorKind::TimedOut, "the client did not read the response");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        };
        self.is_taken = false;
        if self.rest.is_empty() {
            match ready!(Pin::new(body).poll_frame(cx)).transpose()?.map(Frame::into_data) {
                Some(Ok(data)) => self.rest = data,
                Some(Err(trailers)) => return Poll::Ready(Some(Ok(trailers))),
                None => return Poll::Ready(None),
            }
        }
        (self.is_taken, self.frames) = (true, self.frames + 1);
        let length = self.rest.len().min(MAX_FRAME_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *self {
            Self::Only(body, _) => Pin::new(body).poll_frame(cx),
            Self::Concurrent(stream) => lock(stream).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Only(body, _) => body.is_end_stream(),
            Self::Concurrent(stream) => {
                let stream = lock(stream);
                stream.rest.is_empty() && stream.source.as_ref().is_some_and(|(body, _)| body.is_end_stream())
            }
        }
    }

    /// Size of the whole body, which hyper requests before its first frame.
    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Only(body, _) => body.size_hint(),
            Self::Concurrent(stream) => {
                lock(stream).source.as_ref().map_or_else(SizeHint::default, |(body, _)| body.size_hint())
            }
        }
    }
}
