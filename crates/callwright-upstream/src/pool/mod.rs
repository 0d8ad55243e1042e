//! Connections to one upstream, and requests on them.

mod body;
mod http1;
mod idle;

use std::error::Error;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use h2::Reason;
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

pub(super) use body::UpstreamBody;
use http1::Http1Connection;
use idle::{Http2Connection, IdleConnections, PooledConnection};

use super::body::RequestBody;
use super::connector::Connector;

/// Maximum number of bytes of an HTTP/2 response that are read ahead. A stream that its client does not read holds them.
const STREAM_WINDOW: u32 = 256 * 1024;

/// Maximum number of bytes of all responses of a connection that are read ahead: enough for as many streams as servers
/// usually permit, so that streams that are not read do not block the others.
const CONNECTION_WINDOW: u32 = 64 * 1024 * 1024;

/// There is no response.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    /// There is no connection. Nothing was sent.
    #[error("the connection failed")]
    Connect(#[source] Box<dyn Error + Send + Sync>),
    /// The connection broke, or the peer does not speak HTTP.
    #[error("the exchange failed")]
    Exchange {
        /// Error of the connection.
        source: hyper::Error,
        /// Why the server cannot have processed the request, if that is known.
        evidence: Option<Unprocessed>,
    },
}

/// Why a server cannot have processed a request that was sent to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unprocessed {
    /// By its own statement (RFC 9113, section 8.7): it refused the stream, or its GOAWAY excludes the stream.
    Refused,
    /// It had closed the idle connection before it could read the whole request.
    Unread,
}

/// Connection pool of an upstream.
#[derive(Debug)]
pub(super) struct Pool {
    connector: Connector,
    /// Base URL, whose origin all requests have.
    base: Uri,
    /// Value of `Host` for HTTP/1.1.
    host: HeaderValue,
    idle: Arc<IdleConnections>,
}

/// Failed attempt to send a request.
struct Unsent {
    error: hyper::Error,
    /// The request, if nothing of it was sent.
    request: Option<Request<RequestBody>>,
    evidence: Option<Unprocessed>,
}

impl Pool {
    /// Creates a pool of at most `max_idle` idle connections, each for at most `idle_timeout`, to the origin of `base`.
    ///
    /// # Errors
    /// If `base` has no host.
    pub(super) fn new(
        connector: Connector,
        base: &Uri,
        max_idle: usize,
        idle_timeout: Duration,
    ) -> Result<Self, &'static str> {
        let host = base.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
        let host = host.ok_or("the base URL has no host")?;
        Ok(Self { connector, base: base.clone(), host, idle: Arc::new(IdleConnections::new(max_idle, idle_timeout)) })
    }

    /// Sends a request on an idle or new connection and waits for the head of the response.
    ///
    /// # Errors
    /// If there is no response. A request of which nothing was sent because its idle connection was closed is sent on
    /// another one.
    pub(super) async fn request(
        &self,
        mut request: Request<RequestBody>,
    ) -> Result<Response<UpstreamBody>, RequestError> {
        loop {
            let (connection, is_reused) = match self.idle.take() {
                Some(connection) => (connection, true),
                None => (self.connect().await.map_err(RequestError::Connect)?, false),
            };
            let sent = match connection {
                PooledConnection::Http1(connection) => self.send_http1(connection, request, is_reused).await,
                PooledConnection::Http2(connection) => self.send_http2(connection, request).await,
            };
            let unsent = match sent {
                Ok(response) => return Ok(response),
                Err(unsent) => unsent,
            };
            match unsent.request {
                Some(again) if is_reused => request = again,
                _ => return Err(RequestError::Exchange { source: unsent.error, evidence: unsent.evidence }),
            }
        }
    }

    async fn send_http1(
        &self,
        mut connection: Box<Http1Connection>,
        mut request: Request<RequestBody>,
        is_reused: bool,
    ) -> Result<Response<UpstreamBody>, Unsent> {
        request.headers_mut().entry(HOST).or_insert_with(|| self.host.clone());
        let target = if connection.is_to_proxy() { request.uri().clone() } else { origin_form(request.uri()) };
        let uri = mem::replace(request.uri_mut(), target);
        let is_streamed = request.body().is_streamed();
        match connection.send(request).await {
            Ok(response) => {
                let idle = Arc::clone(&self.idle);
                if !is_streamed {
                    return Ok(response.map(|incoming| UpstreamBody::driven(incoming, connection, idle)));
                }
                // The rest of the request must not wait until the client reads the response.
                tokio::spawn(async move {
                    if connection.becomes_reusable().await {
                        idle.put(connection);
                    }
                });
                Ok(response.map(UpstreamBody::undriven))
            }
            Err(mut error) => {
                let mut request = error.take_message();
                if let Some(request) = &mut request {
                    *request.uri_mut() = uri;
                }
                let is_unread = is_reused && connection.left_request_unread();
                if is_unread {
                    // The server closes the others too, which have been idle for longer.
                    self.idle.close_http1();
                }
                Err(Unsent { error: error.into_error(), request, evidence: is_unread.then_some(Unprocessed::Unread) })
            }
        }
    }

    async fn send_http2(
        &self,
        mut connection: Http2Connection,
        request: Request<RequestBody>,
    ) -> Result<Response<UpstreamBody>, Unsent> {
        match connection.sender.try_send_request(request).await {
            Ok(response) => Ok(response.map(UpstreamBody::undriven)),
            Err(mut error) => {
                let request = error.take_message();
                let error = error.into_error();
                if is_going_away(&error) {
                    self.idle.retire(connection.number);
                }
                Err(Unsent { evidence: is_refused(&error).then_some(Unprocessed::Refused), error, request })
            }
        }
    }

    /// Connects. The future is boxed, because that of a TLS handshake is large and seldom needed.
    fn connect(&self) -> BoxFuture<'_, Result<PooledConnection, Box<dyn Error + Send + Sync>>> {
        Box::pin(async {
            let transport = self.connector.connect(self.base.clone()).await?;
            if !transport.is_http2() {
                return Ok(PooledConnection::Http1(Box::new(
                    Http1Connection::start(transport, self.host.clone()).await?,
                )));
            }
            let mut http2 = http2::Builder::new(TokioExecutor::new());
            http2.timer(TokioTimer::new());
            http2.initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
            let (sender, connection) = http2.handshake(TokioIo::new(transport)).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "an HTTP/2 connection to an upstream has ended");
                }
            });
            Ok(PooledConnection::Http2(self.idle.share(sender)))
        })
    }
}

/// Whether a server has certainly not processed a request: it refused the stream, or it is going away and the stream is
/// not among those that it processes (RFC 9113, sections 6.8 and 8.7). Streams that it still processes end with an error
/// of the connection instead.
fn is_refused(error: &hyper::Error) -> bool {
    http2_error(error).is_some_and(|error| {
        error.is_remote() && (error.is_go_away() || error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM))
    })
}

fn is_going_away(error: &hyper::Error) -> bool {
    http2_error(error).is_some_and(h2::Error::is_go_away)
}

fn http2_error(error: &hyper::Error) -> Option<&h2::Error> {
    error.source()?.downcast_ref()
}

/// Returns the request target in origin form (RFC 9112, section 3.2.1): path and query.
fn origin_form(uri: &Uri) -> Uri {
    let target = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    Uri::from(target)
}

#[cfg(test)]
mod tests;
