//! `callwright health`: queries the health of a running proxy. For containers that have no other HTTP client.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use http::StatusCode;

use super::errors::VerbResult;
use super::operator;
use super::output::outln;
use super::setup::{load_config, runtime};
use callwright_common::errors::request_failure;

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
    let url = format!("{base}{}", if ready { "/readyz" } else { "/healthz" });
    let identity = client_certificate.as_deref().zip(client_key.as_deref());
    // A status request discloses nothing, so that any certificate of the proxy will do.
    let client = operator::http_client(identity, None, PATIENCE)?;
    match runtime()?.block_on(async { client.get(&url).send().await }) {
        Ok(answer) if answer.status() == StatusCode::OK => {
            outln!("{url}: OK");
            Ok(())
        }
        Ok(answer) => Err(format!("{url}: answers {}", answer.status()).into()),
        Err(error) if error.is_timeout() => Err(format!("{url}: no answer within {} s", PATIENCE.as_secs()).into()),
        Err(error) => {
            let hint = operator::no_response_hint(&base, identity.is_some());
            Err(format!("{url}: {}; {hint}", request_failure(&error)).into())
        }
    }
}
