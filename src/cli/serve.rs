//! `callwright serve`: runs the proxy until SIGTERM or SIGINT.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::errors::VerbResult;
use super::setup::runtime;
use crate::app::{self, App, Hangups};
use crate::config;
use callwright_search::embedding::DownloadWatcher;

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    /// Configuration file. Default: CALLWRIGHT_CONFIG, then ./callwright.toml, then the built-in defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address of the client listener; overrides the configuration.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Address of the operator listener; overrides the configuration.
    #[arg(long, value_name = "ADDRESS:PORT")]
    operator_listen: Option<SocketAddr>,
}

pub(super) fn run(arguments: ServeArguments) -> VerbResult {
    let ServeArguments { config: file, listen, operator_listen } = arguments;
    let request = config::ConfigRequest { file, listen, operator_listen };
    let loaded = config::load(&request, &config::process_environment)?;
    app::start_logs(&loaded.settings)?;
    runtime()?.block_on(async {
        // A start may take minutes, and SIGHUP must not end it.
        let hangups = Hangups::catch();
        let app = App::start_watched(loaded.settings.clone(), &loaded.base_dir, &Downloads::default()).await?;
        // One line for scripts; all other output goes to standard error.
        let mut out = std::io::stdout();
        writeln!(out, "callwright listening client={} operator={}", app.client_url(), app.operator_url())?;
        out.flush()?;
        let signal = app.run(hangups, &loaded.settings, || config::load(&request, &config::process_environment)).await;
        tracing::info!(signal, "shutting down; running turns may finish");
        app.stop().await;
        Ok(())
    })
}

/// Templates with and without a known file size.
const SIZED: &str = "{prefix} {wide_bar} {bytes}/{total_bytes} {eta} left";
const UNSIZED: &str = "{prefix} {spinner} {bytes} {elapsed}";

/// Shows downloads on standard error if it is a terminal; otherwise only the log reports them.
#[derive(Debug, Default)]
pub(super) struct Downloads {
    bar: Mutex<Option<ProgressBar>>,
}

impl Downloads {
    fn replace(&self, bar: Option<ProgressBar>) -> Option<ProgressBar> {
        std::mem::replace(&mut *self.bar.lock().unwrap_or_else(PoisonError::into_inner), bar)
    }
}

impl DownloadWatcher for Downloads {
    fn begins(&self, file: &str, bytes: Option<u64>) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let bar = bytes.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = if bytes.is_some() { SIZED } else { UNSIZED };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(file.to_owned());
        self.replace(Some(bar));
    }

    fn advances(&self, bytes: u64) {
        if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.set_position(bytes);
        }
    }

    fn ends(&self) {
        if let Some(bar) = self.replace(None) {
            bar.finish_and_clear();
        }
    }
}
