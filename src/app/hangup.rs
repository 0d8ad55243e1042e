//! SIGHUP: whatever can be read again while the proxy runs is read again. It ends no turn, and never the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{App, asked_to_end};
use crate::config::{ConfigError, Loaded, Settings, changed_keys};
use callwright_telemetry::labels::ResultLabel;

/// SIGHUP, caught from the moment on at which this is made: it does not end the process any more.
#[derive(Debug)]
pub struct Hangups(Option<Signal>);

impl Hangups {
    /// Catches SIGHUP.
    pub fn catch() -> Self {
        let caught = signal(SignalKind::hangup());
        Self(caught.inspect_err(|error| tracing::error!(%error, "cannot listen for SIGHUP")).ok())
    }

    /// Waits for the next one; for ever where it cannot be caught.
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
    /// Reloads at each SIGHUP until a signal asks the process to end; returns that signal's name. `running` are the settings that the proxy runs
    /// with, and `load` reads them from where they came from.
    pub async fn run(
        &self,
        mut hangups: Hangups,
        running: &Settings,
        load: impl Fn() -> Result<Loaded, ConfigError>,
    ) -> &'static str {
        let mut ended = std::pin::pin!(asked_to_end());
        loop {
            tokio::select! {
                signal = ended.as_mut() => return signal,
                () = hangups.next() => self.reload(running, load()),
            }
        }
    }

    /// Has every watched file read again, and reports which changed keys of the configuration need a restart.
    fn reload(&self, running: &Settings, read: Result<Loaded, ConfigError>) {
        tracing::info!(
            "SIGHUP: documents, policies, templates, notations, representations and certificates are read again"
        );
        self.watchers.iter().for_each(callwright_common::watch::Watcher::wake);
        match read {
            Ok(loaded) => {
                self.metrics.config_reloads.inc(ResultLabel::Success);
                let keys = changed_keys(running, &loaded.settings);
                if !keys.is_empty() {
                    tracing::warn!(keys = keys.join(", "), "keys of the configuration changed that need a restart");
                }
            }
            Err(error) => {
                self.metrics.config_reloads.inc(ResultLabel::Failure);
                tracing::error!(%error, "the configuration has a mistake: a restart would fail; the proxy goes on as it is");
            }
        }
    }
}
