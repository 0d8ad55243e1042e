//! Clients that do not read their answers: each ends within its limit, and holds a bounded memory until then.

use std::time::Duration;

use crate::support::answer::{self, role, text_chunk};
use crate::support::config::config_with_server;
use crate::support::request::{plain, streamed};
use crate::support::{POLL, Proxy, Reply, Server, guarded};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Size of an answer that no buffer between proxy and client holds.
const LARGE: usize = 8 * 1024 * 1024;

/// Size of each event of a large stream.
const EVENT: usize = 16 * 1024;

fn large_stream() -> Reply {
    let chunk = text_chunk(&"x".repeat(EVENT));
    let chunks: Vec<Value> = std::iter::once(role()).chain(std::iter::repeat_n(chunk, LARGE / EVENT)).collect();
    Reply::events(&chunks)
}

/// Starts a proxy whose upstream answers requests for a stream with `large`, and others with a short text.
async fn start(server: &str, large: impl Fn() -> Reply + Send + Sync + 'static) -> (Proxy, Server) {
    let upstream = Server::scripted(move |_, received| match received.json()["messages"][0]["content"].as_str() {
        Some("large") => large(),
        _ => answer::text("hi"),
    })
    .await;
    let proxy = Proxy::start(config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", server)).await;
    (proxy, upstream)
}

async fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.client().url("").trim_start_matches("http://")).await.unwrap()
}

/// Sends a request, and reads nothing.
async fn standing(proxy: &Proxy, request: &Value) -> TcpStream {
    let mut socket = connect(proxy).await;
    let body = request.to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all((head + &body).as_bytes()).await.unwrap();
    socket
}

/// Waits until a slow reader was closed, and its request to the upstream ended.
async fn is_closed(proxy: &Proxy) {
    proxy.metric_reaches("connections_closed_total", &[("listener", "client"), ("reason", "slow_reader")], 1.0).await;
    guarded("waiting for the end of the upstream request", async {
        while proxy.metrics().await.sum("upstream_in_flight", &[]) > 0.0 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_of_a_stream_is_closed() {
    let (proxy, _upstream) = start("write_timeout_seconds = 1", large_stream).await;
    let _socket = standing(&proxy, &streamed(plain("large"))).await;
    is_closed(&proxy).await;
}

#[tokio::test]
async fn a_reader_of_nothing_is_closed_although_its_request_has_ended() {
    let (proxy, _upstream) = start("write_timeout_seconds = 1", || answer::text(&"x".repeat(LARGE))).await;
    let _socket = standing(&proxy, &plain("large")).await;
    is_closed(&proxy).await;
}

#[tokio::test]
async fn an_answer_is_not_idle_while_its_client_reads() {
    let server = "write_timeout_seconds = 60\nidle_timeout_seconds = 1";
    let (proxy, _upstream) = start(server, || answer::text(&"x".repeat(LARGE))).await;
    let mut socket = standing(&proxy, &plain("large")).await;
    // The proxy has written nothing more for longer than the idle timeout.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut bytes = Vec::new();
    guarded("reading the answer", async {
        while bytes.len() < LARGE {
            assert_ne!(socket.read_buf(&mut bytes).await.unwrap(), 0, "closed after {} bytes", bytes.len());
        }
    })
    .await;
}

type Http2 = SendRequest<Full<Bytes>>;

/// Opens an HTTP/2 connection with a small window per stream.
async fn http2(proxy: &Proxy) -> Http2 {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(64 * 1024);
    let (sender, connection) = builder.handshake(TokioIo::new(connect(proxy).await)).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn send(connection: &Http2, body: &Value) -> Response<Incoming> {
    let request = Request::post("http://localhost/v1/chat/completions").header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
    guarded("waiting for an answer", connection.clone().send_request(request)).await.unwrap()
}

#[tokio::test]
async fn of_concurrent_responses_only_the_one_that_is_not_read_ends() {
    let (proxy, _upstream) = start("write_timeout_seconds = 1", large_stream).await;
    let connection = http2(&proxy).await;
    let standing = send(&connection, &streamed(plain("large"))).await;
    is_closed(&proxy).await;
    let other = send(&connection, &plain("Hello")).await;
    assert_eq!(other.status(), 200);
    assert!(!other.into_body().collect().await.unwrap().to_bytes().is_empty());
    let cut_off = guarded("reading the rest", standing.into_body().collect()).await;
    assert!(cut_off.is_err(), "the client must not take the part for the whole");
}

#[tokio::test]
async fn a_large_answer_over_http2_is_whole() {
    let (proxy, _upstream) = start("", || answer::text(&"x".repeat(LARGE))).await;
    let response = send(&http2(&proxy).await, &plain("large")).await;
    let length: usize = response.headers()["content-length"].to_str().unwrap().parse().unwrap();
    let body = guarded("reading the answer", response.into_body().collect()).await.unwrap().to_bytes();
    assert_eq!(body.len(), length);
}

#[tokio::test]
async fn answers_without_memory_get_503_and_small_ones_are_served() {
    let large = "x".repeat(1024 * 1024);
    let text = large.clone();
    let (proxy, _upstream) = start("answer_memory_bytes = 262144", move || answer::text(&text)).await;
    let refused = proxy.client().chat(&plain("large")).await;
    let error = refused.error(503);
    assert_eq!(error["code"], "answer_memory_full");
    assert!(error["message"].as_str().unwrap().contains("server.answer_memory_bytes"), "{error}");
    assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "hi");
    let metrics = proxy.metrics().await;
    assert_eq!((metrics.sum("answers_refused_total", &[]), metrics.sum("answer_bytes", &[])), (1.0, 0.0));
    drop(proxy);
    let (proxy, _upstream) =
        start("answer_memory_bytes = 262144", move || Reply::events([&text_chunk(&large)]).then_close()).await;
    assert_eq!(proxy.client().chat(&streamed(plain("large"))).await.error(503)["code"], "answer_memory_full");
}
