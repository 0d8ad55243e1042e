//! Listening, and ending: running turns are finished, new ones are not begun.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::tls::{Tls, TlsListener};

/// A listener that cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}; choose another address with server.{key} (port 0 takes a free one)")]
pub struct ServeError {
    /// The address asked for.
    pub address: SocketAddr,
    /// The configuration key that holds it.
    pub key: &'static str,
    /// Why not.
    #[source]
    pub source: io::Error,
}

/// Binds a listener.
///
/// # Errors
/// When the address is taken or not ours.
pub async fn bind(address: SocketAddr, key: &'static str) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|source| ServeError { address, key, source })
}

/// Serves HTTP/1.1 and HTTP/2, over TLS where it is given, until `ending` is cancelled and every connection has finished what it was doing.
pub async fn serve(listener: TcpListener, tls: Option<Arc<Tls>>, router: Router, ending: CancellationToken) {
    let listener = listener.tap_io(|stream| {
        // Without it each small answer waits for the client's delayed acknowledgement: 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
    });
    let ended = ending.cancelled_owned();
    let served = match tls {
        None => axum::serve(listener, router).with_graceful_shutdown(ended).await,
        Some(tls) => axum::serve(TlsListener::new(listener, tls), router).with_graceful_shutdown(ended).await,
    };
    if let Err(error) = served {
        tracing::error!(%error, "a listener broke");
    }
}
