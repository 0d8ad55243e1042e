//! Large bodies whose last part trickles, again and again, beside another client with bodies of 1 MB.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::{chat_head, requests};

/// Number of bodies at a time.
const BODIES: usize = 8;

/// Declared size of each body in bytes.
const LENGTH: usize = 32 * 1024 * 1024;

/// Bytes that are sent at once.
const BEGINNING: usize = 27_800_000;

/// Bytes per write.
const PIECE: usize = 64 * 1024;

/// Pause between two bytes.
const PAUSE: Duration = Duration::from_secs(10);

/// Pause after a refusal.
const RETRY: Duration = Duration::from_millis(200);

/// Size in bytes of the bodies of the other client.
const OTHER: usize = 1_000_000;

pub(super) async fn attack(target: SocketAddr, length: Duration) -> Result<String, String> {
    let ended = Instant::now() + length;
    let attackers = join_all((0..BODIES).map(|_| async {
        while Instant::now() < ended {
            let _ = timeout(ended - Instant::now(), body(target)).await;
            tokio::time::sleep(RETRY).await;
        }
    }));
    let text = "x".repeat(OTHER);
    let other = json!({"model": "soak", "seed": 0, "messages": [{"role": "user", "content": text}]}).to_string();
    let others = requests::send(target, (length, usize::MAX, 1), |_| other.clone());
    let (_, others) = tokio::join!(attackers, others);
    let (answered, succeeded) = others?;
    Ok(format!("{succeeded} of {answered} bodies of 1 MB of another address served"))
}

/// Sends a body until the proxy ends it.
async fn body(target: SocketAddr) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from(([127, 0, 0, 2], 0)))?;
    let mut socket: TcpStream = socket.connect(target).await?;
    socket.write_all(chat_head(LENGTH).as_bytes()).await?;
    let piece = [b'x'; PIECE];
    let mut left = BEGINNING;
    while left > 0 {
        let next = left.min(PIECE);
        socket.write_all(&piece[..next]).await?;
        left -= next;
    }
    loop {
        // A response or the end of the connection means that the body was ended.
        if timeout(PAUSE, socket.read(&mut [0])).await.is_ok() {
            return Ok(());
        }
        socket.write_all(b"x").await?;
    }
}
