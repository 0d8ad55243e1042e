//! TLS certificates of the listeners, and their reload when files change.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use crate::http::{Settings, Tls, TlsError};
use callwright_common::watch::{self, Trigger, Watched, Watcher};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Listener, ResultLabel};

/// TLS of both listeners; `None` where the settings configure no TLS.
pub(super) struct Certificates {
    pub(super) client: Option<Arc<Tls>>,
    pub(super) operator: Option<Arc<Tls>>,
    /// File watcher; dropping it stops the reloads.
    pub(super) watcher: Watcher,
}

impl Certificates {
    /// Loads the files that the settings name, and watches them.
    pub(super) fn load(settings: &Settings, metrics: &Arc<Metrics>) -> Result<Self, TlsError> {
        let client = Tls::load(Listener::Client, settings, metrics.clone())?;
        let operator = Tls::load(Listener::Operator, settings, metrics.clone())?;
        let sides: Vec<Reloading> = [&client, &operator].into_iter().flatten().map(Reloading::of).collect();
        Ok(Self { client, operator, watcher: watch(sides, metrics.clone()) })
    }

    /// Returns the URL scheme of the client listener.
    pub(super) fn client_scheme(&self) -> &'static str {
        scheme(self.client.is_some())
    }

    /// Returns the URL scheme of the operator listener.
    pub(super) fn operator_scheme(&self) -> &'static str {
        scheme(self.operator.is_some())
    }
}

fn scheme(is_secured: bool) -> &'static str {
    if is_secured { "https" } else { "http" }
}

/// A listener whose certificate and key files are watched.
struct Reloading {
    tls: Arc<Tls>,
    /// Result of the last read: the digest, or the error.
    seen: Result<[u8; 32], TlsError>,
}

impl Reloading {
    fn of(tls: &Arc<Tls>) -> Self {
        Self { seen: Ok(tls.digest()), tls: Arc::clone(tls) }
    }

    /// Reads certificate and key together, and installs them if they are valid and have changed.
    fn look(&mut self, metrics: &Metrics) {
        let read = self.tls.read();
        let now = read.as_ref().map(|identity| identity.digest()).map_err(TlsError::clone);
        if now == self.seen {
            return;
        }
        self.seen = now;
        metrics.tls_reloads.inc(if read.is_ok() { ResultLabel::Success } else { ResultLabel::Failure });
        match read {
            Ok(identity) => {
                tracing::info!(expires = %identity.not_after(), "{}: certificate and key reloaded", self.tls.table());
                self.tls.show(identity);
            }
            Err(error) => tracing::error!(%error, "certificate and key not reloaded; the previous ones stay in use"),
        }
    }
}

fn watch(mut sides: Vec<Reloading>, metrics: Arc<Metrics>) -> Watcher {
    let files: BTreeSet<PathBuf> = sides.iter().flat_map(|side| side.tls.files()).collect();
    if files.is_empty() {
        return Watcher::idle();
    }
    let watched = Watched { files, ..Watched::default() };
    let again = watched.clone();
    let watcher = watch::watch_files(watched, Trigger::new(true), "tls-reload", move || {
        sides.iter_mut().for_each(|side| side.look(&metrics));
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
    let sides = [Listener::Client, Listener::Operator].into_iter();
    let found = sides.filter_map(|side| Some((Tls::table_of(side), Tls::examine(side, settings)?)));
    found
        .map(|(table, read)| CertificateState {
            table,
            found: read.map(|identity| (identity.not_after(), identity.time_fault(now))),
        })
        .collect()
}
