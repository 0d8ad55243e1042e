//! Why somebody does not come in, or not now.

use std::time::Duration;

/// Who does not come in: nobody knows the key that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// None was sent.
    #[error("no API key was sent: a key of this proxy is needed, as `Authorization: Bearer cw-...` or `api-key`")]
    Missing,
    /// It is none of ours.
    #[error("the API key is not known here: keys of this proxy begin with `cw-`; ask its operator for one")]
    Unknown,
    /// Its time is over, or it was rotated and the grace time is over.
    #[error("the API key has expired; ask the proxy's operator for another one")]
    Expired,
    /// It was revoked.
    #[error("the API key was revoked; ask the proxy's operator for another one")]
    Revoked,
    /// The store could not be read since the process began, so no key is known.
    #[error("keys cannot be looked up at the moment, because the proxy's store does not work; try again")]
    NotLoaded,
}

/// What a request would exceed, or is not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Requests within a minute.
    Requests,
    /// Tokens within a minute.
    Tokens,
    /// Requests at a time.
    Concurrent,
    /// Money of a period.
    Budget,
    /// What is left of the money is reserved for requests under way.
    Reserved,
    /// The key may not use the model.
    Model,
    /// The key has a budget, and the model no price.
    Price,
    /// What is passed through is not counted, and the key is limited.
    Unmetered,
    /// The key may not have the path passed through.
    Path,
}

impl Limit {
    /// Its name for metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Requests => "limited_requests",
            Self::Tokens => "limited_tokens",
            Self::Concurrent => "limited_concurrent",
            Self::Budget | Self::Reserved => "limited_budget",
            Self::Model => "refused_model",
            Self::Price => "refused_price",
            Self::Unmetered => "refused_unmetered",
            Self::Path => "refused_path",
        }
    }

    /// The status of the answer: may the same request be served later?
    pub const fn status(self) -> u16 {
        match self {
            Self::Requests | Self::Tokens | Self::Concurrent | Self::Budget | Self::Reserved => 429,
            Self::Model | Self::Price | Self::Unmetered | Self::Path => 403,
        }
    }

    /// The class of the error, as OpenAI has it (API reference, "Error codes").
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Requests | Self::Concurrent => "requests",
            Self::Tokens | Self::Reserved => "tokens",
            Self::Budget => "insufficient_quota",
            Self::Model | Self::Price | Self::Unmetered | Self::Path => "invalid_request_error",
        }
    }

    /// The error's code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Requests | Self::Tokens | Self::Concurrent | Self::Reserved => "rate_limit_exceeded",
            Self::Budget => "insufficient_quota",
            Self::Model => "model_not_allowed",
            Self::Price => "model_without_price",
            Self::Unmetered => "unmetered_not_allowed",
            Self::Path => "path_not_allowed",
        }
    }
}

/// A request that is not served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// Why.
    pub limit: Limit,
    /// For a person: what it is, and what mends it.
    pub message: String,
    /// After what time the same request may be served.
    pub retry_after: Option<Duration>,
}

impl Refused {
    /// The seconds of `retry_after`, rounded up: who comes back earlier is refused again.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(|time| time.as_secs() + u64::from(time.subsec_nanos() > 0))
    }
}
