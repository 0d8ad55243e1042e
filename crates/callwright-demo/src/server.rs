//! A small HTTP/1.1 server on loopback: what the scripted model and the sample APIs have in common.

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

/// Largest request body that a sample server reads, in bytes; far more than any conversation of the demo.
const BODY_LIMIT_BYTES: usize = 8 * 1024 * 1024;

/// A running server. It ends, with its connections, when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    _stop_on_drop: DropGuard,
}

impl Server {
    /// Where it listens: `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many requests it has answered so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Starts a server on a free port of loopback that answers with `handler`.
    pub async fn start<H: Handler>(handler: H) -> Result<Self, DemoError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(DemoError::Listen)?;
        let address = listener.local_addr().map_err(DemoError::Listen)?;
        let requests = Arc::new(AtomicU64::new(0));
        let stop = CancellationToken::new();
        tokio::spawn(accept(listener, Arc::new(handler), Arc::clone(&requests), stop.clone()));
        Ok(Self { address, requests, _stop_on_drop: stop.drop_guard() })
    }
}

/// What a sample server does with a request.
pub trait Handler: Send + Sync + 'static {
    /// The answer; a handler has no errors, only answers that say so.
    fn handle(&self, request: &Request) -> impl Future<Output = Reply> + Send;
}

/// A request, read to its end.
#[derive(Debug)]
pub struct Request {
    pub method: Method,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Request {
    /// The first value of a query parameter.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A header field's value, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    parts: Vec<Bytes>,
}

impl Reply {
    /// A JSON document.
    pub fn json(status: StatusCode, value: &Value) -> Self {
        Self { status, headers: HeaderMap::new(), parts: vec![value.to_string().into()] }
            .with_header(CONTENT_TYPE, "application/json")
    }

    /// Server-sent events, each sent as a chunk of its own.
    pub fn events(events: Vec<Bytes>) -> Self {
        Self { status: StatusCode::OK, headers: HeaderMap::new(), parts: events }
            .with_header(CONTENT_TYPE, "text/event-stream")
    }

    /// Sets a header field; a value that no header may have is left out.
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
            // Out of descriptors, or reset before it was accepted: the next one may do better.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn serve<H: Handler>(connection: TcpStream, handler: Arc<H>, requests: Arc<AtomicU64>) {
    // Answers are small and written at once: waiting to coalesce them would only add latency.
    let _ = connection.set_nodelay(true);
    let service = service_fn(|request| {
        let (handler, requests) = (Arc::clone(&handler), Arc::clone(&requests));
        async move {
            let reply = answer(&*handler, request).await;
            requests.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(reply.into_response())
        }
    });
    // A broken connection is the peer's business; there is nobody here to tell.
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
