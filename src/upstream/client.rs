//! One upstream: the requests that are made to it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request, Response, Uri};
use hyper::body::Incoming;
use tokio::time::{sleep, timeout};
use url::Url;

use super::body::RequestBody;
use super::connection::Connection;
use super::failure::Failures;
use super::headers::HeaderRules;
use super::tool_calls::NativeModels;
use super::{Answer, BuildError, Settings, ToolCalls};
use crate::domain::{UpstreamFailure, UpstreamFailureKind};

/// Pause before a connection is tried again, doubled each time: long enough for a restarting server's listener to be back,
/// short enough to go unnoticed in an answer that takes seconds.
const CONNECT_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A provider's endpoint with its pooled connections.
#[derive(Debug)]
pub struct Upstream {
    failures: Failures,
    settings: Settings,
    /// `base_url` without a slash at its end.
    base: String,
    base_url: Url,
    chat_uri: Uri,
    rules: HeaderRules,
    native: NativeModels,
    connection: Connection,
}

impl Upstream {
    /// Builds the client and checks the settings.
    pub(super) fn build(name: &str, settings: &Settings, is_default: bool) -> Result<Self, BuildError> {
        let base = settings.base_url.trim_end_matches('/').to_owned();
        let url = check_base_url(name, &base)?;
        check_times(name, settings)?;
        let invalid = || setting(name, "base_url", "cannot be extended by a path");
        let chat_url = Url::parse(&format!("{base}/chat/completions")).map_err(|_| invalid())?;
        let chat_uri: Uri = chat_url.as_str().parse().map_err(|_| invalid())?;
        Ok(Self {
            failures: Failures::of(name),
            rules: HeaderRules::build(name, settings, is_default)?,
            native: NativeModels::default(),
            connection: Connection::build(name, settings, &chat_uri)?,
            base_url: url,
            chat_uri,
            base,
            settings: settings.clone(),
        })
    }

    /// The name in the configuration.
    pub fn name(&self) -> &str {
        self.failures.name()
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Bytes that a judged answer may have: [`Settings::max_answer_bytes`].
    pub fn max_answer_bytes(&self) -> usize {
        self.settings.max_answer_bytes
    }

    /// Bytes that an event of a judged stream may have: [`Settings::max_event_bytes`].
    pub fn max_event_bytes(&self) -> usize {
        self.settings.max_event_bytes
    }

    /// Is it known to deliver this model's calls as `tool_calls`, so that a text is rather a text?
    pub fn delivers_calls(&self, model: &str) -> bool {
        match self.settings.tool_calls {
            ToolCalls::Native => true,
            ToolCalls::Text => false,
            ToolCalls::Auto => self.native.contains(model),
        }
    }

    /// Notes that it delivered a call of this model as `tool_calls`.
    pub fn delivered_call(&self, model: &str) {
        self.native.add(model);
    }

    /// Posts a body to `chat/completions` and waits for the head of the answer. Identity encoding is asked for.
    ///
    /// # Errors
    /// When no answer comes. An HTTP error status is an answer.
    pub async fn chat(&self, body: Bytes, client_headers: &HeaderMap) -> Result<Answer, UpstreamFailure> {
        let mut request = Request::new(RequestBody::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.chat_uri.clone();
        *request.headers_mut() = self.rules.of_chat(client_headers);
        let response = self.send(request).await?;
        let answer = Answer::new(response, &self.failures, &self.settings, true);
        match answer.undecodable() {
            Some(failure) if answer.status.is_success() => Err(failure),
            _ => Ok(answer),
        }
    }

    /// Passes a request through untouched. `path_and_query` is what stands below `/v1`, with its leading slash.
    ///
    /// # Errors
    /// When no answer comes, or the path leads out of the base URL. An HTTP error status is an answer.
    pub async fn forward(
        &self,
        method: Method,
        path_and_query: &str,
        client_headers: &HeaderMap,
        body: RequestBody,
    ) -> Result<Answer, UpstreamFailure> {
        let body = if has_body(&method, client_headers) { body } else { RequestBody::default() };
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.uri_below(path_and_query)?;
        *request.headers_mut() = self.rules.of_forward(client_headers);
        let response = self.send(request).await?;
        Ok(Answer::new(response, &self.failures, &self.settings, false))
    }

    /// `..` must not lead to what the operator did not configure.
    fn uri_below(&self, path_and_query: &str) -> Result<Uri, UpstreamFailure> {
        let url = Url::parse(&format!("{}{path_and_query}", self.base)).ok();
        let base_path = self.base_url.path().trim_end_matches('/');
        let is_below = |url: &Url| {
            url.path().strip_prefix(base_path).is_some_and(|rest| rest.starts_with('/'))
                && url.origin() == self.base_url.origin()
        };
        let url = url.filter(is_below).ok_or_else(|| {
            self.failures
                .failure(UpstreamFailureKind::Malformed, "the request's path leads out of the upstream's base URL")
        })?;
        url.as_str().parse().map_err(|error| {
            self.failures.failure(UpstreamFailureKind::Malformed, format!("the request could not be made: {error}"))
        })
    }

    /// Sends, and tries again where no connection could be made: nothing was sent then.
    async fn send(&self, mut request: Request<RequestBody>) -> Result<Response<Incoming>, UpstreamFailure> {
        if let Some(authorization) = &self.connection.proxy_authorization {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
        }
        let mut retries = self.settings.connect_retries;
        let mut pause = CONNECT_RETRY_PAUSE;
        loop {
            let again = if retries > 0 { try_clone(&request) } else { None };
            match (self.send_once(request).await, again) {
                (Err(failure), Some(again)) if failure.kind == UpstreamFailureKind::Connect => request = again,
                (result, _) => return result,
            }
            retries -= 1;
            sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }

    async fn send_once(&self, request: Request<RequestBody>) -> Result<Response<Incoming>, UpstreamFailure> {
        let limit = Duration::from_secs(self.settings.first_byte_timeout_seconds);
        match timeout(limit, self.connection.client.request(request)).await {
            Ok(result) => result.map_err(|error| self.failures.of_request(&error)),
            Err(_) => {
                let message = format!("no answer within {} s", limit.as_secs());
                Err(self.failures.failure(UpstreamFailureKind::Timeout, message))
            }
        }
    }
}

fn try_clone(request: &Request<RequestBody>) -> Option<Request<RequestBody>> {
    let mut again = Request::new(request.body().try_clone()?);
    *again.method_mut() = request.method().clone();
    *again.uri_mut() = request.uri().clone();
    *again.headers_mut() = request.headers().clone();
    Some(again)
}

/// A stream of unknown length on a `GET` would go out chunked, which some servers refuse.
fn has_body(method: &Method, client_headers: &HeaderMap) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
        || client_headers.contains_key(CONTENT_LENGTH)
        || client_headers.contains_key(TRANSFER_ENCODING)
}

fn check_base_url(name: &str, base: &str) -> Result<Url, BuildError> {
    let invalid = |message: &str| setting(name, "base_url", message);
    let url = Url::parse(base).map_err(|error| invalid(&format!("not a URL ({error}); write https://host/v1")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(invalid("must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("must not hold credentials; put the key into api_key"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(invalid("must end with its path: no ? and no #"));
    }
    Ok(url)
}

fn check_times(name: &str, settings: &Settings) -> Result<(), BuildError> {
    let times = [
        ("connect_timeout_seconds", settings.connect_timeout_seconds),
        ("first_byte_timeout_seconds", settings.first_byte_timeout_seconds),
        ("idle_timeout_seconds", settings.idle_timeout_seconds),
    ];
    match times.iter().find(|(_, seconds)| *seconds == 0) {
        Some((key, _)) => Err(setting(name, key, "must be at least 1")),
        None => Ok(()),
    }
}

fn setting(name: &str, key: &'static str, message: &str) -> BuildError {
    BuildError::Setting { upstream: name.to_owned(), key, message: message.to_owned() }
}

#[cfg(test)]
mod tests;
