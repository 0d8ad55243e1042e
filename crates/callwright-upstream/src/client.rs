//! One upstream: the requests that are made to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use tokio::time::{sleep, timeout};
use url::Url;

use super::body::RequestBody;
use super::connection::Connection;
use super::connector::Served;
use super::echo::Echo;
use super::failure::{Failures, is_stale_connection, is_the_upstreams};
use super::gate::{Gate, Load, Passage};
use super::headers::HeaderRules;
use super::retry::{self, Retries};
use super::settings::StreamUsage;
use super::tool_calls::{Deliveries, ModelDelivery, ObservedCalls};
use super::{Again, Answer, BuildError, Settings, ToolCalls};
use callwright_types::{UpstreamFailure, UpstreamFailureKind};

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
    echo: Echo,
    deliveries: Deliveries,
    /// Whether it has told a client the tokens of a stream.
    tells_stream_usage: AtomicBool,
    /// Whether it has refused to be asked for the tokens of streams.
    refuses_stream_usage: AtomicBool,
    connection: Connection,
    gate: Arc<Gate>,
}

impl Upstream {
    /// Builds the client and checks the settings.
    pub(super) fn build(name: &str, settings: &Settings, is_default: bool) -> Result<Self, BuildError> {
        let base = settings.base_url.trim_end_matches('/').to_owned();
        let url = check_base_url(name, &base)?;
        check_times(name, settings)?;
        check_retries(name, settings)?;
        check_circuit(name, settings)?;
        let invalid = || setting(name, "base_url", "cannot be extended by a path");
        let chat_url = Url::parse(&format!("{base}/chat/completions")).map_err(|_| invalid())?;
        let chat_uri: Uri = chat_url.as_str().parse().map_err(|_| invalid())?;
        let rules = HeaderRules::build(name, settings, is_default)?;
        Ok(Self {
            failures: Failures::of(name),
            echo: rules.echo(),
            rules,
            deliveries: Deliveries::default(),
            tells_stream_usage: AtomicBool::new(false),
            refuses_stream_usage: AtomicBool::new(false),
            connection: Connection::build(name, settings, &chat_uri)?,
            gate: Arc::new(Gate::new(settings)),
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

    /// Whether this model's calls are expected as `tool_calls`, so that a text is rather a text.
    pub fn delivers_calls(&self, model: &str) -> bool {
        match self.settings.tool_calls {
            ToolCalls::Native => true,
            ToolCalls::Text => false,
            ToolCalls::Auto => self.deliveries.delivers_calls(model),
        }
    }

    /// Notes how the calls of an answer of this model came.
    pub fn note_delivery(&self, model: &str, delivery: ObservedCalls) {
        self.deliveries.note(model, delivery);
    }

    /// How its models' calls come, by model. The shares are learned even where the setting decides.
    pub fn deliveries(&self) -> Vec<ModelDelivery> {
        let mut models = self.deliveries.models();
        for model in &mut models {
            model.delivers_calls = self.delivers_calls(&model.model);
        }
        models
    }

    /// Whether it is asked for the tokens of streams.
    pub fn asks_stream_usage(&self) -> bool {
        let is_known = match self.settings.stream_usage {
            StreamUsage::On => true,
            StreamUsage::Auto => self.tells_stream_usage.load(Ordering::Relaxed),
            StreamUsage::Off => false,
        };
        is_known && !self.refuses_stream_usage.load(Ordering::Relaxed)
    }

    /// Notes that it told a client the tokens of a stream that asked for them.
    pub fn told_stream_usage(&self) {
        self.tells_stream_usage.store(true, Ordering::Relaxed);
    }

    /// Notes that it refuses to be asked for them.
    pub fn refused_stream_usage(&self) {
        if !self.refuses_stream_usage.swap(true, Ordering::Relaxed) {
            tracing::info!(
                upstream = self.name(),
                "the upstream refuses `stream_options`: it is not asked for the tokens of streams any more; set stream_usage = \"off\" for it"
            );
        }
    }

    /// What goes on at it now.
    pub fn load(&self) -> Load {
        self.gate.load()
    }

    /// The tries that a request of this client has.
    pub fn retries(&self, client: &HeaderMap) -> Retries {
        match retry::is_repeated(client) && !self.settings.repeat_clients_retries {
            true => Retries::none(),
            false => Retries::new(&self.settings),
        }
    }

    /// What it said, without the keys that it was sent.
    pub fn without_keys(&self, said: Bytes) -> Bytes {
        self.echo.mask(said)
    }

    /// Does an answer with this status and these fields ask for its request to be made again?
    pub fn again(&self, status: StatusCode, headers: &HeaderMap) -> Option<Again> {
        retry::again(&self.settings.retry_statuses, status, headers)
    }

    /// Posts a body to `chat/completions` and waits for the head of the answer; tries again where no connection could be made. Identity
    /// encoding is asked for.
    ///
    /// # Errors
    /// When no answer comes. An HTTP error status is an answer.
    pub async fn chat(&self, body: Bytes, client_headers: &HeaderMap) -> Result<Answer, UpstreamFailure> {
        let (response, passage) = self.send(self.chat_request(body, client_headers)).await?;
        self.judged(response, passage)
    }

    /// The same without another try: whoever asks decides on that, and records it.
    ///
    /// # Errors
    /// As for [`Self::chat`].
    pub async fn chat_once(&self, body: Bytes, client_headers: &HeaderMap) -> Result<Answer, UpstreamFailure> {
        let mut request = self.chat_request(body, client_headers);
        self.authorize(&mut request);
        let (response, passage) = self.send_once(request).await?;
        self.judged(response, passage)
    }

    fn chat_request(&self, body: Bytes, client_headers: &HeaderMap) -> Request<RequestBody> {
        let mut request = Request::new(RequestBody::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.chat_uri.clone();
        *request.headers_mut() = self.rules.of_chat(client_headers);
        request
    }

    fn judged(&self, response: Response<Incoming>, passage: Passage) -> Result<Answer, UpstreamFailure> {
        if response.status() == StatusCode::NOT_MODIFIED {
            return Err(self.no_answer(StatusCode::NOT_MODIFIED));
        }
        self.check_status(response.status())?;
        let answer = Answer::new(response, passage, (&self.failures, &self.echo), &self.settings, true);
        match answer.undecodable() {
            Some(failure) if answer.status.is_success() => Err(failure),
            _ => Ok(answer),
        }
    }

    /// Refuses a change of protocol and a redirect. Whoever follows a redirect takes the credentials along: the proxy does not, and a client must
    /// not be sent away with a key of the proxy's.
    fn check_status(&self, status: StatusCode) -> Result<(), UpstreamFailure> {
        let is_redirect = status.is_redirection() && status != StatusCode::NOT_MODIFIED;
        if status.is_informational() || is_redirect { Err(self.no_answer(status)) } else { Ok(()) }
    }

    fn no_answer(&self, status: StatusCode) -> UpstreamFailure {
        let what = if status.is_informational() { "changed the protocol" } else { "redirected the request" };
        let message = format!(
            "it {what} (status {}) in place of an answer; set `upstreams.{}.base_url` to the address that answers itself",
            status.as_u16(),
            self.name()
        );
        self.failures.failure(UpstreamFailureKind::Malformed, message)
    }

    /// Passes a request through untouched. `path_and_query` is what stands below `/v1`, with its leading slash.
    ///
    /// # Errors
    /// When no answer comes, or one that changes the protocol or redirects, or the path leads out of the base URL. An HTTP error status is an
    /// answer.
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
        let (response, passage) = self.send(request).await?;
        self.check_status(response.status())?;
        Ok(Answer::new(response, passage, (&self.failures, &self.echo), &self.settings, false))
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

    /// What an HTTP proxy on the way wants to see.
    fn authorize(&self, request: &mut Request<RequestBody>) {
        if let Some(authorization) = &self.connection.proxy_authorization {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
        }
    }

    /// Sends, and tries again where no connection could be made: nothing was sent then.
    async fn send(&self, mut request: Request<RequestBody>) -> Result<(Response<Incoming>, Passage), UpstreamFailure> {
        self.authorize(&mut request);
        let mut retries = Retries::new(&self.settings);
        loop {
            let again = try_clone(&request);
            let failure = match self.send_once(request).await {
                Ok(answered) => return Ok(answered),
                Err(failure) => failure,
            };
            let wait = match failure.kind {
                UpstreamFailureKind::Connect => retries.after_connect(Duration::MAX),
                _ => None,
            };
            let (Some(again), Some(wait)) = (again, wait) else { return Err(failure) };
            sleep(wait).await;
            request = again;
        }
    }

    async fn send_once(&self, request: Request<RequestBody>) -> Result<(Response<Incoming>, Passage), UpstreamFailure> {
        let mut passage = self.gate.enter(&self.failures).await?;
        let limit = Duration::from_secs(self.settings.first_byte_timeout_seconds);
        match timeout(limit, self.request(request)).await {
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
                let message = format!("no answer within {} s", limit.as_secs());
                Err(self.failures.failure(UpstreamFailureKind::Timeout, message))
            }
        }
    }
}

impl Upstream {
    /// Sends a request; once more where the connection was an old one that the upstream was just closing. A question to a model changes
    /// nothing there; of other requests only idempotent ones are sent twice (RFC 9110, section 9.2.2).
    async fn request(&self, request: Request<RequestBody>) -> Result<Response<Incoming>, legacy::Error> {
        let is_repeatable = request.method().is_idempotent() || *request.uri() == self.chat_uri;
        let again = if is_repeatable { try_clone(&request) } else { None };
        let mut answered = self.connection.client.request(request).await;
        if let (Err(error), Some(again)) = (&answered, again)
            && is_stale_connection(error)
        {
            tracing::debug!(upstream = self.name(), %error, "an idle connection was closed; the request is sent on another one");
            answered = self.connection.client.request(again).await;
        }
        if let Ok(response) = &answered
            && let Some(served) = response.extensions().get::<Served>()
        {
            served.note();
        }
        answered
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

/// An upstream that is left alone for longer than a day is better taken out of the configuration.
const MAX_CIRCUIT_NUMBER: u64 = 86_400;

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

fn check_retries(name: &str, settings: &Settings) -> Result<(), BuildError> {
    match settings.retry_statuses.iter().find(|status| !(400..600).contains(*status)) {
        Some(status) => Err(setting(name, "retry_statuses", &format!("{status} is no error status; write 400 to 599"))),
        None => Ok(()),
    }
}

fn check_circuit(name: &str, settings: &Settings) -> Result<(), BuildError> {
    if settings.circuit_failures == 0 {
        return Ok(());
    }
    if !(1..=100).contains(&settings.circuit_failure_percent) {
        return Err(setting(
            name,
            "circuit_failure_percent",
            "must be 1 to 100; `circuit_failures = 0` switches it off",
        ));
    }
    let times = [
        ("circuit_window_seconds", settings.circuit_window_seconds),
        ("circuit_open_seconds", settings.circuit_open_seconds),
        ("circuit_probes", u64::from(settings.circuit_probes)),
    ];
    match times.iter().find(|(_, number)| !(1..=MAX_CIRCUIT_NUMBER).contains(number)) {
        Some((key, _)) => Err(setting(name, key, &format!("must be 1 to {MAX_CIRCUIT_NUMBER}"))),
        None => Ok(()),
    }
}

fn setting(name: &str, key: &'static str, message: &str) -> BuildError {
    BuildError::Setting { upstream: name.to_owned(), key, message: message.to_owned() }
}

#[cfg(test)]
mod tests;
