//! Requests to the embedding endpoint.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use url::Url;

use super::refusal::{EmbeddingFailure, refused};
use crate::embedding::{BuildError, EndpointSettings};
use callwright_common::errors::request_failure;
use callwright_types::Secret;

/// Value of the `user-agent` header.
const USER_AGENT: &str = concat!("callwright/", env!("CARGO_PKG_VERSION"));

/// A client of one endpoint.
#[derive(Debug)]
pub(in crate::embedding) struct EmbeddingClient {
    http: reqwest::Client,
    url: Url,
    header: Option<(HeaderName, HeaderValue)>,
    /// The key, which no message may contain.
    key: Secret,
    connect_retries: u32,
    max_answer_bytes: usize,
}

impl EmbeddingClient {
    pub(in crate::embedding) fn build(settings: &EndpointSettings, base_dir: &Path) -> Result<Self, BuildError> {
        // reqwest panics if the process has no crypto provider; a second installation has no effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            // A redirect would send the key to another address.
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(Duration::from_secs(settings.connect_timeout_seconds))
            .timeout(Duration::from_secs(settings.timeout_seconds));
        let builder = certificates(&settings.ca_file, base_dir)?
            .into_iter()
            .fold(builder, reqwest::ClientBuilder::add_root_certificate);
        let http =
            builder.build().map_err(|error| BuildError::setting("embedding.endpoint", request_failure(&error)))?;
        Ok(Self {
            http,
            url: url(&settings.base_url)?,
            header: header(settings)?,
            key: settings.api_key.clone(),
            connect_retries: settings.connect_retries,
            max_answer_bytes: settings.max_answer_bytes,
        })
    }

    /// Returns the requested URL: scheme, host, port and path. It contains no credentials.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Sends a request body and reads the body of a successful response. Only a failed connection is retried, because a
    /// request that was sent may have been charged.
    pub(super) async fn send(&self, body: Bytes) -> Result<Bytes, EmbeddingFailure> {
        let mut retries = self.connect_retries;
        let response = loop {
            match self.request(body.clone()).send().await {
                Ok(response) => break response,
                Err(error) if error.is_connect() && retries > 0 => retries -= 1,
                Err(error) => return Err(self.failed(&error)),
            }
        };
        let status = response.status();
        let answer = self.body(response).await;
        if status.is_success() { answer } else { Err(refused(status, &answer.unwrap_or_default(), self.key.expose())) }
    }

    fn request(&self, body: Bytes) -> reqwest::RequestBuilder {
        let request = self.http.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        match &self.header {
            Some((name, value)) => request.header(name, value),
            None => request,
        }
    }

    async fn body(&self, mut response: reqwest::Response) -> Result<Bytes, EmbeddingFailure> {
        let mut answer = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if answer.len() + piece.len() > self.max_answer_bytes {
                return Err(EmbeddingFailure::passing(format!(
                    "the response is larger than `embedding.endpoint.max_answer_bytes` ({}); reduce the texts per request \
                     (`embedding.batch_texts`), or increase the limit",
                    self.max_answer_bytes
                )));
            }
            answer.extend_from_slice(&piece);
        }
        Ok(answer.into())
    }

    fn failed(&self, error: &reqwest::Error) -> EmbeddingFailure {
        let host = self.host();
        EmbeddingFailure::lasting(if error.is_connect() {
            format!("no connection to {host}: {}; check `embedding.endpoint.base_url`", request_failure(error))
        } else if error.is_timeout() {
            format!("{host} did not answer within `embedding.endpoint.timeout_seconds`")
        } else {
            format!("the connection to {host} broke: {}", request_failure(error))
        })
    }
}

fn url(base: &str) -> Result<Url, BuildError> {
    let url = parsed_url(base)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(invalid_url("is not an http or https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid_url("must not contain credentials; set the key in `embedding.endpoint.api_key`"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid_url("must end with its path: no ? and no #"));
    }
    parsed_url(&format!("{}/embeddings", url.as_str().trim_end_matches('/')))
}

fn parsed_url(text: &str) -> Result<Url, BuildError> {
    Url::parse(text).map_err(|error| invalid_url(&format!("is not a URL ({error})")))
}

/// The message does not quote the URL, because it may contain credentials.
fn invalid_url(reason: &str) -> BuildError {
    let reason = format!("{reason}; use the API's base URL, such as https://api.openai.com/v1");
    BuildError::setting("embedding.endpoint.base_url", reason)
}

/// Returns the header that carries the key, if there is one.
fn header(settings: &EndpointSettings) -> Result<Option<(HeaderName, HeaderValue)>, BuildError> {
    if settings.api_key.is_empty() {
        return Ok(None);
    }
    let name: HeaderName = settings.api_key_header.parse().map_err(|_| {
        let reason = format!("`{}` is not a header name", settings.api_key_header);
        BuildError::setting("embedding.endpoint.api_key_header", reason)
    })?;
    let key = settings.api_key.expose();
    let value = if name == AUTHORIZATION { format!("Bearer {key}") } else { key.to_owned() };
    let mut value = HeaderValue::try_from(value).map_err(|_| {
        let reason = "has characters not allowed in a header, such as a line break";
        BuildError::setting("embedding.endpoint.api_key", reason)
    })?;
    value.set_sensitive(true);
    Ok(Some((name, value)))
}

fn certificates(file: &str, base_dir: &Path) -> Result<Vec<reqwest::Certificate>, BuildError> {
    if file.is_empty() {
        return Ok(Vec::new());
    }
    let unusable = |reason: String| {
        BuildError::setting("embedding.endpoint.ca_file", format!("no PEM certificates in `{file}`: {reason}"))
    };
    let pem = std::fs::read(base_dir.join(file)).map_err(|error| unusable(error.to_string()))?;
    let certificates =
        reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| unusable(request_failure(&error)))?;
    if certificates.is_empty() { Err(unusable("the file contains none".to_owned())) } else { Ok(certificates) }
}
