//! How the store is.

use serde::Serialize;

/// How the store is, for `/readyz` and a metric. The proxy is ready with a broken store: only memory is degraded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Does it work? A store that is switched off works as configured.
    pub ok: bool,
    /// What is wrong, where, and what mends it; or where the store is.
    pub message: String,
}
