//! Clients that request streams of 5 MB and read nothing of them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::chat_head;

/// Number of clients.
const READERS: usize = 2_000;

/// Number of bytes that a client reads in the end. The buffers of the system hold less, so that a client that gets as
/// much was not closed.
const MOST_BUFFERED: usize = 2 << 20;

/// Silence after which a connection counts as open.
const SILENCE: Duration = Duration::from_secs(10);

/// How a stream ended for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    /// The proxy closed the connection.
    Closed,
    /// The proxy had no memory for the answer.
    Refused,
    /// The stream goes on.
    Open,
}

/// Requests streams with events of `event_bytes`. `with_tools` is whether the answer may be a call.
pub(super) async fn attack(
    target: SocketAddr,
    length: Duration,
    event_bytes: usize,
    with_tools: bool,
) -> Result<String, String> {
    let started = Instant::now();
    let mut request = json!({"model": "soak", "stream": true, "event_bytes": event_bytes,
        "messages": [{"role": "user", "content": "Tell me everything."}]});
    if with_tools {
        request["tools"] = json!([{"type": "function", "function": {"name": "get_weather", "parameters": {
            "type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}}}]);
    }
    let mut sockets = Vec::with_capacity(READERS);
    for _ in 0..READERS {
        sockets.push(begin(target, &request).await.map_err(|error| format!("{target}: {error}"))?);
    }
    tokio::time::sleep(length.saturating_sub(started.elapsed())).await;
    let ends = join_all(sockets.into_iter().map(end)).await;
    let count = |end| ends.iter().filter(|found| **found == end).count();
    let (closed, refused) = (count(StreamEnd::Closed), count(StreamEnd::Refused));
    Ok(format!("{closed} of {READERS} closed, {refused} refused for memory, {} still open", count(StreamEnd::Open)))
}

async fn begin(target: SocketAddr, request: &Value) -> std::io::Result<TcpStream> {
    let mut socket = TcpStream::connect(target).await?;
    let body = request.to_string();
    socket.write_all((chat_head(body.len()) + &body).as_bytes()).await?;
    Ok(socket)
}

/// Reads what the proxy has sent.
async fn end(mut socket: TcpStream) -> StreamEnd {
    const PIECE: usize = 64 * 1024;
    let (mut piece, mut total) = (vec![0; PIECE], 0);
    loop {
        let count = match tokio::time::timeout(SILENCE, socket.read(&mut piece)).await {
            Ok(Ok(0) | Err(_)) => return StreamEnd::Closed,
            Ok(Ok(count)) => count,
            Err(_) => return StreamEnd::Open,
        };
        total += count;
        if memchr::memmem::find(piece.get(..count).unwrap_or_default(), b"answer_memory_full").is_some() {
            return StreamEnd::Refused;
        }
        if total > MOST_BUFFERED {
            return StreamEnd::Open;
        }
    }
}
