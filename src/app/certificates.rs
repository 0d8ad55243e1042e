//! TLS certificates of the listeners, and their reload when files change.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use crate::http::{Settings, Tls, TlsError};
use callwright_common::watch::{self, Trigger, Watched, Watcher};
use callwright_telemetry::labels::Listener;

/// Returns the URL scheme of a listener.
pub(super) fn scheme(tls: Option<&Arc<Tls>>) -> &'static str {
    if tls.is_some() { "https" } else { "http" }
}

/// Reloads the certificates of listeners when their files change.
pub(super) fn watch(sides: Vec<Arc<Tls>>) -> Watcher {
    let files: BTreeSet<PathBuf> = sides.iter().flat_map(|tls| tls.files()).collect();
    if files.is_empty() {
        return Watcher::idle();
    }
    let watched = Watched { files, ..Watched::default() };
    let again = watched.clone();
    let watcher = watch::watch_files(watched, Trigger::new(true), "tls-reload", move || {
        sides.iter().for_each(|tls| tls.reload());
        again.clone()
    });
    // A proxy whose certificates do not reload is better than no proxy.
    watcher.inspect_err(|error| tracing::error!(%error, "certificates will not reload")).unwrap_or_default()
}

/// State of a listener's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateState {
    /// Table of the configuration.
    pub table: &'static str,
    /// Expiry time, and the reason why the certificate is not valid now, if any; or the error that makes it unusable.
    pub found: Result<(Timestamp, Option<String>), TlsError>,
}

/// Reads the certificates that the settings name, as a start does, and returns their state at `now`.
pub fn certificates(settings: &Settings, now: Timestamp) -> Vec<CertificateState> {
    let state = |side| {
        let found = Tls::examine(side, settings)?.map(|identity| (identity.not_after(), identity.time_fault(now)));
        Some(CertificateState { table: Tls::table_of(side), found })
    };
    [Listener::Client, Listener::Operator].into_iter().filter_map(state).collect()
}
