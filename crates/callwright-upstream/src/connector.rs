//! Connections to an upstream: direct, or through a proxy.

use std::error::Error;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
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

impl Route {
    async fn connect(&self, to: Uri) -> Result<Transport, BoxError> {
        Ok(match self {
            Self::Direct(direct) => Transport::new(direct.clone().call(to).await?, false),
            Self::Proxy(proxy, address) => Transport::new(proxy.clone().call(address.clone()).await?, true),
            Self::Tunnel(tunnel) => Transport::new(tunnel.clone().call(to).await?, false),
        })
    }
}

/// Connects to one upstream.
#[derive(Debug)]
pub(super) struct Connector {
    route: Route,
    timeout: Duration,
}

impl Connector {
    /// Creates a connector with a time limit that includes TLS and proxies.
    pub(super) fn new(route: Route, timeout: Duration) -> Self {
        Self { route, timeout }
    }

    /// Connects to the origin of a URI.
    ///
    /// # Errors
    /// If there is no connection within the time limit.
    pub(super) async fn connect(&self, to: Uri) -> Result<Transport, BoxError> {
        match tokio::time::timeout(self.timeout, self.route.connect(to)).await {
            Ok(connected) => connected,
            Err(_) => {
                let message = format!("not established within {} s", self.timeout.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
            }
        }
    }
}

/// A byte transport.
trait TransportStream: rt::Read + rt::Write + Connection + Send + Unpin {}

impl<T: rt::Read + rt::Write + Connection + Send + Unpin> TransportStream for T {}

/// A connection over any route.
pub(super) struct Transport {
    stream: Box<dyn TransportStream>,
    to_proxy: bool,
}

impl Transport {
    fn new(stream: impl TransportStream + 'static, to_proxy: bool) -> Self {
        Self { stream: Box::new(stream), to_proxy }
    }

    /// Whether the peer is an HTTP proxy, which forwards requests.
    pub(super) fn is_to_proxy(&self) -> bool {
        self.to_proxy
    }

    /// Whether the TLS handshake selected HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        self.stream.connected().is_negotiated_h2()
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
