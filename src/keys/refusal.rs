//! Reasons for denying a client or refusing a request.

use std::time::Duration;

/// Reason why a client is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyDenial {
    /// No key was sent.
    #[error("no API key was sent: send a key of this proxy as `Authorization: Bearer cw-...` or `api-key`")]
    Missing,
    /// The key does not exist.
    #[error("unknown API key: keys of this proxy begin with `cw-`; request one from its operator")]
    Unknown,
    /// The key has expired, or it was rotated and the grace time is over.
    #[error("the API key has expired; request another one from the proxy's operator")]
    Expired,
    /// The key was revoked.
    #[error("the API key was revoked; request another one from the proxy's operator")]
    Revoked,
    /// The store could not be read since the process started, so no keys are loaded.
    #[error("keys cannot be verified at the moment, because the proxy's store is unavailable; try again")]
    NotLoaded,
}

/// Limit or permission that a request violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViolatedLimit {
    /// Requests per minute.
    Requests,
    /// Tokens per minute.
    Tokens,
    /// Concurrent requests.
    Concurrent,
    /// Budget of a period.
    Budget,
    /// The rest of the budget is reserved for requests in progress.
    Reserved,
    /// The key may not use the model.
    Model,
    /// The key has a budget, but the model has no price.
    Price,
    /// Pass-through requests are not metered, but the key is limited.
    Unmetered,
    /// The path is not passed through for this key.
    Path,
}

impl ViolatedLimit {
    /// Returns the name in metrics, the HTTP status, and type and code of the error as in OpenAI's API (API reference,
    /// "Error codes").
    const fn facts(self) -> (&'static str, u16, &'static str, &'static str) {
        match self {
            Self::Requests => ("limited_requests", 429, "requests", "rate_limit_exceeded"),
            Self::Tokens => ("limited_tokens", 429, "tokens", "rate_limit_exceeded"),
            Self::Concurrent => ("limited_concurrent", 429, "requests", "rate_limit_exceeded"),
            Self::Budget => ("limited_budget", 429, "insufficient_quota", "insufficient_quota"),
            Self::Reserved => ("limited_budget", 429, "tokens", "rate_limit_exceeded"),
            Self::Model => ("refused_model", 403, "invalid_request_error", "model_not_allowed"),
            Self::Price => ("refused_price", 403, "invalid_request_error", "model_without_price"),
            Self::Unmetered => ("refused_unmetered", 403, "invalid_request_error", "unmetered_not_allowed"),
            Self::Path => ("refused_path", 403, "invalid_request_error", "path_not_allowed"),
        }
    }

    /// Returns the name in metrics.
    pub const fn label(self) -> &'static str {
        self.facts().0
    }

    /// Returns the HTTP status: 429 if the same request may succeed later, otherwise 403.
    pub const fn status(self) -> u16 {
        self.facts().1
    }

    /// Returns the error type.
    pub const fn kind(self) -> &'static str {
        self.facts().2
    }

    /// Returns the error code.
    pub const fn code(self) -> &'static str {
        self.facts().3
    }
}

/// A request that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RefusedRequest {
    /// Violated limit or permission.
    pub limit: ViolatedLimit,
    /// Message for people: the reason and the fix.
    pub message: String,
    /// Time after which the same request may succeed.
    pub retry_after: Option<Duration>,
}

impl RefusedRequest {
    /// Returns `retry_after` in seconds, rounded up, because an earlier retry would be refused again.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after.map(|time| time.as_secs() + u64::from(time.subsec_nanos() > 0))
    }
}
