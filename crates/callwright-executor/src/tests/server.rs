//! Loopback servers that record their requests.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Request as the server received it.
#[derive(Debug, Clone)]
pub(super) struct RecordedRequest {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Server that stops when it is dropped.
pub(super) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Answers each request with `reply`.
    pub(super) async fn http(
        reply: impl Fn(&RecordedRequest) -> Response<Full<Bytes>> + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::slow_http(Duration::ZERO, reply).await
    }

    /// Answers each request with `reply` after a delay.
    pub(super) async fn slow_http(
        time: Duration,
        reply: impl Fn(&RecordedRequest) -> Response<Full<Bytes>> + Clone + Send + Sync + 'static,
    ) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&requests);
        Self::listen(requests, move |stream| {
            let (reply, record) = (reply.clone(), Arc::clone(&record));
            async move {
                let service = service_fn(|request| {
                    let (reply, record) = (reply.clone(), Arc::clone(&record));
                    async move {
                        let request = recorded(request).await;
                        record.lock().unwrap().push(request.clone());
                        if !time.is_zero() {
                            tokio::time::sleep(time).await;
                        }
                        Ok::<_, Infallible>(reply(&request))
                    }
                });
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            }
        })
        .await
    }

    /// Always answers with an empty object.
    pub(super) async fn plain() -> Self {
        Self::http(|_| Response::new(Full::from("{}"))).await
    }

    /// Reads the head of a request, records it, and passes the connection to `script`.
    pub(super) async fn raw<F>(script: impl Fn(TcpStream) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send,
    {
        Self::raw_heads(move |_, stream| script(stream)).await
    }

    /// Works like [`Self::raw`], and also passes the head.
    pub(super) async fn raw_heads<F>(script: impl Fn(String, TcpStream) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send,
    {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&requests);
        Self::listen(requests, move |mut stream| {
            let (script, record) = (script.clone(), Arc::clone(&record));
            async move {
                let head = read_head(&mut stream).await;
                let target = head.lines().next().unwrap_or_default().to_owned();
                let method = target.split(' ').next().unwrap_or_default().parse().unwrap();
                record.lock().unwrap().push(RecordedRequest {
                    method,
                    target,
                    headers: HeaderMap::new(),
                    body: Bytes::new(),
                });
                script(head, stream).await;
            }
        })
        .await
    }

    /// Never answers, and keeps the connection open.
    pub(super) async fn silent() -> Self {
        Self::raw(|stream| async move {
            let _open = stream;
            std::future::pending::<()>().await;
        })
        .await
    }

    /// Sends `first`, then the same bytes repeatedly.
    pub(super) async fn endless(first: &'static [u8], again: &'static [u8]) -> Self {
        Self::raw(move |mut stream| async move {
            let mut next = first;
            while stream.write_all(next).await.is_ok() {
                next = again;
            }
        })
        .await
    }

    /// Returns its address: `http://127.0.0.1:PORT`.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the requests so far.
    pub(super) fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the only request so far.
    #[track_caller]
    pub(super) fn only(&self) -> RecordedRequest {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        requests[0].clone()
    }

    async fn listen<F>(
        requests: Arc<Mutex<Vec<RecordedRequest>>>,
        serve: impl Fn(TcpStream) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Self { address, requests, task }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns an address without a listener.
pub(super) async fn unreachable_server() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

async fn recorded(request: Request<Incoming>) -> RecordedRequest {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    RecordedRequest { method: head.method, target, headers: head.headers, body }
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}
