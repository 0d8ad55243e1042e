//! Asking a model through an upstream.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use tokio::time::sleep;

use super::ModelSettings;
use crate::domain::UpstreamFailureKind;
use crate::openai::{Completion, Role, error_message, text_request};
use crate::representation::Cost;
use crate::representation::file::{shortened, tidy};
use crate::upstream::{Answer, Upstream};

/// The same question is to have the same answer.
const TEMPERATURE: f64 = 0.0;

/// Wait before the second try where the provider names none; doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Characters of a provider's or a model's own words that a message quotes.
const QUOTED_CHARS: usize = 160;

/// A model of an upstream, and what asking it has cost.
#[derive(Debug)]
pub struct Model {
    upstream: Arc<Upstream>,
    name: String,
    pub(super) settings: ModelSettings,
    requests: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
    /// Reasoning models refuse any temperature but their own; then none is sent any more.
    has_own_temperature: AtomicBool,
    /// What will go wrong with every request: a key that is refused, a model that is not there.
    hopeless: OnceLock<String>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answered {
    /// This text.
    Text(String),
    /// The beginning of a text: its tokens ran out.
    CutOff,
    /// Nothing, for this reason.
    Refused(String),
}

/// What comes after a try.
enum Tried {
    Done(Result<Answered, String>),
    /// Again, after this time where the provider names one.
    Again(Option<Duration>, String),
    /// At once, without a temperature.
    WithoutTemperature,
}

impl Model {
    /// A model of this name.
    pub fn new(upstream: Arc<Upstream>, name: &str, settings: ModelSettings) -> Self {
        Self {
            upstream,
            name: name.to_owned(),
            settings,
            requests: AtomicU64::default(),
            prompt_tokens: AtomicU64::default(),
            completion_tokens: AtomicU64::default(),
            has_own_temperature: AtomicBool::new(false),
            hopeless: OnceLock::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it is asked.
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// What has been spent so far, as the provider counts it.
    pub fn cost(&self) -> Cost {
        Cost {
            requests: self.requests.load(Ordering::Relaxed),
            prompt_tokens: self.prompt_tokens.load(Ordering::Relaxed),
            completion_tokens: self.completion_tokens.load(Ordering::Relaxed),
        }
    }

    /// Asks once; again only where no answer came, or the provider is busy.
    ///
    /// # Errors
    /// Why there is no answer, and what mends it.
    pub(super) async fn ask(&self, messages: &[(Role, String)]) -> Result<Answered, String> {
        if let Some(reason) = self.hopeless.get() {
            return Err(reason.clone());
        }
        let mut wait = FIRST_WAIT;
        let mut tries = self.settings.tries.max(1);
        loop {
            match self.attempt(messages).await {
                Tried::Done(answered) => return answered,
                Tried::WithoutTemperature => {}
                Tried::Again(_, reason) if tries <= 1 => return Err(reason),
                Tried::Again(asked, _) => {
                    tries -= 1;
                    let longest = Duration::from_secs(self.settings.max_wait_seconds);
                    sleep(asked.unwrap_or(wait).min(longest)).await;
                    wait = wait.saturating_mul(2);
                }
            }
        }
    }

    async fn attempt(&self, messages: &[(Role, String)]) -> Tried {
        let temperature = (!self.has_own_temperature.load(Ordering::Relaxed)).then_some(TEMPERATURE);
        let body = text_request(&self.name, messages, temperature);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let answer = match self.upstream.chat(body, &HeaderMap::new()).await {
            Ok(answer) => answer,
            Err(failure) if failure.kind == UpstreamFailureKind::Malformed => {
                return Tried::Done(Err(failure.to_string()));
            }
            Err(failure) => return Tried::Again(None, failure.to_string()),
        };
        let (status, wait) = (answer.status, retry_after(&answer));
        let body = match answer.whole().await {
            Ok(body) => body,
            Err(failure) => return Tried::Again(None, failure.to_string()),
        };
        if status.is_success() { Tried::Done(self.read(body)) } else { self.refused(status, wait, &body, temperature) }
    }

    fn refused(&self, status: StatusCode, wait: Option<Duration>, body: &Bytes, temperature: Option<f64>) -> Tried {
        let said = error_message(body).map(|said| quoted(&said)).unwrap_or_default();
        let upstream = self.upstream.name();
        let reason = |advice: &str| {
            let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
            format!("upstream `{upstream}` answered with status {}{said}{advice}", status.as_u16())
        };
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                // Providers quote the key in these.
                self.give_up(format!(
                    "upstream `{upstream}` answered with status {}; check its `api_key`",
                    status.as_u16()
                ))
            }
            StatusCode::NOT_FOUND => self.give_up(reason("; check the model's name and the upstream's `base_url`")),
            StatusCode::BAD_REQUEST if temperature.is_some() && said.to_lowercase().contains("temperature") => {
                self.has_own_temperature.store(true, Ordering::Relaxed);
                Tried::WithoutTemperature
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {
                Tried::Again(wait, reason("; try again later, or with fewer samples"))
            }
            _ if status.is_server_error() => Tried::Again(wait, reason("; try again later")),
            _ => Tried::Done(Err(reason(""))),
        }
    }

    fn give_up(&self, reason: String) -> Tried {
        Tried::Done(Err(self.hopeless.get_or_init(|| reason).clone()))
    }

    fn read(&self, body: Bytes) -> Result<Answered, String> {
        let completion = Completion::parse(body)
            .map_err(|error| format!("upstream `{}`: {}", self.upstream.name(), error.message))?;
        let usage = completion.usage().unwrap_or_default();
        self.prompt_tokens.fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        self.completion_tokens.fetch_add(usage.completion_tokens, Ordering::Relaxed);
        let Some(choice) = completion.choices().first() else {
            return Err(format!("upstream `{}`: the answer has no choice", self.upstream.name()));
        };
        if let Some(refusal) = choice.message.refusal() {
            return Ok(Answered::Refused(quoted(&refusal)));
        }
        if choice.finish_reason.as_deref() == Some("content_filter") {
            return Ok(Answered::Refused("its content filter stopped the answer".to_owned()));
        }
        if choice.is_cut_off() {
            return Ok(Answered::CutOff);
        }
        Ok(Answered::Text(choice.message.text().unwrap_or_default()))
    }
}

/// The beginning of somebody else's words, on one line.
pub(super) fn quoted(said: &str) -> String {
    shortened(&tidy(said), QUOTED_CHARS).to_owned()
}

/// `Retry-After` in seconds (RFC 9110, section 10.2.3).
fn retry_after(answer: &Answer) -> Option<Duration> {
    let seconds = answer.headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
