//! `callwright health`: queries the health of a running proxy. For containers that have no other HTTP client.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::{StatusCode, Uri};
use http_body_util::Empty;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};

use super::errors::VerbResult;
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
    let scheme = if is_secured { "https" } else { "http" };
    let uri: Uri = format!("{scheme}://{}{path}", reachable(address)).parse()?;
    let tls = tls_config(client_certificate.as_deref().zip(client_key.as_deref()))?;
    runtime()?.block_on(async {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let connector = HttpsConnector::from((tcp, tls));
        let client = Client::builder(TokioExecutor::new()).build::<_, Empty<Bytes>>(connector);
        let answer = tokio::time::timeout(Duration::from_secs(timeout), client.get(uri.clone())).await;
        let answer = answer.map_err(|_| format!("{uri}: no answer within {timeout} s"))?;
        match answer.map_err(|error| format!("{uri}: {}; is the proxy running?", causes(&error)))?.status() {
            StatusCode::OK => {
                anstream::println!("{uri}: OK");
                Ok(())
            }
            status => Err(format!("{uri}: answers {status}").into()),
        }
    })
}

/// Returns the error with its chain of causes: the library's top-level message alone is too vague.
fn causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !message.ends_with(&words) {
            message = format!("{message}: {words}");
        }
        next = cause.source();
    }
    message
}

/// Replaces an unspecified address, which cannot be connected to, by loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Builds the client configuration. The proxy's certificate is not verified: it is issued for the name that clients
/// use, not for the loopback address. A status request discloses nothing. `client` is the client certificate and its
/// private key (PEM).
fn tls_config(client: Option<(&Path, &Path)>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)));
    let Some((certificate, key)) = client else { return Ok(builder.with_no_client_auth()) };
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| invalid_file(certificate, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| invalid_file(key, &error))?;
    builder.with_client_auth_cert(chain, private).map_err(|error| invalid_file(certificate, &error))
}

fn invalid_file(file: &Path, error: &dyn Error) -> String {
    format!("{}: {error}; name a PEM file", file.display())
}

/// Certificate verifier that accepts every certificate. The handshake signature is still verified.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
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
