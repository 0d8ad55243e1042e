//! A socket that reports arriving bytes, and writes that wait for the client.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::Activity;

/// A socket with the activity of its connection. The connection counts as open while it exists.
#[derive(Debug)]
pub(super) struct WatchedIo<S> {
    socket: S,
    activity: Arc<Activity>,
    /// Whether the last write waits for the client.
    waits: bool,
    /// Number of bytes that were written since the last wait.
    accepted: u64,
}

impl<S> WatchedIo<S> {
    pub(super) fn new(socket: S, activity: Arc<Activity>) -> Self {
        Self { socket, activity, waits: false, accepted: 0 }
    }

    /// Reports a change between writes that go on and writes that wait.
    fn progress(&mut self, is_pending: bool) {
        if is_pending == self.waits {
            return;
        }
        self.waits = is_pending;
        if is_pending {
            self.activity.write_waits(std::mem::take(&mut self.accepted));
        } else {
            self.activity.write_resumes();
        }
    }

    fn wrote(&mut self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.progress(polled.is_pending());
        if let Poll::Ready(Ok(count)) = &polled {
            self.accepted += *count as u64;
        }
        polled
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedIo<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.activity.received();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedIo<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.wrote(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.socket).poll_flush(cx);
        self.progress(polled.is_pending());
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.socket).poll_write_vectored(cx, bytes);
        self.wrote(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}
