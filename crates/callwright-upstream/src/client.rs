//! Requests to one upstream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use tokio::time::{sleep, timeout};
use url::Url;

use super::body::RequestBody;
use super::concurrency_limiter::{ConcurrencyLimiter, Load, UpstreamPermit};
use super::connection::Connection;
use super::echo::Echo;
use super::failure::{FailureBuilder, is_the_upstreams};
use super::headers::HeaderRules;
use super::pool::UpstreamBody;
use super::retry::{self, Retries};
use super::settings::{StreamUsage, timeout_of};
use super::tool_calls::{Deliveries, ModelDelivery, ObservedCalls};
use super::{Again, Answer, BuildError, Settings, ToolCalls};
use callwright_types::{Protocol, UpstreamFailure, UpstreamFailureKind};

/// A provider's endpoint with its connection pool.
#[derive(Debug)]
pub struct Upstream {
    failures: FailureBuilder,
    settings: Settings,
    /// `base_url` without a trailing slash.
    base: String,
    base_url: Url,
    /// URIs of the protocols, in the order of [`Protocol::ALL`].
    uris: [Uri; 3],
    rules: HeaderRules,
    echo: Echo,
    deliveries: Deliveries,
    /// Whether the upstream has reported the token usage of a client's stream.
    reports_stream_usage: AtomicBool,
    /// Whether the upstream has rejected a request for the token usage of a stream.
    refuses_stream_usage: AtomicBool,
    connection: Connection,
    concurrency_limiter: Arc<ConcurrencyLimiter>,
}

impl Upstream {
    /// Builds the client and validates the settings.
    pub(super) fn build(name: &str, settings: &Settings, is_default: bool) -> Result<Self, BuildError> {
        let base = settings.base_url.trim_end_matches('/').to_owned();
        let url = settings.check(name)?;
        let uri = |protocol: Protocol| {
            uri_of(&base, protocol).ok_or_else(|| BuildError::setting(name, "base_url", "cannot be extended by a path"))
        };
        let [chat, responses, messages] = Protocol::ALL;
        let uris = [uri(chat)?, uri(responses)?, uri(messages)?];
        let rules = HeaderRules::build(name, settings, is_default)?;
        Ok(Self {
            failures: FailureBuilder::of(name),
            echo: rules.echo(),
            rules,
            deliveries: Deliveries::default(),
            reports_stream_usage: AtomicBool::new(false),
            refuses_stream_usage: AtomicBool::new(false),
            connection: Connection::build(name, settings, &uris[0])?,
            concurrency_limiter: Arc::new(ConcurrencyLimiter::new(settings)),
            base_url: url,
            uris,
            base,
            settings: settings.clone(),
        })
    }

    fn uri(&self, protocol: Protocol) -> &Uri {
        let [chat, responses, messages] = &self.uris;
        match protocol {
            Protocol::Chat => chat,
            Protocol::Responses => responses,
            Protocol::Messages => messages,
        }
    }

    /// Returns the name in the configuration.
    pub fn name(&self) -> &str {
        self.failures.name()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Maximum size in bytes of an evaluated response: [`Settings::max_answer_bytes`].
    pub fn max_answer_bytes(&self) -> usize {
        self.settings.max_answer_bytes
    }

    /// Maximum size in bytes of an event in an evaluated stream: [`Settings::max_event_bytes`].
    pub fn max_event_bytes(&self) -> usize {
        self.settings.max_event_bytes
    }

    /// Whether this model delivers its calls as `tool_calls`. If so, its text is less likely to be a call.
    pub fn delivers_calls(&self, model: &str) -> bool {
        match self.settings.tool_calls {
            ToolCalls::Native => true,
            ToolCalls::Text => false,
            ToolCalls::Auto => self.deliveries.delivers_calls(model),
        }
    }

    /// Records how the calls of an answer of this model were delivered.
    pub fn note_delivery(&self, model: &str, delivery: ObservedCalls) {
        self.deliveries.note(model, delivery);
    }

    /// Returns the delivery of calls by model. The shares are learned even if the setting takes precedence.
    pub fn deliveries(&self) -> Vec<ModelDelivery> {
        let mut models = self.deliveries.models();
        for model in &mut models {
            model.delivers_calls = self.delivers_calls(&model.model);
        }
        models
    }

    /// Whether token usage is requested for streams.
    pub fn requests_stream_usage(&self) -> bool {
        let is_known = match self.settings.stream_usage {
            StreamUsage::On => true,
            StreamUsage::Auto => self.reports_stream_usage.load(Ordering::Relaxed),
            StreamUsage::Off => false,
        };
        is_known && !self.refuses_stream_usage.load(Ordering::Relaxed)
    }

    /// Records that the upstream reported the token usage of a stream for which the client requested it.
    pub fn reported_stream_usage(&self) {
        self.reports_stream_usage.store(true, Ordering::Relaxed);
    }

    /// Records that the upstream rejects requests for the token usage of streams.
    pub fn refused_stream_usage(&self) {
        if !self.refuses_stream_usage.swap(true, Ordering::Relaxed) {
            tracing::info!(
                upstream = self.name(),
                "the upstream rejects `stream_options`; token usage of streams is no longer requested: set stream_usage = \"off\" for it"
            );
        }
    }

    pub fn load(&self) -> Load {
        self.concurrency_limiter.load()
    }

    /// Returns the retry budget for a request of this client.
    pub fn retries(&self, client: &HeaderMap) -> Retries {
        match retry::is_repeated(client) {
            true => Retries::none(),
            false => Retries::new(&self.settings),
        }
    }

    /// Masks the operator's keys in a body from the upstream.
    pub fn without_keys(&self, text: Bytes) -> Bytes {
        self.echo.mask(text)
    }

    /// Returns the requested retry if a response with this status and these headers requests one.
    pub fn again(&self, status: StatusCode, headers: &HeaderMap) -> Option<Again> {
        retry::again(&self.settings.retry_statuses, status, headers)
    }

    /// Posts a body to `chat/completions` and waits for the head of the response. Retries if the connection fails.
    /// Requests identity encoding.
    ///
    /// # Errors
    /// If there is no response. An HTTP error status is a response.
    pub async fn chat(&self, body: Bytes, client_headers: &HeaderMap) -> Result<Answer, UpstreamFailure> {
        let (response, passage) = self.send(self.request(Protocol::Chat, body, client_headers), true).await?;
        self.judged(response, passage)
    }

    /// Posts to the endpoint of a protocol, with this query, like [`Self::chat`], without retries: the caller decides on
    /// these and records them.
    ///
    /// # Errors
    /// As for [`Self::chat`].
    pub async fn answer_once(
        &self,
        protocol: Protocol,
        query: Option<&str>,
        body: Bytes,
        client_headers: &HeaderMap,
    ) -> Result<Answer, UpstreamFailure> {
        let mut request = self.request(protocol, body, client_headers);
        if let Some(uri) = query.and_then(|query| with_query(request.uri(), query)) {
            *request.uri_mut() = uri;
        }
        self.authorize(&mut request);
        let (response, passage) = self.send_once(request, true).await?;
        self.judged(response, passage)
    }

    fn request(&self, protocol: Protocol, body: Bytes, client_headers: &HeaderMap) -> Request<RequestBody> {
        let mut request = Request::new(RequestBody::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri(protocol).clone();
        *request.headers_mut() = self.rules.of_chat(client_headers);
        request
    }

    fn judged(&self, response: Response<UpstreamBody>, passage: UpstreamPermit) -> Result<Answer, UpstreamFailure> {
        if response.status() == StatusCode::NOT_MODIFIED {
            return Err(self.no_answer(StatusCode::NOT_MODIFIED));
        }
        self.check_status(response.status())?;
        let answer = Answer::new(response, passage, &self.failures, &self.echo, &self.settings, true);
        match answer.undecodable() {
            Some(failure) if answer.status.is_success() => Err(failure),
            _ => Ok(answer),
        }
    }

    /// Rejects a protocol upgrade and a redirect. Following a redirect would send credentials to another address: the
    /// proxy does not follow it, and a client must not be redirected with a key of the proxy.
    fn check_status(&self, status: StatusCode) -> Result<(), UpstreamFailure> {
        let is_redirect = status.is_redirection() && status != StatusCode::NOT_MODIFIED;
        if status.is_informational() || is_redirect { Err(self.no_answer(status)) } else { Ok(()) }
    }

    fn no_answer(&self, status: StatusCode) -> UpstreamFailure {
        let what = if status.is_informational() { "changed the protocol" } else { "redirected the request" };
        let message = format!(
            "it {what} (status {}) instead of responding; set `upstreams.{}.base_url` to the final address",
            status.as_u16(),
            self.name()
        );
        self.failures.failure(UpstreamFailureKind::Malformed, message)
    }

    /// Forwards a request unchanged. `path_and_query` is the part below `/v1`, with its leading slash.
    ///
    /// # Errors
    /// If there is no response, the response upgrades the protocol or redirects, or the path leaves the base URL. An
    /// HTTP error status is a response.
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
        let counts = !path_and_query.starts_with(UNCOUNTED);
        let (response, passage) = self.send(request, counts).await?;
        self.check_status(response.status())?;
        Ok(Answer::new(response, passage, &self.failures, &self.echo, &self.settings, false))
    }

    /// Prevents `..` segments from leaving the configured base URL.
    fn uri_below(&self, path_and_query: &str) -> Result<Uri, UpstreamFailure> {
        let url = Url::parse(&format!("{}{path_and_query}", self.base)).ok();
        let base_path = self.base_url.path().trim_end_matches('/');
        let url = url.filter(|url| {
            url.path().strip_prefix(base_path).is_some_and(|rest| rest.starts_with('/'))
                && url.origin() == self.base_url.origin()
        });
        let url = url.ok_or_else(|| {
            self.failures
                .failure(UpstreamFailureKind::Malformed, "the request's path is outside the upstream's base URL")
        })?;
        url.as_str().parse().map_err(|error| {
            self.failures.failure(UpstreamFailureKind::Malformed, format!("the request could not be made: {error}"))
        })
    }

    /// Adds the credentials of an HTTP proxy.
    fn authorize(&self, request: &mut Request<RequestBody>) {
        if let Some(authorization) = &self.connection.proxy_authorization {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
        }
    }

    /// Sends a request, and again if the upstream certainly has not processed it.
    async fn send(
        &self,
        mut request: Request<RequestBody>,
        counts: bool,
    ) -> Result<(Response<UpstreamBody>, UpstreamPermit), UpstreamFailure> {
        self.authorize(&mut request);
        let is_repeatable = self.is_repeatable(&request);
        let mut retries = Retries::new(&self.settings);
        loop {
            let again = try_clone(&request);
            let failure = match self.send_once(request, counts).await {
                Ok(answered) => return Ok(answered),
                Err(failure) => failure,
            };
            let wait = match failure.kind {
                UpstreamFailureKind::Connect => retries.after_connect(Duration::MAX),
                UpstreamFailureKind::Refused => retries.after_unprocessed(Duration::MAX),
                UpstreamFailureKind::Unread if is_repeatable => retries.after_unprocessed(Duration::MAX),
                _ => None,
            };
            let (Some(again), Some(wait)) = (again, wait) else { return Err(failure) };
            tracing::debug!(upstream = self.name(), error = %failure, "the request is sent again");
            sleep(wait).await;
            request = again;
        }
    }

    /// Sends a request once. `counts` is whether the circuit breaker counts its result.
    async fn send_once(
        &self,
        request: Request<RequestBody>,
        counts: bool,
    ) -> Result<(Response<UpstreamBody>, UpstreamPermit), UpstreamFailure> {
        let mut passage = self.concurrency_limiter.enter(&self.failures).await?;
        if !counts {
            passage.uncounted();
        }
        let limit = timeout_of(self.settings.first_byte_timeout_seconds);
        // Boxed here: the futures around it are moved into one another, and each move copies all that they contain.
        let exchange = Box::pin(self.connection.pool.request(request));
        let exchanged = match limit {
            Some(limit) => timeout(limit, exchange).await,
            None => Ok(exchange.await),
        };
        match exchanged {
            Ok(Ok(response)) => {
                passage.answered(response.status());
                Ok((response, passage))
            }
            Ok(Err(error)) => {
                if is_the_upstreams(&error) {
                    passage.failed();
                }
                Err(self.failures.of_request(&error))
            }
            Err(_) => {
                passage.failed();
                let seconds = self.settings.first_byte_timeout_seconds;
                let message = format!("no answer within {seconds} s (first_byte_timeout_seconds)");
                Err(self.failures.failure(UpstreamFailureKind::Timeout, message))
            }
        }
    }
}

impl Upstream {
    /// Whether a request may be sent again that the upstream has read in part at most: for answers, whose bodies are
    /// useless in part, and idempotent ones (RFC 9110, section 9.2.2).
    fn is_repeatable(&self, request: &Request<RequestBody>) -> bool {
        request.method().is_idempotent() || self.uris.iter().any(|uri| uri.path() == request.uri().path())
    }
}

fn try_clone(request: &Request<RequestBody>) -> Option<Request<RequestBody>> {
    let mut again = Request::new(request.body().try_clone()?);
    *again.method_mut() = request.method().clone();
    *again.uri_mut() = request.uri().clone();
    *again.headers_mut() = request.headers().clone();
    Some(again)
}

/// Beginning of paths whose failures are unrelated to answers: counting of tokens and batches of messages.
const UNCOUNTED: &str = "/messages/";

/// Returns the URI with the client's query, behind that of the base URL.
fn with_query(uri: &Uri, query: &str) -> Option<Uri> {
    let separator = if uri.query().is_some() { '&' } else { '?' };
    format!("{uri}{separator}{query}").parse().ok()
}

fn uri_of(base: &str, protocol: Protocol) -> Option<Uri> {
    let url = Url::parse(&format!("{base}{}", protocol.path())).ok()?;
    url.as_str().parse().ok()
}

/// A stream of unknown length on a `GET` would be sent chunked, which some servers reject.
fn has_body(method: &Method, client_headers: &HeaderMap) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
        || client_headers.contains_key(CONTENT_LENGTH)
        || client_headers.contains_key(TRANSFER_ENCODING)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod unprocessed_tests;
