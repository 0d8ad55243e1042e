//! Evidence that a server closed an idle connection before it could read the request that was sent on it.
//!
//! Servers close idle connections, possibly while a request is on its way (RFC 9112, section 9.3.1). Such a request may
//! be sent again. One that the server has read may not: the answer may have been paid for. HTTP/1.1 does not
//! distinguish the two, but TCP does: a socket that was closed before data arrive answers them with a reset (RFC 9293,
//! section 3.10.7.1). So the end of the connection *followed by* a reset proves that a part of the request was not read. A server that
//! closes after it has read everything causes no reset, because nothing more is sent; a connection that is aborted ends
//! with a reset alone.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use http::{Extensions, Uri};
use hyper::rt;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::{BoxError, Service};

/// State of a TCP connection, shared between the socket and the transport above it.
#[derive(Debug)]
pub(super) struct Witness {
    /// Duration of the TCP handshake: one round trip, and the resolution of the name.
    round_trip: Duration,
    /// Whether a flush looks for a reset.
    is_watching: AtomicBool,
    /// Whether the connection ended right after a request, and was reset then.
    is_unread: AtomicBool,
}

impl Witness {
    fn new(round_trip: Duration) -> Self {
        Self { round_trip, is_watching: AtomicBool::new(false), is_unread: AtomicBool::new(false) }
    }

    /// Returns the witness of a connection; `None` if its socket has none.
    pub(super) fn of(connected: &Connected) -> Option<Arc<Self>> {
        let mut extensions = Extensions::new();
        connected.get_extras(&mut extensions);
        extensions.remove::<SharedWitness>().map(|shared| shared.0)
    }

    pub(super) fn round_trip(&self) -> Duration {
        self.round_trip
    }

    /// Lets the socket look for a reset when it is flushed. The connection must have ended, and nothing but a request may
    /// have been written since the last read.
    pub(super) fn watch(&self) {
        self.is_watching.store(true, Ordering::Relaxed);
    }

    pub(super) fn note_unread(&self) {
        self.is_unread.store(true, Ordering::Relaxed);
    }

    /// Whether a part of the last request certainly was not read.
    pub(super) fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }
}

#[derive(Clone)]
struct SharedWitness(Arc<Witness>);

/// Connects sockets that have a witness.
#[derive(Debug, Clone)]
pub(super) struct WitnessedConnector(pub(super) HttpConnector);

impl Service<Uri> for WitnessedConnector {
    type Response = WitnessedSocket;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<WitnessedSocket, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let started = Instant::now();
        let connecting = self.0.call(uri);
        Box::pin(async move {
            let socket = connecting.await?;
            Ok(WitnessedSocket { socket, witness: Arc::new(Witness::new(started.elapsed())) })
        })
    }
}

/// Socket that looks for a reset at the request of its witness.
#[derive(Debug)]
pub(super) struct WitnessedSocket {
    socket: TokioIo<TcpStream>,
    witness: Arc<Witness>,
}

impl WitnessedSocket {
    fn socket(self: Pin<&mut Self>) -> Pin<&mut TokioIo<TcpStream>> {
        Pin::new(&mut self.get_mut().socket)
    }
}

impl Connection for WitnessedSocket {
    fn connected(&self) -> Connected {
        self.socket.connected().extra(SharedWitness(Arc::clone(&self.witness)))
    }
}

impl rt::Read for WitnessedSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: rt::ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_read(cx, buffer)
    }
}

impl rt::Write for WitnessedSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.socket().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.witness.is_watching.load(Ordering::Relaxed) {
            // The error stays in the socket when a read has returned its end before.
            let error = self.socket.inner().take_error().ok().flatten();
            if error.is_some_and(|error| is_reset(error.kind())) {
                self.witness.note_unread();
            }
        }
        self.socket().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.socket().poll_write_vectored(cx, slices)
    }
}

/// A reset of a connection whose other side has already closed is a broken pipe on Linux.
fn is_reset(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
