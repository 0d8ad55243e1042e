//! The pooled HTTP client of one upstream: timeouts, TLS, trusted certificates.

use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, redirect};
use rustls::crypto::CryptoProvider;

use super::{BuildError, Settings};

/// Builds a client. `decode` undoes gzip, for servers that encode although identity was asked for.
pub(super) fn client(upstream: &str, settings: &Settings, decode: bool) -> Result<Client, BuildError> {
    ensure_crypto_provider();
    let builder = || {
        Client::builder()
            .gzip(decode)
            // A redirect is the client's to follow: keys must not go to another host.
            .redirect(redirect::Policy::none())
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_secs(settings.connect_timeout_seconds))
            .pool_idle_timeout(Duration::from_secs(settings.pool_idle_timeout_seconds))
            .pool_max_idle_per_host(settings.pool_max_idle)
    };
    let built = with_authorities(builder(), upstream, settings)?.build();
    // A container without certificates can still reach an upstream that needs none.
    let built = if settings.base_url.starts_with("http://") && settings.ca_file.is_empty() {
        built.or_else(|_| builder().tls_certs_only([]).build())
    } else {
        built
    };
    built.map_err(|error| BuildError::Client { upstream: upstream.to_owned(), message: format!("{error:?}") })
}

fn with_authorities(builder: ClientBuilder, upstream: &str, settings: &Settings) -> Result<ClientBuilder, BuildError> {
    if settings.ca_file.is_empty() {
        return Ok(builder);
    }
    let invalid = |problem: String| BuildError::Setting {
        upstream: upstream.to_owned(),
        key: "ca_file",
        message: format!("{}: {problem}", settings.ca_file),
    };
    let text = std::fs::read(&settings.ca_file).map_err(|error| invalid(error.to_string()))?;
    let certificates =
        Certificate::from_pem_bundle(&text).map_err(|_| invalid("not a file of PEM certificates".to_owned()))?;
    if certificates.is_empty() {
        return Err(invalid("holds no PEM certificate (-----BEGIN CERTIFICATE-----)".to_owned()));
    }
    Ok(builder.tls_certs_merge(certificates))
}

/// The client cannot be built without one, not even for plain HTTP. A program that installed its own keeps it.
fn ensure_crypto_provider() {
    if CryptoProvider::get_default().is_none() {
        // Another thread may have been quicker, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
