//! One upstream: the requests that are made to it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method};
use reqwest::{Client, Request, Url};
use tokio::time::{sleep, timeout};

use super::connection::client;
use super::failure::Failures;
use super::headers::HeaderRules;
use super::tool_calls::NativeModels;
use super::{Answer, BuildError, Settings, ToolCalls};
use crate::domain::{UpstreamFailure, UpstreamFailureKind};

/// Pause before a connection is tried again, doubled each time: long enough for a restarting server's listener to be back,
/// short enough to go unnoticed in an answer that takes seconds.
const CONNECT_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A provider's endpoint with its pooled clients.
#[derive(Debug)]
pub struct Upstream {
    failures: Failures,
    settings: Settings,
    /// `base_url` without a slash at its end.
    base: String,
    base_path: String,
    chat_url: Url,
    rules: HeaderRules,
    native: NativeModels,
    /// Its answers are judged: what comes gzipped all the same is decoded.
    judged: Client,
    /// Its answers are passed on as they come.
    passed: Client,
}

impl Upstream {
    /// Builds the clients and checks the settings.
    pub(super) fn build(name: &str, settings: &Settings, is_default: bool) -> Result<Self, BuildError> {
        let base = settings.base_url.trim_end_matches('/').to_owned();
        let url = check_base_url(name, &base)?;
        check_times(name, settings)?;
        let invalid = |_| setting(name, "base_url", "cannot be extended by a path");
        Ok(Self {
            failures: Failures::of(name),
            chat_url: Url::parse(&format!("{base}/chat/completions")).map_err(invalid)?,
            base_path: url.path().trim_end_matches('/').to_owned(),
            base,
            rules: HeaderRules::build(name, settings, is_default)?,
            native: NativeModels::default(),
            judged: client(name, settings, true)?,
            passed: client(name, settings, false)?,
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
        let mut request = Request::new(Method::POST, self.chat_url.clone());
        *request.headers_mut() = self.rules.of_chat(client_headers);
        *request.body_mut() = Some(body.into());
        let response = self.send(&self.judged, request).await?;
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
        body: reqwest::Body,
    ) -> Result<Answer, UpstreamFailure> {
        let mut request = Request::new(method, self.url_below(path_and_query)?);
        *request.headers_mut() = self.rules.of_forward(client_headers);
        if has_body(request.method(), client_headers) {
            *request.body_mut() = Some(body);
        }
        let response = self.send(&self.passed, request).await?;
        Ok(Answer::new(response, &self.failures, &self.settings, false))
    }

    /// `..` must not lead to what the operator did not configure.
    fn url_below(&self, path_and_query: &str) -> Result<Url, UpstreamFailure> {
        let url = Url::parse(&format!("{}{path_and_query}", self.base)).ok();
        let is_below = |url: &Url| {
            url.path().strip_prefix(&self.base_path).is_some_and(|rest| rest.starts_with('/'))
                && url.origin() == self.chat_url.origin()
        };
        url.filter(is_below).ok_or_else(|| {
            self.failures
                .failure(UpstreamFailureKind::Malformed, "the request's path leads out of the upstream's base URL")
        })
    }

    /// Sends, and tries again where no connection could be made: nothing was sent then.
    async fn send(&self, client: &Client, request: Request) -> Result<reqwest::Response, UpstreamFailure> {
        let mut request = request;
        let mut retries = self.settings.connect_retries;
        let mut pause = CONNECT_RETRY_PAUSE;
        loop {
            let again = if retries > 0 { request.try_clone() } else { None };
            match (self.send_once(client, request).await, again) {
                (Err(failure), Some(again)) if failure.kind == UpstreamFailureKind::Connect => request = again,
                (result, _) => return result,
            }
            retries -= 1;
            sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }

    async fn send_once(&self, client: &Client, request: Request) -> Result<reqwest::Response, UpstreamFailure> {
        let limit = Duration::from_secs(self.settings.first_byte_timeout_seconds);
        match timeout(limit, client.execute(request)).await {
            Ok(result) => result.map_err(|error| self.failures.of_request(&error)),
            Err(_) => {
                let message = format!("no answer within {} s", limit.as_secs());
                Err(self.failures.failure(UpstreamFailureKind::Timeout, message))
            }
        }
    }
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
