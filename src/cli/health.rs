//! `callwright health`: queries the health of a running proxy. For containers that have no other HTTP client.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use http::{StatusCode, Uri};

use super::errors::VerbResult;
use super::operator::{self, ServerTrust};
use super::output::outln;
use super::setup::{load_config, runtime};

/// Arguments of `health`.
#[derive(Debug, Args)]
pub(super) struct HealthArguments {
    /// Configuration file of the proxy. Default: CALLWRIGHT_CONFIG, then ./callwright.toml, then the built-in defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Operator listener, if it is not the configured one: HOST:PORT, or https://HOST:PORT for TLS. The proxy's
    /// certificate is not verified.
    #[arg(long, value_name = "HOST:PORT", value_parser = operator::operator_url)]
    operator: Option<String>,
    /// Client certificate for the proxy (PEM), where `server.operator_tls.client_ca` requires one.
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_certificate: Option<PathBuf>,
    /// Private key of that certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    client_key: Option<PathBuf>,
    /// Query readiness to serve turns (`/readyz`) instead of liveness (`/healthz`).
    #[arg(long)]
    ready: bool,
}

/// Time limit of the answer: a health check of a container has 6 s.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(arguments: HealthArguments) -> VerbResult {
    let HealthArguments { config: file, operator, client_certificate, client_key, ready } = arguments;
    let base = match operator {
        Some(base) => base,
        None => {
            let server = load_config(file)?.settings.server;
            operator::base_url(server.operator_listen, server.operator_tls.is_on())
        }
    };
    let path = if ready { "/readyz" } else { "/healthz" };
    let uri: Uri = format!("{base}{path}").parse()?;
    let identity = client_certificate.as_deref().zip(client_key.as_deref());
    runtime()?.block_on(async {
        // A status request discloses nothing.
        let client = operator::https_client(identity, ServerTrust::Any)?;
        let answer = tokio::time::timeout(PATIENCE, client.get(uri.clone())).await;
        let answer = answer.map_err(|_| format!("{uri}: no answer within {} s", PATIENCE.as_secs()))?;
        let hint = operator::no_response_hint(&base, identity.is_some());
        match answer.map_err(|error| format!("{uri}: {}; {hint}", operator::causes(&error)))?.status() {
            StatusCode::OK => {
                outln!("{uri}: OK");
                Ok(())
            }
            status => Err(format!("{uri}: answers {status}").into()),
        }
    })
}
