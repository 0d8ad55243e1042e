//! Requests of subcommands to the operator side of a running proxy.

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::redirect::Policy;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::{Position, Url};

use super::plain;
use super::setup::load_config;
use crate::app::connected;
use crate::config::Settings;
use callwright_common::errors::request_failure;
use callwright_store::MAX_PAGE;
use callwright_types::Secret;

/// Time limit of a request.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fields of a query.
pub(super) type Query = Vec<(&'static str, String)>;

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

/// A list on the operator side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resource {
    /// Path of the list; that of an item is below it.
    pub(super) path: &'static str,
    /// Member of a page that has its items.
    pub(super) items: &'static str,
    /// Field of the query that continues the list.
    pub(super) cursor: &'static str,
}

impl Resource {
    /// Returns the path of the item with an id that a person typed.
    pub(super) fn item(&self, id: &str) -> String {
        format!("{}/{}", self.path, utf8_percent_encode(id, NON_ALPHANUMERIC))
    }
}

/// The pages of a list.
pub(super) struct Pages<'a> {
    client: &'a OperatorClient,
    resource: Resource,
    query: Query,
    cursor: Option<String>,
    /// Maximum number of items per page.
    pub(super) page: u64,
    /// Number of items that may follow.
    left: u64,
    /// Whether no item follows.
    pub(super) is_done: bool,
}

impl<'a> Pages<'a> {
    /// Lists the items that a query selects, at most `limit`; 0: all.
    pub(super) fn new(client: &'a OperatorClient, resource: Resource, query: Query, limit: u64) -> Self {
        let left = if limit > 0 { limit } else { u64::MAX };
        Self { client, resource, query, cursor: None, page: u64::from(MAX_PAGE), left, is_done: false }
    }

    /// Returns the next items; none at the end.
    pub(super) async fn next(&mut self) -> Result<Vec<Value>, String> {
        if self.is_done {
            return Ok(Vec::new());
        }
        let mut query = self.query.clone();
        query.push(("limit", self.left.min(self.page).to_string()));
        query.extend(self.cursor.take().map(|cursor| (self.resource.cursor, cursor)));
        let mut page: Value = self.client.get(self.resource.path, &query).await?;
        let items = page.get_mut(self.resource.items).map(Value::take);
        let Some(Value::Array(items)) = items else {
            return Err(self.client.foreign(self.resource.path, "it is no list"));
        };
        self.cursor = page.get("next").and_then(Value::as_str).map(str::to_owned);
        self.left = self.left.saturating_sub(items.len() as u64);
        self.is_done = self.cursor.is_none() || items.is_empty() || self.left == 0;
        Ok(items)
    }

    /// Returns all items.
    pub(super) async fn all(mut self) -> Result<Vec<Value>, String> {
        let mut all = Vec::new();
        while !self.is_done {
            all.extend(self.next().await?);
        }
        Ok(all)
    }
}

/// Client of the operator side.
pub(super) struct OperatorClient {
    http: reqwest::Client,
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
        let configured = tls.is_on().then(|| PathBuf::from(&tls.certificate));
        let trusted = match (is_secured(&base), arguments.server_certificate.clone().or(configured)) {
            (false, _) => None,
            (true, Some(file)) => Some(first_certificate(&file)?),
            (true, None) => return Err("--operator: name the proxy's certificate with --server-certificate".into()),
        };
        let identity = arguments.client_certificate.as_deref().zip(arguments.client_key.as_deref());
        let hint = no_response_hint(&base, identity.is_some());
        Ok(Self { http: http_client(identity, trusted, PATIENCE)?, base, token, hint })
    }

    /// Creates a client for a proxy with these settings on this machine, whose operator side may have another address.
    ///
    /// # Errors
    /// A certificate that cannot be read.
    pub(super) fn of_settings(settings: &Settings, base: Option<&str>) -> Result<Self, String> {
        let server = &settings.server;
        let tls = &server.operator_tls;
        let base = base.map_or_else(|| base_url(server.operator_listen, tls.is_on()), str::to_owned);
        let trusted = tls.is_on().then(|| first_certificate(Path::new(&tls.certificate))).transpose()?;
        let http = http_client(None, trusted, PATIENCE)?;
        let hint = no_response_hint(&base, false);
        Ok(Self { http, base, token: server.operator_token.clone(), hint })
    }

    /// Sends `GET` and returns the text of the response.
    pub(super) async fn text(&self, path: &str, query: &[(&str, String)]) -> Result<String, String> {
        self.request(Method::GET, path, query, None).await
    }

    /// Sends `GET` and parses the response.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, String)]) -> Result<T, String> {
        let text = self.text(path, query).await?;
        serde_json::from_str(&text).map_err(|error| self.foreign(path, &error.to_string()))
    }

    /// Sends `POST` with a JSON body and parses the response.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let text = self.request(Method::POST, path, &[], Some(body)).await?;
        serde_json::from_str(&text).map_err(|error| self.foreign(path, &error.to_string()))
    }

    fn foreign(&self, path: &str, reason: &str) -> String {
        format!("{}{path}: the answer is not one of callwright's operator side: {reason}", self.base)
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&Value>,
    ) -> Result<String, String> {
        let unreachable = |reason: String| {
            format!("{}{path}: {reason}; {} `--operator HOST:PORT` names another one", self.base, self.hint)
        };
        let mut url = Url::parse(&format!("{}{path}", self.base)).map_err(|error| unreachable(error.to_string()))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.http.request(method, url);
        if let Some(body) = body {
            request = request.json(body);
        }
        if !self.token.is_empty() {
            request = request.bearer_auth(self.token.expose());
        }
        let failed = |error: reqwest::Error| {
            unreachable(match error.is_timeout() {
                true => format!("no answer within {} s", PATIENCE.as_secs()),
                false => request_failure(&error),
            })
        };
        let answer = request.send().await.map_err(failed)?;
        let status = answer.status();
        let body = answer.text().await.map_err(failed)?;
        match status {
            status if status.is_success() => Ok(body),
            StatusCode::UNAUTHORIZED => {
                Err("the proxy requires its operator token: set `server.operator_token` in the \
                 configuration that `--config` names, or use --token-file"
                    .to_owned())
            }
            status => {
                let error: Value = serde_json::from_str(&body).unwrap_or_default();
                let message = error.pointer("/error/message").and_then(Value::as_str).map(plain::text);
                Err(message.unwrap_or_else(|| self.foreign(path, &format!("status {}", status.as_u16()))))
            }
        }
    }
}

/// Returns a text of a response by its JSON Pointer without the first slash, or a dash.
pub(super) fn text(value: &Value, name: &str) -> String {
    match value.pointer(&format!("/{name}")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "-".to_owned(),
        Some(other) => other.to_string(),
    }
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
    format!("{scheme}://{}", SocketAddr::new(connected(address.ip()), address.port()))
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

/// Creates an HTTP client. `identity` is the client certificate and its private key (PEM), `trusted` the only certificate
/// of the proxy that is accepted; `None` accepts every one, for requests without a secret.
pub(super) fn http_client(
    identity: Option<(&Path, &Path)>,
    trusted: Option<CertificateDer<'static>>,
    timeout: Duration,
) -> Result<reqwest::Client, String> {
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls_config(identity, trusted)?);
    let client = builder.no_proxy().redirect(Policy::none()).timeout(timeout).build();
    client.map_err(|error| request_failure(&error))
}

fn tls_config(
    identity: Option<(&Path, &Path)>,
    trusted: Option<CertificateDer<'static>>,
) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = CertificateVerifier { algorithms: provider.signature_verification_algorithms, trusted };
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    let Some((certificate, key)) = identity else { return Ok(builder.with_no_client_auth()) };
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

/// Verifies that a server has the trusted certificate, and its key. Certificates are issued for the name that clients use,
/// not for the loopback address, and often by an authority that only clients have: neither is compared.
#[derive(Debug)]
struct CertificateVerifier {
    algorithms: WebPkiSupportedAlgorithms,
    trusted: Option<CertificateDer<'static>>,
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
            Some(trusted) if trusted != presented => Err(CertificateError::UnknownIssuer.into()),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
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
    fn ids_are_encoded() {
        let resource = Resource { path: "/admin/traces", items: "traces", cursor: "cursor" };
        assert_eq!(resource.item("../a b"), "/admin/traces/%2E%2E%2Fa%20b");
    }
}
