//! SIGHUP: reloads everything that can be reloaded at run time. It ends no turn and never the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{App, termination_requested};
use crate::config::{ConfigError, LoadedConfig, Settings, changed_keys};
use callwright_telemetry::labels::ResultLabel;

/// Handler of SIGHUP. From its creation on, SIGHUP no longer ends the process.
#[derive(Debug)]
pub struct Hangups(Option<Signal>);

impl Hangups {
    /// Installs the handler.
    pub fn catch() -> Self {
        let caught = signal(SignalKind::hangup());
        Self(caught.inspect_err(|error| tracing::error!(%error, "cannot listen for SIGHUP")).ok())
    }

    /// Waits for the next SIGHUP; for ever if the handler could not be installed.
    async fn next(&mut self) {
        let received = match &mut self.0 {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if received.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

impl App {
    /// Reloads at each SIGHUP until SIGTERM or SIGINT; returns that signal's name. `running` are the settings in use,
    /// and `load` reads them again from their source.
    pub async fn run(
        &self,
        mut hangups: Hangups,
        running: &Settings,
        load: impl Fn() -> Result<LoadedConfig, ConfigError>,
    ) -> &'static str {
        let mut ended = std::pin::pin!(termination_requested());
        loop {
            tokio::select! {
                signal = ended.as_mut() => return signal,
                () = hangups.next() => self.reload(running, load()),
            }
        }
    }

    /// Triggers every file watcher, and reports the changed configuration keys that need a restart.
    fn reload(&self, running: &Settings, read: Result<LoadedConfig, ConfigError>) {
        tracing::info!("SIGHUP: reloading documents, policies, representations and certificates");
        self.watchers.iter().for_each(callwright_common::watch::Watcher::wake);
        match read {
            Ok(loaded) => {
                self.side.metrics.config_reloads.inc(ResultLabel::Success);
                let keys = changed_keys(running, &loaded.settings);
                if !keys.is_empty() {
                    tracing::warn!(keys = keys.join(", "), "changed configuration keys need a restart");
                }
            }
            Err(error) => {
                self.side.metrics.config_reloads.inc(ResultLabel::Failure);
                tracing::error!(%error, "the configuration is invalid and a restart would fail; the running settings stay in use");
            }
        }
    }
}
