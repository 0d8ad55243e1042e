//! One connection, from its handshake to its end.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::net::{self, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::http::{HeaderValue, Request, Response, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use super::request_body::{BodyProgress, TimedBody};
use super::response_body::ResponseBody;
use super::watched_io::WatchedIo;
use super::{CLOSING_TIME, ConnectionSlot, Connections, Timeouts};
use crate::http::body_shares::ClientAddress;
use crate::http::error;
use crate::http::request_guard::GuardedRouter;
use crate::http::tls::{self, Tls};
use crate::http::workers::Workers;
use crate::pipeline::SMALL_BODY_BYTES;
use callwright_common::limits::BUFFER_BYTES;
use callwright_telemetry::labels::{CloseReason, Label};

/// First bytes of an HTTP/2 connection (RFC 9113, section 3.4).
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// HTTP version of a connection, as far as it is known before its first request.
#[derive(Debug, Clone, Copy)]
enum WireVersion {
    Http1,
    /// The bytes of the first request determine it.
    Undetermined,
}

/// Context for serving the connections of a listener.
#[derive(Debug, Clone)]
pub struct Serving {
    /// Limits and counters.
    pub connections: Arc<Connections>,
    /// Certificate and key; `None`: plain HTTP.
    pub tls: Option<Arc<Tls>>,
    pub router: GuardedRouter,
    /// Threads that serve the connections.
    pub workers: Workers,
    /// Ends the listener.
    pub ending: CancellationToken,
}

impl Serving {
    /// Serves the requests of a connection until it is closed, has been idle for too long or, if the process ends, has
    /// completed its requests. The current runtime polls the socket.
    pub(super) async fn serve(self, socket: net::TcpStream, client: SocketAddr, slot: ConnectionSlot) {
        let socket = match TcpStream::from_std(socket) {
            Ok(socket) => socket,
            Err(error) => return tracing::debug!(%error, "cannot poll an accepted connection"),
        };
        match self.tls.clone() {
            None => {
                let activity = Activity::new(slot);
                if let Some(version) = self.first_bytes(&socket).await {
                    self.converse(socket, version, client, activity).await;
                }
            }
            // Boxed: a connection without TLS must not hold the memory of one with it.
            Some(tls) => Box::pin(self.serve_tls(tls, socket, client, slot)).await,
        }
    }

    async fn serve_tls(self, tls: Arc<Tls>, socket: TcpStream, client: SocketAddr, slot: ConnectionSlot) {
        let agreed = tokio::select! {
            agreed = tls.handshake(socket, client) => agreed,
            () = self.ending.cancelled() => None,
        };
        if let Some(stream) = agreed {
            let version = match stream.get_ref().1.alpn_protocol() {
                Some(tls::HTTP_1_1) => WireVersion::Http1,
                _ => WireVersion::Undetermined,
            };
            self.converse(stream, version, client, Activity::new(slot)).await;
        }
    }

    /// Waits for the first bytes of a connection without TLS, and leaves them in the socket. Returns `None` if the
    /// connection is to be closed because none arrive in time, or because the process ends.
    ///
    /// A waiting connection needs no buffer. A connection whose version hyper detects needs a second read buffer.
    async fn first_bytes(&self, socket: &TcpStream) -> Option<WireVersion> {
        let mut first = [0; HTTP2_PREFACE.len()];
        tokio::select! {
            // An error or the end of the connection is found again when it is read.
            seen = socket.peek(&mut first) => Some(match seen {
                Ok(length) if first.iter().zip(HTTP2_PREFACE).take(length).any(|(one, other)| one != other) => {
                    WireVersion::Http1
                }
                _ => WireVersion::Undetermined,
            }),
            () = sleep(self.connections.timeouts.header) => {
                self.connections.closed(CloseReason::HeaderTimeout);
                None
            }
            () = self.ending.cancelled() => None,
        }
    }

    /// Responds to every request with status 503, and closes the connection.
    pub(super) async fn refuse(self, socket: TcpStream, client: SocketAddr) {
        let refused = async {
            match &self.tls {
                None => answer_once(socket).await,
                Some(tls) => {
                    if let Some(stream) = tls.handshake(socket, client).await {
                        answer_once(stream).await;
                    }
                }
            }
        };
        let _ = tokio::time::timeout(CLOSING_TIME, refused).await;
    }

    async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        self,
        stream: S,
        version: WireVersion,
        client: SocketAddr,
        activity: Arc<Activity>,
    ) {
        let Self { connections, router, workers, ending, .. } = self;
        let requests = (connections.clone(), activity.clone());
        let service = service_fn(move |request| {
            let (connections, activity) = requests.clone();
            respond(router.clone(), connections, activity, client, request)
        });
        let io = TokioIo::new(WatchedIo::new(stream, activity.clone()));
        match version {
            WireVersion::Http1 => {
                let mut connection = pin!(http1_builder().serve_connection(io, service));
                connections.watch(connection.as_mut(), http1::Connection::graceful_shutdown, &activity, &ending).await;
            }
            // Boxed: it is twice as large as a connection that only speaks HTTP/1.1.
            WireVersion::Undetermined => {
                Box::pin(async move {
                    let builder = builder(&connections.timeouts, workers);
                    let mut connection = pin!(builder.serve_connection(io, service));
                    connections
                        .watch(connection.as_mut(), auto::Connection::graceful_shutdown, &activity, &ending)
                        .await;
                })
                .await;
            }
        }
    }
}

impl Connections {
    /// Drives a connection until it is closed, has been idle for too long or, if the process ends, has completed its
    /// requests. `shut_down` makes it close after the requests in progress.
    async fn watch<C, E>(
        &self,
        mut connection: Pin<&mut C>,
        shut_down: impl Fn(Pin<&mut C>),
        activity: &Activity,
        ending: &CancellationToken,
    ) where
        C: Future<Output = Result<(), E>>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut timer = pin!(sleep_until(Instant::now() + self.timeouts.step()));
        // A child token per connection: connections must not contend for one lock.
        let ending = ending.child_token();
        let mut ended = pin!(ending.cancelled());
        let (mut is_ending, mut is_closing) = (false, false);
        loop {
            tokio::select! {
                biased;
                result = connection.as_mut() => return self.broke(result.err().map(Into::into)),
                () = timer.as_mut() => match activity.next_deadline(Instant::now(), &self.timeouts) {
                    // A header section that is not complete must not delay the end of the process.
                    _ if is_closing || is_ending && activity.is_receiving_head() => return,
                    Ok(deadline) => {
                        for _ in 0..activity.end_slow_streams(Instant::now(), self.timeouts.write) {
                            self.closed(CloseReason::SlowReader);
                        }
                        timer.as_mut().reset(deadline);
                    }
                    Err(reason) => {
                        self.closed(reason);
                        if reason != CloseReason::Idle {
                            return;
                        }
                        is_closing = true;
                        shut_down(connection.as_mut());
                        timer.as_mut().reset(Instant::now() + CLOSING_TIME);
                    }
                },
                () = ended.as_mut(), if !is_ending => {
                    is_ending = true;
                    shut_down(connection.as_mut());
                    timer.as_mut().reset(Instant::now() + CLOSING_TIME);
                }
            }
        }
    }

    /// Logs the error of a closed connection, and counts an unacknowledged PING frame.
    fn broke(&self, error: Option<Box<dyn Error + Send + Sync>>) {
        let Some(error) = error else { return };
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_timeout) {
            self.closed(CloseReason::PingTimeout);
        }
        tracing::debug!(listener = self.side.label(), %error, "connection failed");
    }
}

fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(BUFFER_BYTES);
    builder
}

fn builder(timeouts: &Timeouts, workers: Workers) -> auto::Builder<Workers> {
    let mut builder = auto::Builder::new(workers);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(BUFFER_BYTES);
    let mut http2 = builder.http2();
    // Beyond it hyper takes no further part of a response.
    http2.timer(TokioTimer::new()).max_send_buf_size(BUFFER_BYTES);
    http2.keep_alive_interval(timeouts.ping).keep_alive_timeout(timeouts.ping_answer);
    builder
}

/// Responds to one request; the connection is active until the last byte of the response. The guarded router is boxed: hyper
/// keeps the memory of this future while it sends the body.
async fn respond(
    router: GuardedRouter,
    connections: Arc<Connections>,
    activity: Arc<Activity>,
    client: SocketAddr,
    mut request: Request<Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    let version = request.version();
    let in_progress = activity.begin(version);
    if request.body().is_end_stream() {
        let response = Box::pin(router.respond(request.map(Body::new))).await;
        return Ok(response.map(|body| ResponseBody::new(body, in_progress, version)));
    }
    // Only large bodies have shares of the memory, so that other requests need no extension.
    if request.body().size_hint().exact().is_none_or(|bytes| bytes > SMALL_BODY_BYTES as u64) {
        request.extensions_mut().insert(ClientAddress(client.ip()));
    }
    let progress = BodyProgress::default();
    let request = request.map(|body| Body::new(TimedBody::new(body, connections, progress.clone())));
    let mut response = Box::pin(router.respond(request)).await;
    if let Some(fault) = progress.fault().filter(|fault| fault.is_timeout()) {
        response = fault.response();
    }
    // The rest of the body is not read, so that the connection cannot be used again.
    if !progress.is_whole() && version < Version::HTTP_2 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| ResponseBody::new(body, in_progress, version)))
}

/// Responds to a connection's first requests with status 503, and closes it.
async fn answer_once<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S) {
    let service = service_fn(async |request: Request<Incoming>| {
        let mut response = error::too_many_connections();
        if request.version() < Version::HTTP_2 {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok::<_, Infallible>(response)
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    // An error means that the client closed the connection and needs no response.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}
