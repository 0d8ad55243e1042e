//! `callwright run`: runs a coding agent through the proxy, and reports afterwards what was judged and changed.

mod client;
mod report;

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};

use self::client::{Client, Launch, Route};
use super::errors::{ClientStatus, VerbError, VerbResult};
use super::operator::{self, OperatorClient};
use super::plain;
use super::quickstart::{Provider, Quickstart};
use super::setup::{load_config, runtime};
use super::traces::TRACES;
use crate::app::App;
use crate::config::{ConfigError, LoadedConfig, Settings, process_environment};
use callwright_types::Protocol;

/// Time limit for the last turns to end and their traces to be stored. Turns of other clients may take longer.
const SETTLING: Duration = Duration::from_secs(2);

/// Time between two queries of the state.
const POLL: Duration = Duration::from_millis(20);

/// Metrics that are 0 once all turns have ended and their traces are stored.
const UNSETTLED: [&str; 2] = ["callwright_turns_in_flight", "callwright_traces_waiting"];

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(super) struct RunArguments {
    /// Configuration file of the proxy. Default: CALLWRIGHT_CONFIG, then ./callwright.toml. A proxy that already runs
    /// with it is used.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Base URL of the model provider, without any file. Default without a configuration: CALLWRIGHT_UPSTREAM_URL, then
    /// OPENAI_BASE_URL or ANTHROPIC_BASE_URL, then the client's own provider.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    upstream: Option<String>,
    /// Model that the client requests. Default: its own.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Command line of the client. `codex`, `claude` and `opencode` get what they need; any other command gets the
    /// variables of the official SDKs.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn run(arguments: RunArguments) -> VerbResult {
    let RunArguments { config, upstream, model, command } = arguments;
    let Some((program, own_arguments)) = command.split_first() else { return Err("no command is given".into()) };
    let client = Client::of_program(Path::new(program));
    let loaded = configuration(client, config, upstream)?;
    runtime()?.block_on(async {
        let proxy = Proxy::find_or_start(&loaded).await?;
        let (upstream_url, has_key) = provider(&loaded.settings, client.protocol());
        let route = Route { proxy_url: &proxy.client_url, upstream_url, has_key, model: model.as_deref() };
        let launch = Launch::new(client, route, &process_environment);
        let started = Timestamp::now();
        let mut command = Command::new(program);
        command.args(&launch.arguments).args(own_arguments).envs(launch.variables);
        let child = command.spawn().map_err(|error| format!("{}: {error}", Path::new(program).display()));
        let status = match child {
            Ok(child) => wait(child).await.map_err(Into::into),
            Err(error) => Err(error.into()),
        };
        if status.is_ok() {
            proxy.report(started).await;
        }
        if let Some(app) = proxy.started {
            app.stop().await;
        }
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(ClientStatus(status).into()),
            Err(error) => Err(error),
        }
    })
}

/// Returns the configuration of the proxy.
fn configuration(client: Client, file: Option<PathBuf>, upstream: Option<String>) -> Result<LoadedConfig, ConfigError> {
    let base_url = match upstream {
        Some(base_url) => base_url,
        None => {
            let loaded = load_config(file)?;
            if loaded.file.is_some() {
                return Ok(loaded);
            }
            let (variable, address) = client.usual_provider();
            let named = ["CALLWRIGHT_UPSTREAM_URL", variable].into_iter().filter_map(process_environment);
            let named = named.filter_map(|value| value.into_string().ok()).find(|value| !value.is_empty());
            named.unwrap_or_else(|| address.to_owned())
        }
    };
    Quickstart { provider: Provider { base_url, ..Provider::default() }, ..Quickstart::default() }.in_memory(None, None)
}

/// Returns the base URL of the provider of a protocol, and whether the proxy has its key.
fn provider(settings: &Settings, protocol: Protocol) -> (&str, bool) {
    let default = settings.upstreams.get(&settings.default_upstream);
    let serving = default.into_iter().chain(settings.upstreams.values());
    let found = serving.clone().find(|upstream| upstream.protocols.contains(&protocol)).or(default);
    found.map_or(("", false), |upstream| (upstream.base_url.as_str(), !upstream.api_key.is_empty()))
}

/// The proxy that the client uses.
struct Proxy {
    client_url: String,
    operator: OperatorClient,
    /// The proxy that ends with the client; `None` for one that ran before.
    started: Option<App>,
}

impl Proxy {
    async fn find_or_start(loaded: &LoadedConfig) -> Result<Self, VerbError> {
        let server = &loaded.settings.server;
        if loaded.file.is_some() {
            let operator = OperatorClient::of_settings(&loaded.settings, None)?;
            if operator.text(TRACES.path, &[("limit", "1".to_owned())]).await.is_ok() {
                let client_url = operator::base_url(server.listen, server.tls.is_on());
                return Ok(Self { client_url, operator, started: None });
            }
        }
        let mut settings = loaded.settings.clone();
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        (settings.server.listen, settings.server.operator_listen) = (free, free);
        // Only this machine reaches the listeners.
        (settings.server.tls, settings.server.operator_tls) = Default::default();
        let app = App::start(settings.clone(), &loaded.base_dir).await?;
        let operator = OperatorClient::of_settings(&settings, Some(app.operator_url()))?;
        Ok(Self { client_url: app.client_url().to_owned(), operator, started: Some(app) })
    }

    /// Prints what happened to standard error, because the client's output belongs to the caller.
    async fn report(&self, since: Timestamp) {
        let is_own = self.started.is_some();
        let of_others = if is_own { "" } else { " (turns of other clients included)" };
        // The report names the traces that it finds, with or without the last ones.
        let _ = tokio::time::timeout(SETTLING, settled(&self.operator)).await;
        match report::since(&self.operator, since).await {
            Ok(text) => anstream::eprint!("callwright{of_others}: {text}"),
            Err(error) => anstream::eprintln!("callwright: {}", plain::text(&error)),
        }
        if !is_own {
            anstream::eprintln!("  details: callwright traces show ID");
        }
    }
}

/// Waits until all turns have ended and their traces are stored. Returns at once if the proxy does not answer.
async fn settled(operator: &OperatorClient) {
    while let Ok(metrics) = operator.text("/metrics", &[]).await {
        if is_settled(&metrics) {
            return;
        }
        tokio::time::sleep(POLL).await;
    }
}

fn is_settled(metrics: &str) -> bool {
    let is_zero = |name: &&str| metrics.lines().any(|line| line.split_once(' ') == Some((*name, "0")));
    UNSETTLED.iter().all(is_zero)
}

/// Waits for the client. An interrupt from the terminal reaches the client as well, which decides what it means.
async fn wait(mut child: Child) -> std::io::Result<ExitStatus> {
    let mut ended = signal(SignalKind::child())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        tokio::select! {
            _ = ended.recv() => {}
            _ = interrupt.recv() => {}
            _ = terminate.recv() => child.kill()?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_telemetry::Metrics;

    #[test]
    fn turns_that_run_and_traces_that_wait_are_not_settled() {
        let metrics = Metrics::new();
        assert!(is_settled(&metrics.render()), "{}", metrics.render());
        let turn = metrics.turn_started();
        assert!(!is_settled(&metrics.render()));
        drop(turn);
        metrics.traces_waiting.set(3);
        assert!(!is_settled(&metrics.render()));
    }
}
