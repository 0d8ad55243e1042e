//! Slow, idle and too many connections, and bodies that exceed the memory limit: each ends within its limit, while
//! other clients are served.

use std::time::Duration;

use crate::support::config::config_with_server;
use crate::support::request::plain;
use crate::support::{Client, POLL, Proxy, Server, answer, guarded};
use futures_util::future::join_all;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Maximum size of a body in bytes in tests of memory.
const BODY: usize = 1024 * 1024;

/// Memory that the turn of such a body takes at most.
const COST: usize = 8 * BODY;

/// First bytes of an HTTP/2 client: the preface and empty SETTINGS (RFC 9113, section 3.4).
const HTTP2_BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

async fn start(server: &str) -> (Proxy, Server) {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = Proxy::start(config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", server)).await;
    (proxy, upstream)
}

async fn connect(client: &Client) -> TcpStream {
    let address = client.url("");
    TcpStream::connect(address.trim_start_matches("http://")).await.unwrap()
}

/// Returns the head of a request with a body of `length` bytes.
fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// Reads until the connection is closed or reset.
async fn rest(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset also ends the connection.
    let _ = guarded("waiting for the end of a connection", socket.read_to_end(&mut bytes)).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the error object in the body of an HTTP/1.1 response with this status.
fn error_of(response: &str, status: u16) -> Value {
    assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {response}"));
    crate::support::client::check_error_object(&body["error"]);
    body["error"].clone()
}

/// Sends a request until it gets status 200.
async fn is_served(client: &Client, body: &Value) {
    guarded("waiting for room", async {
        while client.chat(body).await.status != 200 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}

#[tokio::test]
async fn half_sent_header_sections_are_closed() {
    let (proxy, _upstream) = start("header_timeout_seconds = 1").await;
    for (client, side) in [(proxy.client(), "client"), (proxy.operator(), "operator")] {
        let beginnings: [&[u8]; 4] =
            [b"", b"GET /v1/models HTT", b"GET /healthz HTTP/1.1\r\nhost: x\r\n", b"PRI * HTTP/2.0\r\n"];
        for beginning in beginnings {
            let mut socket = connect(client).await;
            socket.write_all(beginning).await.unwrap();
            rest(&mut socket).await;
        }
        // Also on a connection that was used before.
        let mut socket = connect(client).await;
        socket.write_all(b"GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut first = [0; 12];
        guarded("reading a status", socket.read_exact(&mut first)).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 404");
        socket.write_all(b"GET /no").await.unwrap();
        rest(&mut socket).await;
        let labels = [("listener", side), ("reason", "header_timeout")];
        proxy.metric_reaches("connections_closed_total", &labels, 5.0).await;
    }
    is_served(proxy.client(), &plain("Hello")).await;
}

#[tokio::test]
async fn a_request_may_arrive_byte_by_byte() {
    let (proxy, _upstream) = start("").await;
    // The upstream answers every method, the operator's routes only theirs.
    let sides = [(proxy.client(), "/v1/models", "HTTP/1.1 200"), (proxy.operator(), "/healthz", "HTTP/1.1 405")];
    for (client, path, begin) in sides {
        let mut socket = connect(client).await;
        for byte in format!("PRIVATE {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").bytes() {
            socket.write_all(&[byte]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let response = rest(&mut socket).await;
        assert!(response.starts_with(begin), "the method begins like HTTP/2: {response}");
    }
    let mut socket = connect(proxy.client()).await;
    for byte in HTTP2_BEGIN {
        socket.write_all(&[*byte]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut frame = [0; 9];
    guarded("reading the first frame", socket.read_exact(&mut frame)).await.unwrap();
    assert_eq!(frame[3], 4, "SETTINGS of HTTP/2: {frame:?}");
}

#[tokio::test]
async fn one_worker_serves_concurrent_turns() {
    let gate = crate::support::Gate::closed();
    let upstream = Server::always(answer::text("hi").after(&gate)).await;
    let proxy = Proxy::start(config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", "workers = 1")).await;
    let request = plain("Hello");
    let turns = std::iter::repeat_with(|| proxy.client().chat(&request)).take(16);
    let (answers, ()) = tokio::join!(join_all(turns), async {
        upstream.arrival_of(16).await;
        gate.open();
    });
    assert!(answers.iter().all(|answer| answer.message()["content"] == "hi"));
}

#[tokio::test]
async fn half_sent_bodies_get_408_and_their_connection_is_closed() {
    let (proxy, _upstream) = start("body_timeout_seconds = 1").await;
    for path in ["/v1/chat/completions", "/v1/feedback", "/v1/files"] {
        let mut socket = connect(proxy.client()).await;
        socket.write_all((head(path, 1_000) + "{\"model\":").as_bytes()).await.unwrap();
        let response = rest(&mut socket).await;
        let error = error_of(&response, 408);
        assert!(response.to_lowercase().contains("connection: close"), "{path}: {response}");
        assert_eq!(error["code"], "body_timeout", "{path}");
        assert!(error["message"].as_str().unwrap().contains("server.body_timeout_seconds"), "{path}: {error}");
    }
    let labels = [("listener", "client"), ("reason", "body_timeout")];
    proxy.metric_reaches("connections_closed_total", &labels, 3.0).await;
    assert_eq!(proxy.metrics().await.sum("request_body_bytes", &[]), 0.0);
}

#[tokio::test]
async fn bodies_below_the_minimum_rate_get_408() {
    let (proxy, _upstream) = start("body_timeout_seconds = 1").await;
    for path in ["/v1/chat/completions", "/v1/files"] {
        let mut socket = connect(proxy.client()).await;
        socket.write_all(head(path, BODY).as_bytes()).await.unwrap();
        let (mut reader, mut writer) = socket.split();
        let mut response = Vec::new();
        tokio::select! {
            _ = guarded("waiting for the response", reader.read_to_end(&mut response)) => {}
            () = async {
                while writer.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                std::future::pending().await
            } => {}
        }
        let response = String::from_utf8_lossy(&response);
        assert_eq!(error_of(&response, 408)["code"], "body_too_slow", "{path}");
        assert!(response.to_lowercase().contains("connection: close"), "{path}: {response}");
    }
    let labels = [("listener", "client"), ("reason", "body_too_slow")];
    proxy.metric_reaches("connections_closed_total", &labels, 2.0).await;
}

#[tokio::test]
async fn responses_before_the_end_of_a_body_close_the_connection() {
    let upstream = Server::always(answer::text("hi")).await;
    let keys = "api_key = \"k\"\n[keys]\nmode = \"required\"\n";
    let config = config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", "body_limit_bytes = 1000");
    let (open, proxy) = (Proxy::start(config.clone()).await, Proxy::start(config + keys).await);
    let (client, operator) = (proxy.client(), proxy.operator());
    let text = head("/v1/chat/completions", 10).replace("application/json", "text/plain");
    let foreign =
        head("/v1/chat/completions", 10).replace("content-type", "origin: https://evil.example\r\ncontent-type");
    for (to, head, status) in [
        (client, head("/v1/chat/completions", 10), 401),
        (client, head("/v1/files", 10), 401),
        (client, head("/nowhere", 10), 401),
        (client, text, 401),
        (client, foreign, 403),
        (open.client(), head("/v1/chat/completions", 1_001), 413),
        (operator, head("/nowhere", 10), 404),
        (operator, head("/healthz", 10), 405),
    ] {
        let mut socket = connect(to).await;
        socket.write_all(head.as_bytes()).await.unwrap();
        let response = rest(&mut socket).await.to_lowercase();
        assert!(response.starts_with(&format!("http/1.1 {status} ")), "{head}: {response}");
        assert!(response.contains("\r\nconnection: close\r\n"), "{head}: {response}");
    }
}

#[tokio::test]
async fn a_response_after_the_end_of_a_body_keeps_the_connection() {
    let (proxy, _upstream) = start("").await;
    for (path, status) in [("/v1/chat/completions", 400), ("/v1/files", 200)] {
        let mut socket = connect(proxy.client()).await;
        for _ in 0..2 {
            socket.write_all((head(path, 3) + "{,}").as_bytes()).await.unwrap();
            let mut first = [0; 12];
            guarded("reading a status", socket.read_exact(&mut first)).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&first), format!("HTTP/1.1 {status}"), "{path}");
            let mut rest = Vec::new();
            while is_open(&rest) {
                rest.push(guarded("reading a response", socket.read_u8()).await.unwrap());
            }
            assert!(!String::from_utf8_lossy(&rest).to_lowercase().contains("connection: close"), "{path}");
        }
    }
}

/// Whether a JSON body after a header section is not complete.
fn is_open(response: &[u8]) -> bool {
    let text = String::from_utf8_lossy(response);
    text.split_once("\r\n\r\n").is_none_or(|(_, body)| serde_json::from_str::<Value>(body).is_err())
}

#[tokio::test]
async fn malformed_chunks_get_400() {
    let (proxy, upstream) = start("").await;
    for (path, body) in [
        ("/v1/files", "5\r\nhello\r\nXYZ\r\n"),
        ("/v1/files", "-1\r\n"),
        ("/v1/chat/completions", "5\r\nhelloworld"),
        ("/v1/responses/compact", "ffffffffffffffffff\r\n"),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let mut socket = connect(proxy.client()).await;
        socket.write_all((head + body).as_bytes()).await.unwrap();
        let response = rest(&mut socket).await;
        assert_eq!(error_of(&response, 400)["code"], "body_malformed", "{path}: {body}");
        assert!(response.to_lowercase().contains("connection: close"), "{path}: {response}");
    }
    let mut socket = connect(proxy.client()).await;
    socket.write_all((head("/v1/files", 10) + "hello").as_bytes()).await.unwrap();
    socket.shutdown().await.unwrap();
    assert_eq!(error_of(&rest(&mut socket).await, 400)["code"], "body_incomplete");
    assert!(upstream.received().is_empty());
    assert_eq!(proxy.metrics().await.sum("requests_total", &[("status", "502")]), 0.0);
}

#[tokio::test]
async fn idle_connections_are_closed_and_those_with_a_request_are_not() {
    let gate = crate::support::Gate::closed();
    let upstream = Server::always(answer::text("hi").after(&gate)).await;
    let server = "idle_timeout_seconds = 1\nheader_timeout_seconds = 1";
    let proxy = Proxy::start(config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", server)).await;
    let request = plain("Hello");
    let (answer, ()) = tokio::join!(proxy.client().chat(&request), async {
        upstream.arrival_of(1).await;
        // An idle operator connection is closed in the meantime; the one with the request is not.
        let mut socket = connect(proxy.operator()).await;
        socket.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        assert!(rest(&mut socket).await.starts_with("HTTP/1.1 200"));
        gate.open();
    });
    assert_eq!(answer.message()["content"], "hi");
    for side in ["client", "operator"] {
        let labels = [("listener", side), ("reason", "idle")];
        proxy.metric_reaches("connections_closed_total", &labels, 1.0).await;
    }
}

#[tokio::test]
async fn an_http2_client_that_does_not_acknowledge_a_ping_is_closed() {
    let (proxy, _upstream) = start("http2_ping_seconds = 1").await;
    let mut socket = connect(proxy.client()).await;
    socket.write_all(HTTP2_BEGIN).await.unwrap();
    rest(&mut socket).await;
    let labels = [("listener", "client"), ("reason", "ping_timeout")];
    proxy.metric_reaches("connections_closed_total", &labels, 1.0).await;
}

#[tokio::test]
async fn above_the_connection_limit_only_operators_are_served() {
    let (proxy, _upstream) = start("max_connections = 2").await;
    let (first, second) = (connect(proxy.client()).await, connect(proxy.client()).await);
    proxy.metric_reaches("connections", &[("listener", "client")], 2.0).await;
    let refused = proxy.client().chat(&plain("Hello")).await;
    let error = refused.error(503);
    assert_eq!(error["code"], "too_many_connections");
    assert!(error["message"].as_str().unwrap().contains("server.max_connections"), "{error}");
    assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
    // A flood of connections is refused with a response as capacity allows, and closed beyond it; no connection waits.
    let mut flood = Vec::new();
    for _ in 0..100 {
        flood.push(connect(proxy.client()).await);
    }
    for socket in &mut flood {
        rest(socket).await;
    }
    assert_eq!(proxy.operator().get("/healthz").await.text(), "ok\n");
    let labels = [("listener", "client"), ("reason", "limit")];
    proxy.metric_reaches("connections_refused_total", &labels, 101.0).await;
    drop((first, second));
    is_served(proxy.client(), &plain("Hello")).await;
}

#[tokio::test]
async fn a_limit_above_that_of_open_files_is_refused_at_the_start() {
    let log = Proxy::refusal(&config_with_server("http://127.0.0.1:9/v1", "", "max_connections = 2000000000")).await;
    assert!(log.contains("`server.max_connections`: 2000000000") && log.contains("LimitNOFILE"), "{log}");
}

#[tokio::test]
async fn begun_bodies_fill_no_more_than_their_memory() {
    const MEMORY: usize = 8 * COST;
    let (proxy, _upstream) = start(&format!("body_limit_bytes = {BODY}\nbody_memory_bytes = {MEMORY}")).await;
    let begun = "x".repeat(BODY - 1);
    let large = plain(&"x".repeat(BODY - 1_000));
    let mut sockets = Vec::new();
    let refused = guarded("waiting for the memory to be full", async {
        loop {
            let mut socket = connect(proxy.client()).await;
            // The proxy may refuse the body before it is sent.
            let _ = socket.write_all((head("/v1/chat/completions", BODY) + &begun).as_bytes()).await;
            sockets.push(socket);
            let held = proxy.metrics_now().await.sum("request_body_bytes", &[]);
            assert!(held <= f64::from(u32::try_from(MEMORY).unwrap()), "{held}");
            let answer = proxy.client().chat(&large).await;
            if answer.status != 200 {
                return answer;
            }
        }
    })
    .await;
    // A small body is still accepted.
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "hi");
    let error = refused.error(503);
    assert_eq!(error["code"], "body_memory_full");
    assert!(error["message"].as_str().unwrap().contains("server.body_memory_bytes"), "{error}");
    assert!(refused.header("retry-after").is_some());
    drop(sockets);
    is_served(proxy.client(), &large).await;
    guarded("waiting for the bodies to be released", async {
        while proxy.metrics().await.sum("request_body_bytes", &[]) > 0.0 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_body_without_room_ends_one_that_trickles() {
    let memory = 2 * COST;
    let server = format!("body_limit_bytes = {BODY}\nbody_memory_bytes = {memory}\nbody_timeout_seconds = 6");
    let (proxy, _upstream) = start(&server).await;
    let mut socket = connect(proxy.client()).await;
    let begun = head("/v1/chat/completions", BODY) + &"x".repeat(BODY - 1_000);
    socket.write_all(begun.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = socket.split();
    let mut response = Vec::new();
    let trickle = async {
        while writer.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let large = plain(&"x".repeat(BODY - 1_000));
    let served = async {
        proxy.metric_reaches("request_body_bytes", &[], f64::from(u32::try_from(COST).unwrap())).await;
        assert_eq!(proxy.client().chat(&large).await.error(503)["code"], "body_memory_full");
        is_served(proxy.client(), &large).await;
    };
    tokio::join!(trickle, served, async {
        let _ = guarded("waiting for the response", reader.read_to_end(&mut response)).await;
    });
    assert_eq!(error_of(&String::from_utf8_lossy(&response), 408)["code"], "body_too_slow");
}

#[tokio::test]
async fn without_descriptors_only_operators_are_served() {
    const OPEN_FILES: u32 = 64;
    let upstream = Server::always(answer::text("hi")).await;
    // As many connections as the limit allows; together with the proxy's own files they exceed the descriptors.
    let config = config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", "max_connections = 32");
    let proxy = Proxy::start_with_open_files(config, OPEN_FILES).await;
    let mut idle = Vec::new();
    guarded("waiting for the descriptors to end", async {
        loop {
            idle.push(connect(proxy.client()).await);
            // Each query uses a new connection, which shows that operators are served even without free descriptors.
            let operator = Client::built(proxy.operator().url(""), |builder| builder.pool_max_idle_per_host(0));
            let metrics = crate::support::metrics::Metrics::parse(&operator.get("/metrics").await.text());
            if metrics.sum("connections_refused_total", &[("reason", "descriptors")]) > 0.0 {
                assert!(metrics.sum("accept_errors_total", &[("listener", "client")]) > 0.0);
                return;
            }
        }
    })
    .await;
    rest(&mut connect(proxy.client()).await).await;
    let log = proxy.log();
    let is_about_clients =
        |line: &&str| line.contains("cannot accept connections") && line.contains("listener=\"client\"");
    assert_eq!(log.lines().filter(is_about_clients).count(), 1, "{log}");
    drop(idle);
    guarded("waiting for descriptors", async {
        while proxy.client().try_chat(&plain("Hello")).await.is_err() {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    proxy.stop().await;
}
