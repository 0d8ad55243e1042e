//! Clients that request streams of 5 MB and read nothing of them. The proxy counts those that it closes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::chat_head;

/// Number of clients.
const READERS: usize = 2_000;

/// Beginning of the answer to a client whose answer has no memory.
const REFUSED: &[u8] = b"HTTP/1.1 503";

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
    let mut refused = 0;
    for socket in &sockets {
        refused += usize::from(is_refused(socket).await);
    }
    Ok(format!("{refused} of {READERS} refused for memory"))
}

async fn begin(target: SocketAddr, request: &Value) -> std::io::Result<TcpStream> {
    let mut socket = TcpStream::connect(target).await?;
    let body = request.to_string();
    socket.write_all((chat_head(body.len()) + &body).as_bytes()).await?;
    Ok(socket)
}

/// Looks at what the proxy has sent, and takes nothing: a client that reads is not slow any more.
async fn is_refused(socket: &TcpStream) -> bool {
    let mut begin = [0; REFUSED.len()];
    // A client may have got nothing at all.
    tokio::time::timeout(Duration::from_secs(1), socket.peek(&mut begin)).await.is_ok() && begin == *REFUSED
}
