//! `callwright health`: asks a running proxy whether it is well. For containers, which hold no other program that could ask.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{StatusCode, Uri};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use super::errors::VerbResult;
use crate::config;

/// Arguments of `health`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The configuration that the proxy runs with; without it CALLWRIGHT_CONFIG, then ./callwright.toml, then the built-in defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address of the operator side, where it is not the configured one.
    #[arg(long, value_name = "ADDRESS:PORT")]
    operator: Option<SocketAddr>,
    /// Ask whether turns can be served (`/readyz`), not only whether the process runs (`/healthz`).
    #[arg(long)]
    ready: bool,
    /// Seconds to wait for the answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    timeout: u64,
}

pub(super) fn run(arguments: Arguments) -> VerbResult {
    let Arguments { config: file, operator, ready, timeout } = arguments;
    let address = match operator {
        Some(address) => address,
        None => {
            let request = config::Request { file, ..config::Request::default() };
            config::load(&request, &config::process_environment)?.settings.server.operator_listen
        }
    };
    let path = if ready { "/readyz" } else { "/healthz" };
    let uri: Uri = format!("http://{}{path}", reachable(address)).parse()?;
    super::runtime()?.block_on(async {
        let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
        let answer = tokio::time::timeout(Duration::from_secs(timeout), client.get(uri.clone())).await;
        let answer = answer.map_err(|_| format!("{uri}: no answer within {timeout} s"))?;
        match answer.map_err(|error| format!("{uri}: {error}; is the proxy running?"))?.status() {
            StatusCode::OK => {
                anstream::println!("{uri}: OK");
                Ok(())
            }
            status => Err(format!("{uri}: answers {status}").into()),
        }
    })
}

/// An address that one can connect to: who listens on all addresses listens on loopback too.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_on_loopback() {
        for (listened, asked) in [
            ("0.0.0.0:8788", "127.0.0.1:8788"),
            ("[::]:8788", "[::1]:8788"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("192.0.2.7:8788", "192.0.2.7:8788"),
        ] {
            assert_eq!(reachable(listened.parse().unwrap()).to_string(), asked);
        }
    }
}
