//! A connection to an upstream over any route.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt;
use hyper_util::client::legacy::connect::Connection;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::witness::Witness;

/// Time beyond the round trip in which the end of an idle connection may be noticed: the task may have to wait for a
/// processor. The end and the reset are the proof; the time only bounds the wait for the reset.
const SCHEDULING_ALLOWANCE: Duration = Duration::from_millis(500);

/// A byte transport.
trait TransportStream: rt::Read + rt::Write + Connection + Send + Unpin {}

impl<T: rt::Read + rt::Write + Connection + Send + Unpin> TransportStream for T {}

/// A connection, which looks for evidence if it ends right after a request was written.
pub(super) struct Transport {
    stream: TokioIo<Box<dyn TransportStream>>,
    to_proxy: bool,
    is_http2: bool,
    witness: Option<Arc<Witness>>,
    /// First write after the last read.
    written_at: Option<Instant>,
    /// Wait for a reset, once the connection has ended.
    reset: Option<Pin<Box<Sleep>>>,
    /// Error of a TLS connection that ended without a `close_notify`.
    truncation: Option<io::Error>,
}

impl Transport {
    pub(super) fn new(stream: impl rt::Read + rt::Write + Connection + Send + Unpin + 'static, to_proxy: bool) -> Self {
        let connected = stream.connected();
        Self {
            witness: Witness::of(&connected),
            is_http2: connected.is_negotiated_h2(),
            stream: TokioIo::new(Box::new(stream)),
            to_proxy,
            written_at: None,
            reset: None,
            truncation: None,
        }
    }

    /// Whether the peer is an HTTP proxy, which forwards requests.
    pub(super) fn is_to_proxy(&self) -> bool {
        self.to_proxy
    }

    /// Whether the TLS handshake selected HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        self.is_http2
    }

    /// Returns the evidence of requests that were not read.
    pub(super) fn witness(&self) -> Option<Arc<Witness>> {
        self.witness.clone()
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TokioIo<Box<dyn TransportStream>>> {
        Pin::new(&mut self.get_mut().stream)
    }

    /// Returns the witness if what is written was sent within the last round trip.
    fn witness_of_write(&self) -> Option<&Arc<Witness>> {
        let (witness, written_at) = (self.witness.as_ref()?, self.written_at?);
        (written_at.elapsed() <= witness.round_trip() + SCHEDULING_ALLOWANCE).then_some(witness)
    }

    /// Waits for a reset after the end of the connection: it is a round trip behind the request at most.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.reset.is_none() {
            let Some(witness) = self.witness_of_write() else { return Poll::Ready(()) };
            witness.watch();
            let round_trip = witness.round_trip();
            self.reset = Some(Box::pin(sleep(round_trip)));
        }
        if self.has_reset(cx) {
            return Poll::Ready(());
        }
        if let Some(reset) = &mut self.reset {
            ready!(reset.as_mut().poll(cx));
        }
        self.has_reset(cx);
        Poll::Ready(())
    }

    /// Looks for a reset. The socket looks when it is flushed, which writes nothing.
    fn has_reset(&mut self, cx: &mut Context<'_>) -> bool {
        // An error of the flush is that of a connection which has ended.
        let _ = Pin::new(&mut self.stream).poll_flush(cx);
        self.witness.as_ref().is_some_and(|witness| witness.is_unread())
    }

    /// Records what a write shows: it fails with a broken pipe if the connection ended and was reset before.
    fn written(&mut self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(_)) => {
                self.written_at.get_or_insert_with(Instant::now);
            }
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.witness_of_write().into_iter().for_each(|witness| witness.note_unread());
            }
            _ => {}
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let filled = buffer.filled().len();
        if this.reset.is_none() {
            match ready!(Pin::new(&mut this.stream).poll_read(cx, buffer)) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => this.truncation = Some(error),
                read => read?,
            }
        }
        if buffer.filled().len() > filled {
            this.written_at = None;
        } else {
            ready!(this.poll_end(cx));
        }
        Poll::Ready(this.truncation.take().map_or(Ok(()), Err))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.written(&written);
        written
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.written(&written);
        written
    }
}
