//! Text completions of a model for the proxy's own purposes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::Upstream;
use super::request_budget::{LEAST_ANSWER_TOKENS, RequestBudget, RequestGrant};
use super::retry::retry_after;
use callwright_common::limits::LINE_CHARS;
use callwright_common::text::{beginning, one_line};
use callwright_types::{Protocol, UpstreamFailure, UpstreamFailureKind, Usage};
use callwright_wire::{AnswerLimit, Completion, Role, TextRequest, error_message, text_request};

/// Delay before the second attempt if the provider specifies none; doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Maximum time of one request. No client waits for its answer as such, so that none would end it.
const MAX_TIME: Duration = Duration::from_mins(10);

/// A source of text completions: a model of an upstream, or a counted, limited or scripted one.
pub trait TextSource: std::fmt::Debug + Send + Sync {
    /// Requests a completion, like [`TextModel::ask`].
    fn ask<'a>(&'a self, messages: &'a [(Role, String)], manner: Manner<'a>) -> BoxFuture<'a, Exchange>;
}

impl TextSource for TextModel {
    fn ask<'a>(&'a self, messages: &'a [(Role, String)], manner: Manner<'a>) -> BoxFuture<'a, Exchange> {
        Box::pin(Self::ask(self, messages, manner))
    }
}

/// A model of an upstream.
#[derive(Debug)]
pub struct TextModel {
    upstream: Arc<Upstream>,
    name: String,
    patience: Patience,
    budget: Arc<RequestBudget>,
    /// Headers of the client on whose behalf requests are made.
    headers: HeaderMap,
    manners: Arc<Manners>,
    /// An error that every request will have, such as a rejected key or an unknown model.
    hopeless: OnceLock<String>,
}

/// Learned limitations of a model.
#[derive(Debug, Default)]
struct Manners {
    /// Whether the model rejects a temperature, as reasoning models do. If so, none is sent.
    has_own_temperature: AtomicBool,
    /// Whether the provider does not support structured outputs. If so, no schema is sent.
    has_no_forms: AtomicBool,
    /// Whether the provider does not support limits of lists in a schema. If so, none is sent.
    has_no_item_limits: AtomicBool,
    /// Whether the model takes `max_completion_tokens` only, as reasoning models do.
    has_completion_limit: AtomicBool,
}

/// Retries if a provider is busy (status 408, 409, 429, 5xx) or the exchange breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Maximum number of attempts, at least 1.
    pub tries: u32,
    /// Maximum delay before the next attempt, whatever the provider requests.
    pub max_wait: Duration,
}

/// Parameters of a completion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manner<'a> {
    /// Sampling temperature.
    pub temperature: f64,
    /// JSON Schema of the text. It is sent to providers that support it; the result must be validated in any case.
    pub form: Option<&'a Value>,
    /// Maximum number of requests, regardless of the retry policy; at least one is made.
    pub requests: Option<u64>,
    /// Maximum number of tokens of the answer, within the budget of the model.
    pub answer_tokens: u64,
}

impl Default for Manner<'_> {
    /// Reproducible answers of any form.
    fn default() -> Self {
        Self { temperature: 0.0, form: None, requests: None, answer_tokens: u64::MAX }
    }
}

/// Result and cost of a completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The answer, or an error message with its cause and fix.
    pub answered: Result<Answered, String>,
    /// Number of requests made.
    pub requests: u64,
    /// Token usage reported by the provider; `None` if it reports none.
    pub usage: Option<Usage>,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    /// A complete text.
    Text(String),
    /// A truncated text: the token limit was reached.
    CutOff,
    /// A refusal with its reason.
    Refused(String),
}

/// Result of one attempt.
enum TextRequestOutcome {
    Done(Result<Answered, String>, Option<Usage>),
    /// Retry, after this delay if the provider specifies one.
    Again(Option<Duration>, String),
    /// Retry at once, without an unsupported parameter.
    Plainer,
    /// Retry at once without the form, which may be the reason.
    Rejected(String),
    /// Retry at once with a lower limit of the answer: prompt and limit exceed the model's context.
    Shorter(String),
}

/// Parameters of a request that a provider may reject.
#[derive(Clone, Copy)]
struct SentAttempt<'a> {
    temperature: Option<f64>,
    form: Option<&'a Value>,
    has_item_limits: bool,
    limit: AnswerLimit,
}

/// Returns what to do after a request without a usable answer.
fn after_failure(failure: &UpstreamFailure) -> TextRequestOutcome {
    match failure.kind {
        UpstreamFailureKind::Malformed => TextRequestOutcome::Done(Err(failure.to_string()), None),
        _ => TextRequestOutcome::Again(failure.retry_after, failure.to_string()),
    }
}

impl TextModel {
    /// Creates a model with this name, whose requests count in `budget`.
    pub fn new(upstream: Arc<Upstream>, name: &str, patience: Patience, budget: Arc<RequestBudget>) -> Self {
        Self {
            upstream,
            name: name.to_owned(),
            patience,
            budget,
            headers: HeaderMap::new(),
            manners: Arc::default(),
            hopeless: OnceLock::new(),
        }
    }

    /// Returns the same model with a client's headers: if the upstream has no key of its own, the client's is sent.
    /// Learned limitations are shared.
    #[must_use]
    pub fn for_client(&self, headers: HeaderMap) -> Self {
        Self {
            upstream: Arc::clone(&self.upstream),
            name: self.name.clone(),
            patience: self.patience,
            budget: Arc::clone(&self.budget),
            headers,
            manners: Arc::clone(&self.manners),
            hopeless: OnceLock::new(),
        }
    }

    /// Returns the model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Requests a completion. Retries only without a response, if the provider is busy, or without a rejected
    /// parameter.
    pub async fn ask(&self, messages: &[(Role, String)], manner: Manner<'_>) -> Exchange {
        let mut requests = 0;
        if let Some(reason) = self.hopeless.get() {
            return Exchange { answered: Err(reason.clone()), requests, usage: None };
        }
        let mut wait = FIRST_WAIT;
        let mut tries = self.patience.tries.max(1);
        let mut manner = manner;
        // Form that was left out after a rejection that does not name it.
        let mut left_out = None;
        let mut longest = manner.answer_tokens;
        loop {
            let grant = match self.budget.reserve_text(messages, manner.form, longest) {
                Ok(grant) => grant,
                Err(spent) => return Exchange { answered: Err(spent.to_string()), requests, usage: None },
            };
            requests += 1;
            match self.attempt(messages, manner, grant).await {
                TextRequestOutcome::Done(answered, usage) => {
                    if left_out.is_some() && answered.is_ok() {
                        self.manners.has_no_forms.store(true, Ordering::Relaxed);
                    }
                    return Exchange { answered, requests, usage };
                }
                TextRequestOutcome::Rejected(reason)
                    if left_out.is_some() || manner.requests.is_some_and(|most| requests >= most) =>
                {
                    return Exchange { answered: Err(reason), requests, usage: None };
                }
                TextRequestOutcome::Rejected(_) => left_out = manner.form.take(),
                TextRequestOutcome::Again(_, reason) if tries <= 1 => {
                    return Exchange { answered: Err(reason), requests, usage: None };
                }
                TextRequestOutcome::Again(..) | TextRequestOutcome::Plainer | TextRequestOutcome::Shorter(_)
                    if manner.requests.is_some_and(|most| requests >= most) =>
                {
                    let reason = format!("no answer within the remaining {requests} requests");
                    return Exchange { answered: Err(reason), requests, usage: None };
                }
                TextRequestOutcome::Shorter(reason) => {
                    longest = grant.answer_tokens / 2;
                    if longest < LEAST_ANSWER_TOKENS {
                        return Exchange { answered: Err(reason), requests, usage: None };
                    }
                }
                TextRequestOutcome::Plainer => {}
                TextRequestOutcome::Again(requested, _) => {
                    tries -= 1;
                    sleep(requested.unwrap_or(wait).min(self.patience.max_wait)).await;
                    wait = wait.saturating_mul(2);
                }
            }
        }
    }

    async fn attempt(
        &self,
        messages: &[(Role, String)],
        manner: Manner<'_>,
        grant: RequestGrant,
    ) -> TextRequestOutcome {
        let limit = match self.manners.has_completion_limit.load(Ordering::Relaxed) {
            true => AnswerLimit::CompletionTokens(grant.answer_tokens),
            false => AnswerLimit::Tokens(grant.answer_tokens),
        };
        let sent = SentAttempt {
            temperature: (!self.manners.has_own_temperature.load(Ordering::Relaxed)).then_some(manner.temperature),
            form: manner.form.filter(|_| !self.manners.has_no_forms.load(Ordering::Relaxed)),
            has_item_limits: !self.manners.has_no_item_limits.load(Ordering::Relaxed),
            limit,
        };
        let SentAttempt { temperature, limit, .. } = sent;
        let unlimited = sent.form.filter(|_| !sent.has_item_limits).map(without_limits);
        let form = unlimited.as_ref().or(sent.form);
        let body = text_request(&TextRequest { model: &self.name, messages, temperature, form, limit });
        let exchange = async {
            let mut answer = self.upstream.chat(body, &self.headers).await?;
            let (status, wait) = (answer.status, retry_after(&answer.headers, SystemTime::now()));
            Ok::<_, UpstreamFailure>((status, wait, answer.whole().await?))
        };
        let (status, wait, body) = match timeout(MAX_TIME, exchange).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(failure)) => return after_failure(&failure),
            Err(_) => {
                let message =
                    format!("upstream `{}` gave no answer within {} s", self.upstream.name(), MAX_TIME.as_secs());
                return TextRequestOutcome::Again(None, message);
            }
        };
        if !status.is_success() {
            self.budget.settle(grant, 1, Usage::default());
            return self.refused(status, wait, &body, sent);
        }
        let outcome = self.read(body);
        if let TextRequestOutcome::Done(answered, usage) = &outcome {
            let usage = usage.unwrap_or_else(|| grant.estimated_usage(answered.as_ref().ok()));
            self.budget.settle(grant, 1, usage);
        }
        outcome
    }

    fn refused(
        &self,
        status: StatusCode,
        wait: Option<Duration>,
        body: &Bytes,
        sent: SentAttempt<'_>,
    ) -> TextRequestOutcome {
        let message = error_message(body).map(|message| quoted(&message)).unwrap_or_default();
        let answered = format!("upstream `{}` answered with status {}", self.upstream.name(), status.as_u16());
        let reason = if message.is_empty() { answered.clone() } else { format!("{answered} ({message})") };
        match status {
            // Providers quote the key in these messages, so the message is omitted.
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                self.give_up(format!("{answered}; check its `api_key`"))
            }
            StatusCode::NOT_FOUND => {
                self.give_up(format!("{reason}; check the model's name and the upstream's `base_url`"))
            }
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY if self.is_plainer_now(&message, sent) => {
                TextRequestOutcome::Plainer
            }
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY if is_about_length(&message) => {
                TextRequestOutcome::Shorter(reason)
            }
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY if sent.form.is_some() => {
                TextRequestOutcome::Rejected(reason)
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {
                let reason = format!("{reason}; try again later, or send fewer requests at a time");
                TextRequestOutcome::Again(wait, reason)
            }
            _ if status.is_server_error() => TextRequestOutcome::Again(wait, format!("{reason}; try again later")),
            _ => TextRequestOutcome::Done(Err(reason), None),
        }
    }

    /// Whether the provider rejected an optional parameter. If so, the parameter is no longer sent.
    fn is_plainer_now(&self, message: &str, sent: SentAttempt<'_>) -> bool {
        let message = message.to_lowercase();
        if sent.temperature.is_some() && message.contains("temperature") {
            self.manners.has_own_temperature.store(true, Ordering::Relaxed);
            return true;
        }
        if matches!(sent.limit, AnswerLimit::Tokens(_)) && message.contains("max_completion_tokens") {
            self.manners.has_completion_limit.store(true, Ordering::Relaxed);
            return true;
        }
        if sent.form.is_some() && sent.has_item_limits && message.contains("maxitems") {
            self.manners.has_no_item_limits.store(true, Ordering::Relaxed);
            return true;
        }
        let is_about_form =
            ["response_format", "json_schema", "schema", "structured"].iter().any(|word| message.contains(word));
        if sent.form.is_some() && is_about_form {
            self.manners.has_no_forms.store(true, Ordering::Relaxed);
            return true;
        }
        false
    }

    fn give_up(&self, reason: String) -> TextRequestOutcome {
        TextRequestOutcome::Done(Err(self.hopeless.get_or_init(|| reason).clone()), None)
    }

    fn read(&self, body: Bytes) -> TextRequestOutcome {
        let upstream = self.upstream.name();
        let completion = match Completion::parse(Protocol::Chat, body) {
            Ok(completion) => completion,
            Err(error) => {
                return TextRequestOutcome::Done(Err(format!("upstream `{upstream}`: {}", error.message)), None);
            }
        };
        let usage = completion.usage();
        let Some(choice) = completion.choices().first() else {
            return TextRequestOutcome::Done(Err(format!("upstream `{upstream}`: the answer has no choice")), usage);
        };
        let answered = if let Some(refusal) = choice.message.refusal() {
            Answered::Refused(quoted(&refusal))
        } else if choice.finish_reason.as_deref() == Some("content_filter") {
            Answered::Refused("its content filter stopped the answer".to_owned())
        } else if choice.is_cut_off() {
            Answered::CutOff
        } else {
            Answered::Text(choice.message.text().unwrap_or_default())
        };
        TextRequestOutcome::Done(Ok(answered), usage)
    }
}

/// Returns a schema without the limits of its lists.
fn without_limits(form: &Value) -> Value {
    match form {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, value)| !(*name == "maxItems" && value.is_u64()));
            kept.map(|(name, value)| (name.clone(), without_limits(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_limits).collect(),
        other => other.clone(),
    }
}

/// Whether a provider rejects a request because prompt and limit of the answer exceed the model's context.
fn is_about_length(message: &str) -> bool {
    let message = message.to_lowercase();
    ["max_tokens", "max_completion_tokens", "context length", "context size", "context window"]
        .iter()
        .any(|words| message.contains(words))
}

/// Returns the beginning of a foreign text on one line.
fn quoted(message: &str) -> String {
    beginning(&one_line(message), LINE_CHARS).to_owned()
}
