//! `callwright health`: queries the health of a running proxy. For containers that have no other HTTP client.

use std::net::SocketAddr;
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
    /// Address of the operator listener, if it is not the configured one.
    #[arg(long, value_name = "ADDRESS:PORT")]
    operator: Option<SocketAddr>,
    /// Use TLS for the address of --operator; for the configured address the configuration decides. The proxy's
    /// certificate is not verified.
    #[arg(long, requires = "operator")]
    tls: bool,
    /// Client certificate for the proxy (PEM), where `server.operator_tls.client_ca` requires one.
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_certificate: Option<PathBuf>,
    /// Private key of that certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    client_key: Option<PathBuf>,
    /// Query readiness to serve turns (`/readyz`) instead of liveness (`/healthz`).
    #[arg(long)]
    ready: bool,
    /// Seconds to wait for the answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    timeout: u64,
}

pub(super) fn run(arguments: HealthArguments) -> VerbResult {
    let HealthArguments { config: file, operator, tls, client_certificate, client_key, ready, timeout } = arguments;
    let (address, is_secured) = match operator {
        Some(address) => (address, tls),
        None => {
            let server = load_config(file)?.settings.server;
            (server.operator_listen, server.operator_tls.is_on())
        }
    };
    let path = if ready { "/readyz" } else { "/healthz" };
    let uri: Uri = format!("{}{path}", operator::base_url(address, is_secured)).parse()?;
    let identity = client_certificate.as_deref().zip(client_key.as_deref());
    runtime()?.block_on(async {
        // A status request discloses nothing.
        let client = operator::https_client(identity, ServerTrust::Any)?;
        let answer = tokio::time::timeout(Duration::from_secs(timeout), client.get(uri.clone())).await;
        let answer = answer.map_err(|_| format!("{uri}: no answer within {timeout} s"))?;
        let hint = operator::no_response_hint(is_secured, identity.is_some());
        match answer.map_err(|error| format!("{uri}: {}; {hint}", operator::causes(&error)))?.status() {
            StatusCode::OK => {
                outln!("{uri}: OK");
                Ok(())
            }
            status => Err(format!("{uri}: answers {status}").into()),
        }
    })
}
