//! Requests of subcommands to the operator side of a running proxy.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::{Position, Url};

use super::setup::load_config;
use crate::config::Settings;
use callwright_types::Secret;

/// Maximum size of a response in bytes: a page of traces has less than 1 MB, a trace with bodies may have several.
const MAX_ANSWER_BYTES: usize = 256 * 1024 * 1024;

/// Address and credentials of the operator side.
#[derive(Debug, Args)]
struct OperatorArguments {
    /// Configuration file of the proxy. Default: CALLWRIGHT_CONFIG, then ./callwright.toml, then the built-in defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Operator listener, if it is not the configured one: HOST:PORT, or https://HOST:PORT for TLS.
    #[arg(long, value_name = "HOST:PORT", value_parser = operator_url)]
    operator: Option<String>,
    /// Certificate of the proxy (PEM), the only one that is trusted with TLS. Default: that of
    /// `server.operator_tls.certificate`.
    #[arg(long, value_name = "FILE")]
    server_certificate: Option<PathBuf>,
    /// Client certificate for the proxy (PEM), where `server.operator_tls.client_ca` requires one.
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_certificate: Option<PathBuf>,
    /// Private key of that certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    client_key: Option<PathBuf>,
    /// File with the operator token. Default: `server.operator_token` of the configuration.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Arguments of a subcommand that sends requests to the operator side.
#[derive(Debug, Args)]
pub(super) struct Remote<A: Args> {
    #[command(flatten)]
    pub(super) arguments: A,
    #[command(flatten)]
    operator: OperatorArguments,
}

impl<A: Args> Remote<A> {
    /// Creates the client, and returns it with the subcommand's own arguments. Requires a Tokio runtime.
    ///
    /// # Errors
    /// The configuration's problems, or a file that cannot be read.
    pub(super) fn connect(self) -> Result<(OperatorClient, A), Box<dyn Error + Send + Sync>> {
        Ok((OperatorClient::new(&self.operator)?, self.arguments))
    }
}

/// Error of a request to the operator side.
#[derive(Debug, thiserror::Error)]
pub(super) enum OperatorError {
    /// There is no response.
    #[error("{url}: {reason}; {hint} `--operator HOST:PORT` names another one")]
    Unreachable { url: String, reason: String, hint: &'static str },
    /// The operator token is missing or wrong.
    #[error(
        "the proxy requires its operator token: set `server.operator_token` in the configuration that `--config` names, or use --token-file"
    )]
    Token,
    /// The proxy reports an error.
    #[error("{0}")]
    Refused(String),
    /// The response is not one of this API.
    #[error("{url}: the answer is not one of callwright's operator side: {reason}")]
    Foreign { url: String, reason: String },
}

/// Client of the operator side.
pub(super) struct OperatorClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: String,
    token: Secret,
    /// Hint for the case that a request gets no response.
    hint: &'static str,
}

impl OperatorClient {
    fn new(arguments: &OperatorArguments) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let server = match (&arguments.operator, &arguments.config) {
            // Without a configuration of its own, the folder's may be of another proxy.
            (Some(_), None) => Settings::default().server,
            _ => load_config(arguments.config.clone())?.settings.server,
        };
        let tls = &server.operator_tls;
        let base = arguments.operator.clone().unwrap_or_else(|| base_url(server.operator_listen, tls.is_on()));
        let token = match &arguments.token_file {
            Some(file) => token_of(file)?,
            None => server.operator_token,
        };
        let client = arguments.client_certificate.as_deref().zip(arguments.client_key.as_deref());
        let configured = tls.is_on().then(|| PathBuf::from(&tls.certificate));
        let trusted = match (is_secured(&base), arguments.server_certificate.clone().or(configured)) {
            (false, _) => ServerTrust::Any,
            (true, Some(file)) => ServerTrust::Only(first_certificate(&file)?),
            (true, None) => return Err("--operator: name the proxy's certificate with --server-certificate".into()),
        };
        let hint = no_response_hint(&base, client.is_some());
        Ok(Self { client: https_client(client, trusted)?, base, token, hint })
    }

    /// Creates a client for a proxy with these settings on this machine. Requires a Tokio runtime.
    ///
    /// # Errors
    /// A certificate that cannot be read.
    pub(super) fn of_settings(settings: &Settings) -> Result<Self, String> {
        let server = &settings.server;
        Self::of_url(&base_url(server.operator_listen, server.operator_tls.is_on()), settings)
    }

    /// Creates a client for a proxy with these settings whose operator side has another address. Requires a Tokio runtime.
    ///
    /// # Errors
    /// A certificate that cannot be read.
    pub(super) fn of_url(base: &str, settings: &Settings) -> Result<Self, String> {
        let tls = &settings.server.operator_tls;
        let trusted = match tls.is_on() {
            true => ServerTrust::Only(first_certificate(Path::new(&tls.certificate))?),
            false => ServerTrust::Any,
        };
        let (client, token) = (https_client(None, trusted)?, settings.server.operator_token.clone());
        Ok(Self { client, base: base.to_owned(), token, hint: no_response_hint(base, false) })
    }

    /// Sends `GET` and returns the text of the response.
    pub(super) async fn text(&self, path: &str, query: &[(&str, String)]) -> Result<String, OperatorError> {
        let bytes = self.request(Method::GET, path, query, None).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sends `GET` and parses the response.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<T, OperatorError> {
        let bytes = self.request(Method::GET, path, query, None).await?;
        self.parsed(path, &bytes)
    }

    /// Sends `POST` with a JSON body and parses the response.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, OperatorError> {
        let bytes = self.request(Method::POST, path, &[], Some(body.to_string().into())).await?;
        self.parsed(path, &bytes)
    }

    fn parsed<T: DeserializeOwned>(&self, path: &str, bytes: &[u8]) -> Result<T, OperatorError> {
        serde_json::from_slice(bytes)
            .map_err(|error| OperatorError::Foreign { url: format!("{}{path}", self.base), reason: error.to_string() })
    }

    fn unreachable(&self, path: &str, reason: String) -> OperatorError {
        OperatorError::Unreachable { url: format!("{}{path}", self.base), reason, hint: self.hint }
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<Bytes>,
    ) -> Result<Bytes, OperatorError> {
        let url = format!("{}{path}{}", self.base, query_text(query));
        let mut request = Request::builder().method(method).uri(&url);
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if !self.token.is_empty() {
            let value = HeaderValue::from_str(&format!("Bearer {}", self.token.expose())).map(|mut value| {
                value.set_sensitive(true);
                value
            });
            request = request.header(AUTHORIZATION, value.map_err(|_| OperatorError::Token)?);
        }
        let request = request
            .body(Full::new(body.unwrap_or_default()))
            .map_err(|error| self.unreachable(path, error.to_string()))?;
        let exchange = async {
            let (head, body) = self.client.request(request).await.map_err(|error| causes(&error))?.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| causes(error.as_ref()))?;
            Ok((head.status, body.to_bytes()))
        };
        let answer = tokio::time::timeout(PATIENCE, exchange).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} s", PATIENCE.as_secs())));
        match answer.map_err(|reason| self.unreachable(path, reason))? {
            (status, body) if status.is_success() => Ok(body),
            (StatusCode::UNAUTHORIZED, _) => Err(OperatorError::Token),
            (status, body) => Err(refusal(&url, status, &body)),
        }
    }
}

/// Time limit of a request.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the message of an error response.
fn refusal(url: &str, status: StatusCode, body: &[u8]) -> OperatorError {
    let error: Option<Value> = serde_json::from_slice(body).ok();
    match error.as_ref().and_then(|error| error.pointer("/error/message")).and_then(Value::as_str) {
        Some(message) => OperatorError::Refused(super::plain::text(message)),
        None => OperatorError::Foreign { url: url.to_owned(), reason: format!("status {}", status.as_u16()) },
    }
}

/// Returns a text of a response, or a dash.
pub(super) fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or("-").to_owned()
}

/// Returns a path segment with an id that a person typed.
pub(super) fn segment(id: &str) -> String {
    utf8_percent_encode(id, NON_ALPHANUMERIC).to_string()
}

fn query_text(query: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (name, value) in query {
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(&format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    }
    text
}

fn token_of(file: &Path) -> Result<Secret, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("--token-file: {}: {error}", file.display()))?;
    let token = text.trim();
    if token.is_empty() {
        return Err(format!("--token-file: {} is empty", file.display()));
    }
    Ok(token.into())
}

/// Returns the URL of an operator listener. An unspecified address, which cannot be connected to, becomes loopback.
pub(super) fn base_url(address: SocketAddr, is_secured: bool) -> String {
    let scheme = if is_secured { "https" } else { "http" };
    format!("{scheme}://{}", reachable(address))
}

/// Parses the address of an operator listener to its URL.
pub(super) fn operator_url(text: &str) -> Result<String, String> {
    if let Ok(address) = text.parse() {
        return Ok(base_url(address, false));
    }
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&url).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    let authority = url.and_then(|url| (url.path() == "/").then(|| url[..Position::BeforePath].to_owned()));
    authority.ok_or_else(|| "expected HOST:PORT, or https://HOST:PORT for TLS".to_owned())
}

/// Whether requests to a URL use TLS.
fn is_secured(base: &str) -> bool {
    base.starts_with("https:")
}

/// Returns a hint for the case that a listener gives no response. One that requires a client certificate refuses a
/// client without one only after the client's part of the handshake, and its alert may be lost with the connection.
pub(super) fn no_response_hint(base: &str, has_certificate: bool) -> &'static str {
    if is_secured(base) && !has_certificate {
        "is the proxy running, and does it require a client certificate (`--client-certificate`)?"
    } else {
        "is the proxy running?"
    }
}

fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Returns the error with its chain of causes: the library's top-level message alone is too vague.
pub(super) fn causes(error: &(dyn Error + 'static)) -> String {
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

/// Certificates of the proxy that are trusted. They are issued for the name that clients use, not for the loopback
/// address, so names are not compared.
#[derive(Debug)]
pub(super) enum ServerTrust {
    /// Every certificate: for requests without a secret.
    Any,
    /// Only this certificate.
    Only(CertificateDer<'static>),
}

/// Creates a client that uses TLS for `https` URLs. `client` is the client certificate and its private key (PEM).
pub(super) fn https_client(
    client: Option<(&Path, &Path)>,
    trusted: ServerTrust,
) -> Result<Client<HttpsConnector<HttpConnector>, Full<Bytes>>, String> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    let connector = HttpsConnector::from((tcp, tls_config(client, trusted)?));
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

fn tls_config(client: Option<(&Path, &Path)>, trusted: ServerTrust) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let verifier = CertificateVerifier { provider, trusted };
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    let Some((certificate, key)) = client else { return Ok(builder.with_no_client_auth()) };
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| invalid_file(certificate, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| invalid_file(key, &error))?;
    builder.with_client_auth_cert(chain, private).map_err(|error| invalid_file(certificate, &error))
}

fn first_certificate(file: &Path) -> Result<CertificateDer<'static>, String> {
    CertificateDer::from_pem_file(file).map_err(|error| invalid_file(file, &error))
}

fn invalid_file(file: &Path, error: &dyn Error) -> String {
    format!("{}: {error}; name a PEM file", file.display())
}

/// Verifier by [`ServerTrust`]. The handshake signature is verified in any case.
#[derive(Debug)]
struct CertificateVerifier {
    provider: Arc<CryptoProvider>,
    trusted: ServerTrust,
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        presented: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.trusted {
            ServerTrust::Only(trusted) if trusted != presented => Err(CertificateError::UnknownIssuer.into()),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_on_loopback() {
        for (listened, asked) in [
            ("0.0.0.0:8788", "http://127.0.0.1:8788"),
            ("[::]:8788", "http://[::1]:8788"),
            ("127.0.0.1:1", "http://127.0.0.1:1"),
            ("192.0.2.7:8788", "http://192.0.2.7:8788"),
        ] {
            assert_eq!(base_url(listened.parse().unwrap(), false), asked);
        }
    }

    #[test]
    fn an_operator_listener_is_named_by_address_host_or_url() {
        for (written, expected) in [
            ("127.0.0.1:8788", "http://127.0.0.1:8788"),
            ("0.0.0.0:8788", "http://127.0.0.1:8788"),
            ("[::1]:8788", "http://[::1]:8788"),
            ("proxy.example:8788", "http://proxy.example:8788"),
            ("http://proxy:8788", "http://proxy:8788"),
            ("https://127.0.0.1:8788/", "https://127.0.0.1:8788"),
        ] {
            assert_eq!(operator_url(written).as_deref(), Ok(expected), "{written}");
        }
        for wrong in ["", "ftp://proxy:1", "http://proxy:1/admin", "https://", "a b:1"] {
            assert!(operator_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ids_and_queries_are_encoded() {
        assert_eq!(segment("../a b"), "%2E%2E%2Fa%20b");
        assert_eq!(query_text(&[("a", "x&y".to_owned()), ("b", "1".to_owned())]), "?a=x%26y&b=1");
    }
}
