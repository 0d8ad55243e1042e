//! TLS of a listener: identity and handshakes.

mod handshake;
mod identity;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use rustls::ServerConfig;

use super::{Settings, TlsSettings};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Listener, ResultLabel};

pub(super) use identity::HTTP_1_1;
pub use identity::{Identity, TlsError};

/// TLS of one listener. The identity can be replaced at run time: later handshakes use the new one, open connections
/// continue.
#[derive(Debug)]
pub struct Tls {
    side: Listener,
    settings: TlsSettings,
    current: ArcSwap<Identity>,
    /// Digest of the files that were read last, or the error.
    seen: Mutex<Result<[u8; 32], TlsError>>,
    metrics: Arc<Metrics>,
}

impl Tls {
    /// Loads the identity that the settings name for a listener; `None` if they configure no TLS.
    ///
    /// # Errors
    /// [`TlsError`]: a file cannot be used.
    pub fn load(side: Listener, settings: &Settings, metrics: Arc<Metrics>) -> Result<Option<Arc<Self>>, TlsError> {
        let settings = side_of(side, settings).clone();
        if !settings.is_on() {
            return Ok(None);
        }
        let identity = Identity::load(Self::table_of(side), &settings)?;
        let seen = Mutex::new(Ok(identity.digest()));
        let tls = Self { side, settings, current: ArcSwap::from_pointee(identity), seen, metrics };
        tls.record_expiry();
        Ok(Some(Arc::new(tls)))
    }

    /// Loads the identity that the settings name for a listener, without serving it; `None` if they configure no TLS.
    ///
    /// # Errors
    /// The errors of [`Tls::load`].
    pub fn examine(side: Listener, settings: &Settings) -> Option<Result<Identity, TlsError>> {
        let tls = side_of(side, settings);
        tls.is_on().then(|| Identity::load(Self::table_of(side), tls))
    }

    /// Reads the files again. If they are valid and have changed, later handshakes use them.
    pub fn reload(&self) {
        let read = Identity::load(Self::table_of(self.side), &self.settings);
        let now = read.as_ref().map(Identity::digest).map_err(TlsError::clone);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if now == *seen {
            return;
        }
        *seen = now;
        self.metrics.tls_reloads.inc(if read.is_ok() { ResultLabel::Success } else { ResultLabel::Failure });
        match read {
            Ok(identity) => {
                let (table, expires) = (Self::table_of(self.side), identity.not_after());
                tracing::info!(%expires, "{table}: certificate and key reloaded");
                self.current.store(Arc::new(identity));
                self.record_expiry();
            }
            Err(error) => tracing::error!(%error, "certificate and key not reloaded; the previous ones stay in use"),
        }
    }

    /// Returns the configured files.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let TlsSettings { certificate, key, client_ca } = &self.settings;
        [certificate, key, client_ca].into_iter().filter(|file| !file.is_empty()).map(PathBuf::from)
    }

    /// Returns the name of a listener's configuration table.
    pub fn table_of(side: Listener) -> &'static str {
        match side {
            Listener::Client => "server.tls",
            Listener::Operator => "server.operator_tls",
        }
    }

    fn config(&self) -> Arc<ServerConfig> {
        self.current.load().config()
    }

    fn record_expiry(&self) {
        let identity = self.current.load();
        self.metrics.certificate_expires(self.side, identity.not_after().as_second());
        if let Some(fault) = identity.time_fault(jiff::Timestamp::now()) {
            tracing::warn!(
                file = self.settings.certificate,
                "{}: {fault}; clients will refuse it",
                Self::table_of(self.side)
            );
        }
    }
}

fn side_of(side: Listener, settings: &Settings) -> &TlsSettings {
    match side {
        Listener::Client => &settings.tls,
        Listener::Operator => &settings.operator_tls,
    }
}
