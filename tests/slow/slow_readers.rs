//! A client that reads 1 kB each second, from a proxy with default settings.

use std::time::Duration;

use crate::support::answer::{role, text_chunk};
use crate::support::request::{plain, streamed};
use crate::support::{Proxy, Reply, Server, config};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Number of events: their stream takes the client longer than `server.write_timeout_seconds` and
/// `server.idle_timeout_seconds`.
const EVENTS: usize = 100;

#[tokio::test]
async fn a_client_that_reads_1_kb_each_second_gets_its_whole_stream() {
    let chunk = text_chunk(&"x".repeat(1_000));
    let chunks: Vec<Value> = std::iter::once(role()).chain(std::iter::repeat_n(chunk, EVENTS)).collect();
    let upstream = Server::always(Reply::events(&chunks)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let address = proxy.client().url("");
    let mut socket = TcpStream::connect(address.trim_start_matches("http://")).await.unwrap();
    let body = streamed(plain("Hello")).to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all((head + &body).as_bytes()).await.unwrap();
    let (mut bytes, mut second) = (Vec::new(), [0; 1_000]);
    while !bytes.ends_with(b"0\r\n\r\n") {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let count = socket.read(&mut second).await.unwrap();
        assert_ne!(count, 0, "closed after {} bytes", bytes.len());
        bytes.extend_from_slice(&second[..count]);
    }
    assert!(bytes.windows(6).any(|text| text == b"[DONE]"));
}
