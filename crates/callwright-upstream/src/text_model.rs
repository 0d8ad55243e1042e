//! Asking a model for one text, for purposes of our own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use tokio::time::sleep;

use super::Upstream;
use super::retry::retry_after;
use callwright_openai::{Completion, Role, error_message, text_request};
use callwright_types::{UpstreamFailureKind, Usage};

/// Wait before the second try where the provider names none; doubled each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Characters of a provider's or a model's own words that a message quotes.
const QUOTED_CHARS: usize = 160;

/// Whoever answers questions with a text: a model of an upstream, or one whose requests are counted, bounded or scripted.
pub trait TextSource: std::fmt::Debug + Send + Sync {
    /// Asks once, as [`TextModel::ask`] does.
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
    /// Header fields of the client for which it is asked.
    headers: HeaderMap,
    manners: Arc<Manners>,
    /// What will go wrong with every request: a key that is refused, a model that is not there.
    hopeless: OnceLock<String>,
}

/// What was learned of how a model wants to be asked.
#[derive(Debug, Default)]
struct Manners {
    /// Reasoning models refuse any temperature but their own; then none is sent any more.
    has_own_temperature: AtomicBool,
    /// Not every provider has structured outputs; then the form of answers is not sent any more.
    has_no_forms: AtomicBool,
}

/// What is done where a provider is busy (status 408, 409, 429, 5xx) or the exchange breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Times that a request is made, at least 1.
    pub tries: u32,
    /// Longest wait before the next try, whatever the provider asks for.
    pub max_wait: Duration,
}

/// How a text is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manner<'a> {
    /// How freely the model may choose its words.
    pub temperature: f64,
    /// JSON Schema that the text is to fit. It is sent to providers that take it; what comes has to be checked all the same.
    pub form: Option<&'a Value>,
    /// Requests that it may take at most, whatever patience there is; at least one is made.
    pub requests: Option<u64>,
}

/// What asking gave, and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The answer, or why there is none, and what mends it.
    pub answered: Result<Answered, String>,
    /// Requests that were made.
    pub requests: u64,
    /// What the provider counts; `None` where it does not.
    pub usage: Option<Usage>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// This text.
    Text(String),
    /// The beginning of a text: its tokens ran out.
    CutOff,
    /// Nothing, for this reason.
    Refused(String),
}

/// What comes after a try.
enum Tried {
    Done(Result<Answered, String>, Option<Usage>),
    /// Again, after this time where the provider names one.
    Again(Option<Duration>, String),
    /// At once: something is not sent any more that the provider does not take.
    Plainer,
}

/// What of a request a provider may refuse.
#[derive(Clone, Copy)]
struct Sent<'a> {
    temperature: Option<f64>,
    form: Option<&'a Value>,
}

impl TextModel {
    /// A model of this name.
    pub fn new(upstream: Arc<Upstream>, name: &str, patience: Patience) -> Self {
        Self {
            upstream,
            name: name.to_owned(),
            patience,
            headers: HeaderMap::new(),
            manners: Arc::default(),
            hopeless: OnceLock::new(),
        }
    }

    /// The same model, asked for a client with these header fields: where the upstream has no key of its own, the client's is sent. What is
    /// learned of how the model wants to be asked is shared.
    #[must_use]
    pub fn for_client(&self, headers: HeaderMap) -> Self {
        Self {
            upstream: Arc::clone(&self.upstream),
            name: self.name.clone(),
            patience: self.patience,
            headers,
            manners: Arc::clone(&self.manners),
            hopeless: OnceLock::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks once; again only where no answer came, the provider is busy, or it does not take how the answer is to be.
    pub async fn ask(&self, messages: &[(Role, String)], manner: Manner<'_>) -> Exchange {
        let mut requests = 0;
        if let Some(reason) = self.hopeless.get() {
            return Exchange { answered: Err(reason.clone()), requests, usage: None };
        }
        let mut wait = FIRST_WAIT;
        let mut tries = self.patience.tries.max(1);
        loop {
            requests += 1;
            match self.attempt(messages, manner).await {
                Tried::Done(answered, usage) => return Exchange { answered, requests, usage },
                Tried::Again(_, reason) if tries <= 1 => {
                    return Exchange { answered: Err(reason), requests, usage: None };
                }
                Tried::Again(..) | Tried::Plainer if manner.requests.is_some_and(|most| requests >= most) => {
                    let reason = format!("no answer within the {requests} requests that were left for it");
                    return Exchange { answered: Err(reason), requests, usage: None };
                }
                Tried::Plainer => {}
                Tried::Again(asked, _) => {
                    tries -= 1;
                    sleep(asked.unwrap_or(wait).min(self.patience.max_wait)).await;
                    wait = wait.saturating_mul(2);
                }
            }
        }
    }

    async fn attempt(&self, messages: &[(Role, String)], manner: Manner<'_>) -> Tried {
        let sent = Sent {
            temperature: (!self.manners.has_own_temperature.load(Ordering::Relaxed)).then_some(manner.temperature),
            form: manner.form.filter(|_| !self.manners.has_no_forms.load(Ordering::Relaxed)),
        };
        let body = text_request(&self.name, messages, sent.temperature, sent.form);
        let answer = match self.upstream.chat(body, &self.headers).await {
            Ok(answer) => answer,
            Err(failure) if failure.kind == UpstreamFailureKind::Malformed => {
                return Tried::Done(Err(failure.to_string()), None);
            }
            Err(failure) => return Tried::Again(failure.retry_after, failure.to_string()),
        };
        let (status, wait) = (answer.status, retry_after(&answer.headers, SystemTime::now()));
        let body = match answer.whole().await {
            Ok(body) => body,
            Err(failure) => return Tried::Again(None, failure.to_string()),
        };
        if status.is_success() { self.read(body) } else { self.refused(status, wait, &body, sent) }
    }

    fn refused(&self, status: StatusCode, wait: Option<Duration>, body: &Bytes, sent: Sent<'_>) -> Tried {
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
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY if self.is_plainer_now(&said, sent) => {
                Tried::Plainer
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {
                Tried::Again(wait, reason("; try again later, or ask for less at once"))
            }
            _ if status.is_server_error() => Tried::Again(wait, reason("; try again later")),
            _ => Tried::Done(Err(reason("")), None),
        }
    }

    /// Is it something that was sent beside the messages which the provider does not take? Then it is not sent any more.
    fn is_plainer_now(&self, said: &str, sent: Sent<'_>) -> bool {
        let said = said.to_lowercase();
        if sent.temperature.is_some() && said.contains("temperature") {
            self.manners.has_own_temperature.store(true, Ordering::Relaxed);
            return true;
        }
        let is_about_form =
            ["response_format", "json_schema", "schema", "structured"].iter().any(|word| said.contains(word));
        if sent.form.is_some() && is_about_form {
            self.manners.has_no_forms.store(true, Ordering::Relaxed);
            return true;
        }
        false
    }

    fn give_up(&self, reason: String) -> Tried {
        Tried::Done(Err(self.hopeless.get_or_init(|| reason).clone()), None)
    }

    fn read(&self, body: Bytes) -> Tried {
        let upstream = self.upstream.name();
        let completion = match Completion::parse(body) {
            Ok(completion) => completion,
            Err(error) => return Tried::Done(Err(format!("upstream `{upstream}`: {}", error.message)), None),
        };
        let usage = completion.usage();
        let Some(choice) = completion.choices().first() else {
            return Tried::Done(Err(format!("upstream `{upstream}`: the answer has no choice")), usage);
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
        Tried::Done(Ok(answered), usage)
    }
}

/// The beginning of somebody else's words, on one line.
fn quoted(said: &str) -> String {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    said.chars().filter(|letter| !letter.is_control()).take(QUOTED_CHARS).collect()
}
