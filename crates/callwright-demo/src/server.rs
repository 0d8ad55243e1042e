//! Small HTTP/1.1 server on loopback, used by the scripted model and the sample APIs.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body_util::{BodyExt, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::DemoError;

/// Maximum size of the body of a request or a response in bytes; far more than any conversation of the demo.
pub(super) const BODY_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// Running server. It stops, and closes its connections, when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    _stop_on_drop: DropGuard,
}

impl Server {
    /// Returns the URL `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of answered requests.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Starts a server on a free loopback port that answers with `handler`.
    pub async fn start<H: Handler>(handler: H) -> Result<Self, DemoError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(DemoError::Listen)?;
        let address = listener.local_addr().map_err(DemoError::Listen)?;
        let requests = Arc::new(AtomicU64::new(0));
        let stop = CancellationToken::new();
        tokio::spawn(accept(listener, Arc::new(handler), Arc::clone(&requests), stop.clone()));
        Ok(Self { address, requests, _stop_on_drop: stop.drop_guard() })
    }
}

/// Request handler of a sample server.
pub trait Handler: Send + Sync + 'static {
    /// Returns the response; failures are responses, too.
    fn handle(&self, request: &Request) -> impl Future<Output = Reply> + Send;
}

/// Complete request.
#[derive(Debug)]
pub struct Request {
    pub method: Method,
    /// Path, decoded.
    pub path: String,
    /// Query parameters in order, decoded.
    pub query: Vec<(String, String)>,
    /// Header fields.
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Request {
    /// Returns the first value of a query parameter.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of a header field if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Response.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    parts: Vec<Bytes>,
}

impl Reply {
    /// Creates a response with a JSON document.
    pub fn json(status: StatusCode, value: &Value) -> Self {
        Self { status, headers: HeaderMap::new(), parts: vec![value.to_string().into()] }
            .with_header(CONTENT_TYPE, "application/json")
    }

    /// Creates a response with server-sent events, each sent as a separate chunk.
    pub fn events(events: Vec<Bytes>) -> Self {
        Self { status: StatusCode::OK, headers: HeaderMap::new(), parts: events }
            .with_header(CONTENT_TYPE, "text/event-stream")
    }

    /// Sets a header field; an invalid value is skipped.
    pub fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    fn into_response(self) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
        let frames = self.parts.into_iter().map(|part| Ok(Frame::data(part)));
        let mut response = Response::new(StreamBody::new(stream::iter(frames)).boxed_unsync());
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

async fn accept<H: Handler>(listener: TcpListener, handler: Arc<H>, requests: Arc<AtomicU64>, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((connection, _)) => {
                let serving = serve(connection, Arc::clone(&handler), Arc::clone(&requests));
                tokio::spawn(stop.clone().run_until_cancelled_owned(serving));
            }
            // Out of file descriptors, or reset before it was accepted: the next connection may succeed.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn serve<H: Handler>(connection: TcpStream, handler: Arc<H>, requests: Arc<AtomicU64>) {
    // Responses are small and written at once: Nagle's algorithm would only add latency.
    let _ = connection.set_nodelay(true);
    let service = service_fn(|request| {
        let (handler, requests) = (Arc::clone(&handler), Arc::clone(&requests));
        async move {
            let reply = answer(&*handler, request).await;
            requests.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(reply.into_response())
        }
    });
    // Connection errors are ignored: they only concern the peer.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
}

async fn answer<H: Handler>(handler: &H, request: http::Request<Incoming>) -> Reply {
    let (head, body) = request.into_parts();
    match Limited::new(body, BODY_LIMIT_BYTES).collect().await {
        Ok(body) => {
            let request = Request {
                method: head.method,
                path: head.uri.path().to_owned(),
                query: url::form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes())
                    .into_owned()
                    .collect(),
                headers: head.headers,
                body: body.to_bytes(),
            };
            handler.handle(&request).await
        }
        Err(error) => Reply::json(StatusCode::BAD_REQUEST, &serde_json::json!({ "error": error.to_string() })),
    }
}
