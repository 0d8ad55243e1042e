//! Listening and shutdown: running turns complete, new ones are refused.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use super::connections::{Serving, accept_until_end};

/// Error of binding a listener.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {}; {}", .source, fix(.key, .source))]
pub struct ServeError {
    pub address: SocketAddr,
    /// The configuration key that holds it.
    pub key: &'static str,
    /// The I/O error.
    #[source]
    pub source: io::Error,
}

fn fix(key: &str, source: &io::Error) -> String {
    let what = match source.kind() {
        io::ErrorKind::AddrInUse => "another program uses this port: end it, or",
        _ => "",
    };
    format!("{what} choose another address with server.{key} (port 0 takes a free one)").trim_start().to_owned()
}

/// Binds a listener.
///
/// # Errors
/// If the address is in use or not an address of this machine.
pub async fn bind(address: SocketAddr, key: &'static str) -> Result<TcpListener, ServeError> {
    let listener = TcpListener::bind(address).await.map_err(|source| ServeError { address, key, source })?;
    if let Err(error) = bound_unsent(&listener) {
        tracing::debug!(%error, "cannot bound what the sockets of a listener hold");
    }
    Ok(listener)
}

/// Maximum number of bytes that the system queues for a client beyond its receive window; without it, megabytes. Linux
/// reports progress when half of them has left. A client that reads 1 kB/s shows it each 32 s if its own system announces
/// room in small steps; with the default receive buffer of Linux the steps are larger (docs/operations.md).
#[cfg(target_os = "linux")]
const MAX_UNSENT_BYTES: u32 = 64 * 1024;

/// Bounds what accepted sockets hold; they inherit the option of the listener.
#[cfg(target_os = "linux")]
fn bound_unsent(listener: &TcpListener) -> io::Result<()> {
    socket2::SockRef::from(listener).set_tcp_notsent_lowat(MAX_UNSENT_BYTES)
}

#[cfg(not(target_os = "linux"))]
fn bound_unsent(_: &TcpListener) -> io::Result<()> {
    Ok(())
}

/// Serves HTTP/1.1 and HTTP/2 until `ending` is cancelled and every connection has completed its requests.
pub async fn serve(listener: TcpListener, serving: Serving) {
    let tasks = TaskTracker::new();
    accept_until_end(&listener, &serving, &tasks).await;
    // From here on, the system refuses new clients.
    drop(listener);
    tasks.close();
    tasks.wait().await;
}
