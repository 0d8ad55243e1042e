//! Connections to an upstream: direct, or through a proxy.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::Uri;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use tower::Service;

use super::transport::Transport;
use super::witness::WitnessedConnector;

type BoxError = Box<dyn Error + Send + Sync>;

/// Route to an upstream.
#[derive(Debug)]
pub(super) enum Route {
    Direct(HttpsConnector<WitnessedConnector>),
    /// Connection to the HTTP proxy at this address, which receives absolute-form request targets (RFC 9112, section
    /// 3.2.2).
    Proxy(HttpsConnector<WitnessedConnector>, Uri),
    /// Through a `CONNECT` tunnel (RFC 9110, section 9.3.6).
    Tunnel(HttpsConnector<Tunnel<HttpsConnector<WitnessedConnector>>>),
}

impl Route {
    async fn connect(&self, to: Uri) -> Result<Transport, BoxError> {
        Ok(match self {
            Self::Direct(direct) => Transport::new(direct.clone().call(to).await?, false),
            Self::Proxy(proxy, address) => Transport::new(proxy.clone().call(address.clone()).await?, true),
            Self::Tunnel(tunnel) => Transport::new(tunnel.clone().call(to).await?, false),
        })
    }
}

/// Connects to one upstream.
#[derive(Debug)]
pub(super) struct Connector {
    route: Route,
    timeout: Duration,
}

impl Connector {
    /// Creates a connector with a time limit that includes TLS and proxies.
    pub(super) fn new(route: Route, timeout: Duration) -> Self {
        Self { route, timeout }
    }

    /// Connects to the origin of a URI.
    ///
    /// # Errors
    /// If there is no connection within the time limit.
    pub(super) async fn connect(&self, to: Uri) -> Result<Transport, BoxError> {
        match tokio::time::timeout(self.timeout, self.route.connect(to)).await {
            Ok(connected) => connected,
            Err(_) => {
                let message = format!("not established within {} s", self.timeout.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, message).into())
            }
        }
    }
}
