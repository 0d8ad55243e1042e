//! Connections to an upstream: direct, or through a proxy.

use std::error::Error;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Uri;
use hyper::rt;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use tower::Service;

type BoxError = Box<dyn Error + Send + Sync>;

/// Route to an upstream.
#[derive(Debug)]
pub(super) enum Route {
    /// Direct connection.
    Direct(HttpsConnector<HttpConnector>),
    /// Connection to the HTTP proxy at this address, which receives absolute-form request targets (RFC 9112, section
    /// 3.2.2).
    Proxy(HttpsConnector<HttpConnector>, Uri),
    /// Through a `CONNECT` tunnel (RFC 9110, section 9.3.6).
    Tunnel(HttpsConnector<Tunnel<HttpsConnector<HttpConnector>>>),
}

/// Connects to one upstream. Clones are cheap: the client makes one for each request.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    route: Arc<Route>,
    timeout: Duration,
}

impl Connector {
    /// Creates a connector with a time limit that includes TLS and proxies.
    pub(super) fn new(route: Route, timeout: Duration) -> Self {
        Self { route: Arc::new(route), timeout }
    }

    async fn connect(route: &Route, to: Uri) -> Result<Transport, BoxError> {
        Ok(match route {
            Route::Direct(direct) => Transport::new(direct.clone().call(to).await?, false),
            Route::Proxy(proxy, address) => Transport::new(proxy.clone().call(address.clone()).await?, true),
            Route::Tunnel(tunnel) => Transport::new(tunnel.clone().call(to).await?, false),
        })
    }
}

impl Service<Uri> for Connector {
    type Response = Transport;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Transport, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (route, timeout) = (Arc::clone(&self.route), self.timeout);
        Box::pin(async move {
            match tokio::time::timeout(timeout, Self::connect(&route, to)).await {
                Ok(connected) => connected,
                Err(_) => {
                    let message = format!("not established within {} s", timeout.as_secs());
                    Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
                }
            }
        })
    }
}

/// Whether a connection has served a request. A server may close such a connection at the moment when the next request
/// is sent on it.
#[derive(Debug, Clone, Default)]
pub(super) struct ServedFlag(Arc<AtomicBool>);

impl ServedFlag {
    /// Records that a response arrived over the connection.
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a response has arrived over the connection.
    pub(super) fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A byte transport.
trait TransportStream: rt::Read + rt::Write + Connection + Send + Unpin {}

impl<T: rt::Read + rt::Write + Connection + Send + Unpin> TransportStream for T {}

/// A connection over any route.
pub(super) struct Transport {
    stream: Box<dyn TransportStream>,
    to_proxy: bool,
    served: ServedFlag,
}

impl Transport {
    fn new(stream: impl TransportStream + 'static, to_proxy: bool) -> Self {
        Self { stream: Box::new(stream), to_proxy, served: ServedFlag::default() }
    }
}

impl Connection for Transport {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.to_proxy).extra(self.served.clone())
    }
}

impl rt::Read for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: rt::ReadBufCursor<'_>,
    ) -> Poll<Result<(), io::Error>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl rt::Write for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, io::Error>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize, io::Error>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, slices)
    }
}
