//! `callwright serve`: runs the proxy until SIGTERM or SIGINT.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::errors::VerbResult;
use super::output::outln;
use super::plain;
use super::quickstart::{LOOPBACK, Provider, Quickstart, tool_documents};
use super::setup::runtime;
use crate::app::{self, App, Hangups, ToolsetState};
use crate::config::{self, Settings};

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
    /// Serve the operations of this OpenAPI document as tools, without any file: the configuration is made from these
    /// flags, and traces are kept in memory. Tool APIs on this machine may be called. May be given several times.
    #[arg(long, value_name = "FILE_OR_URL", conflicts_with = "config", requires = "model")]
    openapi: Vec<String>,
    /// Base URL of the model provider, without any file. Default with --openapi: CALLWRIGHT_UPSTREAM_URL,
    /// then OPENAI_BASE_URL, then OpenAI's API.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    upstream: Option<String>,
    /// Model name that clients use, as the provider spells it; its requests get the tools of --openapi.
    #[arg(long, value_name = "NAME", requires = "openapi")]
    model: Option<String>,
    /// Base URL of the API of --openapi. Default: the document's server.
    #[arg(long, value_name = "URL", requires = "openapi")]
    api_url: Option<String>,
    /// Record texts and values of all turns in their traces, whatever their policies.
    #[arg(long)]
    record: bool,
    /// Environment variable with the provider's key. Default: OPENAI_API_KEY without --upstream; otherwise the keys of
    /// clients are forwarded.
    #[arg(long, value_name = "NAME", requires = "upstream")]
    api_key_variable: Option<String>,
}

impl ServeArguments {
    /// Returns the configuration of the flags; `None` if a file has it.
    fn quickstart(&self) -> Option<Quickstart> {
        if self.openapi.is_empty() && self.upstream.is_none() {
            return None;
        }
        let provider = Provider {
            base_url: self.upstream.clone().unwrap_or_default(),
            key_variable: self.api_key_variable.clone().unwrap_or_default(),
        };
        Some(Quickstart {
            provider,
            model: self.model.clone().unwrap_or_default(),
            documents: tool_documents(&self.openapi, self.api_url.as_deref().unwrap_or_default()),
            allows_loopback: !self.openapi.is_empty(),
        })
    }
}

pub(super) fn run(arguments: ServeArguments) -> VerbResult {
    let quickstart = arguments.quickstart();
    let ServeArguments { config: file, listen, operator_listen, record, .. } = arguments;
    let request = config::ConfigRequest { file, listen, operator_listen };
    let load = || {
        let mut loaded = match &quickstart {
            Some(quickstart) => quickstart.in_memory(listen, operator_listen),
            None => config::load(&request, &config::process_environment),
        }?;
        loaded.settings.pipeline.record_bodies = record;
        Ok(loaded)
    };
    let loaded = load()?;
    let _delayed_lines = app::start_logs(&loaded.settings)?;
    runtime()?.block_on(async {
        // A start may take minutes, and SIGHUP must not end it.
        let hangups = Hangups::catch();
        let app = App::start(loaded.settings.clone(), &loaded.base_dir).await?;
        // The first line is for scripts.
        let mut out = std::io::stdout();
        writeln!(out, "callwright listening client={} operator={}", app.client_url(), app.operator_url())?;
        out.flush()?;
        print_summary(&app, &loaded.settings, quickstart.as_ref());
        let signal = app.run(hangups, &loaded.settings, load).await;
        tracing::info!(signal, "shutting down; running turns may finish");
        app.stop().await;
        Ok(())
    })
}

/// Prints where clients and operators find the proxy, and what it offers.
fn print_summary(app: &App, settings: &Settings, quickstart: Option<&Quickstart>) {
    let models: Vec<&str> = settings.aliases.keys().map(String::as_str).collect();
    let models = if models.is_empty() { String::new() } else { format!("   models with tools: {}", models.join(", ")) };
    outln!("  clients   {}/v1   (base URL){}", app.client_url(), plain::text(&models));
    outln!("  console   {}/console", app.operator_url());
    for ToolsetState { name, tools, callable, obstacles } in app.toolset_states() {
        outln!("  toolset   {}: {callable} of {tools} tools callable", plain::text(&name));
        obstacles.iter().for_each(|obstacle| outln!("            {}", plain::text(obstacle)));
    }
    if settings.pipeline.record_bodies {
        outln!(
            "  record    texts and values of all turns are in their traces: `callwright traces show ID`, or the console"
        );
    }
    for (name, upstream) in &settings.upstreams {
        if let Some(meant) = upstream.base_url_with_version() {
            let base_url = plain::text(&upstream.base_url);
            outln!("  warning   upstream `{name}`: {base_url} has no path; did you mean `{}`?", plain::text(&meant));
        }
    }
    let Some(quickstart) = quickstart else { return };
    if quickstart.allows_loopback {
        outln!("  rule      tool APIs on this machine may be called, because --openapi is for development:");
        outln!("            executor.allowed_addresses = {LOOPBACK:?}");
    }
    outln!("  rule      nothing is kept on disk: traces and approvals end with the process");
    outln!("            `callwright init` writes these settings to a file");
}
