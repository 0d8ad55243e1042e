//! `callwright serve`: runs the proxy until SIGTERM or SIGINT.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::downloads::Downloads;
use super::errors::VerbResult;
use crate::app::{self, App, Hangups};
use crate::config;

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
    super::runtime()?.block_on(async {
        // A start may take minutes, and SIGHUP must not end it.
        let hangups = Hangups::catch();
        let app = App::start_watched(loaded.settings.clone(), &loaded.base_dir, &Downloads::default()).await?;
        // One line for scripts; all other output goes to standard error.
        let mut out = std::io::stdout();
        writeln!(out, "callwright listening client={} operator={}", app.client_url(), app.operator_url())?;
        out.flush()?;
        let load = || config::load(&request, &config::process_environment);
        let signal = app.run(hangups, &loaded.settings, load).await;
        tracing::info!(signal, "shutting down; running turns may finish");
        app.stop().await;
        Ok(())
    })
}
