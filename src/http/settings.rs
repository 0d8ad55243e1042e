//! Settings of both listeners.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::domain::Secret;

/// Both listeners (`[server]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address of the client side; port 0 takes a free one. HTTP/1.1 and h2c.
    pub listen: SocketAddr,
    /// Address of the operator side: health, metrics, administration.
    pub operator_listen: SocketAddr,
    /// Listen on addresses other than loopback although nothing of the proxy's own protects the listener.
    pub allow_public: bool,
    /// What operators have to send as `Authorization: Bearer TOKEN`; empty: nothing.
    pub operator_token: Secret,
    /// Largest request body, in bytes. The default lets several images through.
    pub body_limit_bytes: usize,
    /// Seconds that running turns have to finish after SIGTERM.
    pub shutdown_grace_seconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            operator_listen: SocketAddr::from(([127, 0, 0, 1], 8788)),
            allow_public: false,
            operator_token: Secret::default(),
            body_limit_bytes: 32 * 1024 * 1024,
            shutdown_grace_seconds: 30,
        }
    }
}
