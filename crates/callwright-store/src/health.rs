//! Health of the store.

use serde::Serialize;

/// Health of the store, for `/readyz` and a metric. The proxy is ready even if the store is unavailable: only memory is
/// degraded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Whether the store works. A store that is switched off works as configured.
    pub ok: bool,
    /// Error, location and remedy; or the location of a working store.
    pub message: String,
}
