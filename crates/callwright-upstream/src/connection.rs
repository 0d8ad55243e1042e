//! Route to an upstream, TLS and trusted certificates.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::connector::{Connector, Route};
use super::pool::Pool;
use super::witness::WitnessedConnector;
use super::{BuildError, Settings};

/// Idle time before the first TCP keep-alive probe, and interval between probes. A vanished peer is detected before the
/// next request uses the connection.
const TCP_KEEPALIVE: Duration = Duration::from_secs(15);
/// Number of unanswered probes that end a connection.
const TCP_KEEPALIVE_PROBES: u32 = 3;
/// Maximum time for which sent data may stay unacknowledged.
#[cfg(target_os = "linux")]
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Application protocols offered in a TLS handshake (ALPN, RFC 7301), in order of preference.
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The connections to one upstream.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) pool: Pool,
    /// Authorization for an HTTP proxy, sent with every request.
    pub(super) proxy_authorization: Option<HeaderValue>,
}

impl Connection {
    /// Builds the pool. The route to `base` is determined once, from the proxy settings of the environment.
    pub(super) fn build(upstream: &str, settings: &Settings, base: &Uri) -> Result<Self, BuildError> {
        let proxy = Matcher::from_env().intercept(base);
        Self::build_via(proxy, upstream, settings, base)
    }

    fn build_via(
        proxy: Option<Intercept>,
        upstream: &str,
        settings: &Settings,
        base: &Uri,
    ) -> Result<Self, BuildError> {
        let authorities = authorities(&settings.ca_file)
            .map_err(|problem| BuildError::setting(upstream, "ca_file", format!("{}: {problem}", settings.ca_file)))?;
        let needs_tls = is_https(base) || proxy.as_ref().is_some_and(|proxy| is_https(proxy.uri()));
        // A container without certificates can still connect to an upstream without TLS.
        let tls = match tls(authorities, needs_tls) {
            Ok(tls) => tls,
            Err(error) => {
                return Err(BuildError::Client { upstream: upstream.to_owned(), message: error.to_string() });
            }
        };
        let timeout = Duration::from_secs(settings.connect_timeout_seconds);
        let mut proxy_authorization = None;
        let route = match proxy {
            None => Route::Direct(https(tcp(timeout), tls, &ALPN)),
            Some(proxy) => {
                check_scheme(upstream, &proxy)?;
                // The connection to the proxy itself uses HTTP/1.1.
                let to_proxy = https(tcp(timeout), tls.clone(), &[]);
                if is_https(base) {
                    let tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
                    let tunnel = match proxy.basic_auth() {
                        Some(authorization) => tunnel.with_auth(authorization.clone()),
                        None => tunnel,
                    };
                    Route::Tunnel(https(tunnel, tls, &ALPN))
                } else {
                    proxy_authorization = proxy.basic_auth().cloned();
                    Route::Proxy(to_proxy, proxy.uri().clone())
                }
            }
        };
        let idle_timeout = Duration::from_secs(settings.pool_idle_timeout_seconds);
        let pool = Pool::new(Connector::new(route, timeout), base, settings.pool_max_idle, idle_timeout)
            .map_err(|problem| BuildError::setting(upstream, "base_url", problem))?;
        Ok(Self { pool, proxy_authorization })
    }
}

fn check_scheme(upstream: &str, proxy: &Intercept) -> Result<(), BuildError> {
    match proxy.uri().scheme_str() {
        Some("http" | "https") => Ok(()),
        scheme => {
            let scheme = scheme.unwrap_or("none");
            let message =
                format!("the proxy of the environment must be an HTTP proxy (http:// or https://), not {scheme}");
            Err(BuildError::Client { upstream: upstream.to_owned(), message })
        }
    }
}

fn tcp(timeout: Duration) -> WitnessedConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    // This limit is shared by the addresses of a host name; connecting as a whole has the same limit.
    tcp.set_connect_timeout(Some(timeout));
    tcp.set_keepalive(Some(TCP_KEEPALIVE));
    tcp.set_keepalive_interval(Some(TCP_KEEPALIVE));
    tcp.set_keepalive_retries(Some(TCP_KEEPALIVE_PROBES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(TCP_USER_TIMEOUT));
    WitnessedConnector(tcp)
}

fn https<T>(transport: T, mut tls: ClientConfig, protocols: &[&[u8]]) -> HttpsConnector<T> {
    tls.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    HttpsConnector::from((transport, tls))
}

/// Builds the TLS configuration, which trusts the system's certificates and `authorities`, or nothing if TLS is not
/// needed.
fn tls(authorities: Vec<CertificateDer<'static>>, needed: bool) -> Result<ClientConfig, rustls::Error> {
    // A crypto provider installed by the program takes precedence.
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let builder = if needed {
        let verifier = Verifier::new_with_extra_roots(authorities, provider)?;
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

fn authorities(ca_file: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    if ca_file.is_empty() {
        return Ok(Vec::new());
    }
    let text = std::fs::read(ca_file).map_err(|error| error.to_string())?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => {
            Err("holds no PEM certificate (-----BEGIN CERTIFICATE-----)".to_owned())
        }
        Ok(certificates) => Ok(certificates),
        Err(_) => Err("not a file of PEM certificates".to_owned()),
    }
}

#[cfg(test)]
mod tests;
