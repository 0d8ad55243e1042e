//! Upstream failures, classified once for metrics, retries and the client's response.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Classes of upstream failure. The names are metric label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum UpstreamFailureKind {
    /// The connection failed: refused, DNS, TLS. Nothing was sent.
    Connect,
    /// No (further) byte arrived within the configured time.
    Timeout,
    /// The connection broke after the request was sent.
    Reset,
    /// The server states that it has not processed the request (RFC 9113, section 8.7).
    Refused,
    /// The server had closed the idle connection before it could read the whole request.
    Unread,
    /// The response violates the protocol: invalid JSON, invalid UTF-8, an over-long line or body.
    Malformed,
    /// The stream ended before its choices were finished.
    Truncated,
    /// Nothing was sent: the limit of concurrent requests is reached, and the queue is full or the wait timed out.
    Busy,
    /// Nothing was sent: the circuit is open because the upstream failed too often recently.
    CircuitOpen,
}

impl UpstreamFailureKind {
    /// Returns the HTTP status for the client: 504 for a timeout, 503 if the proxy sent no request, 502 otherwise.
    pub const fn status(self) -> u16 {
        match self {
            Self::Timeout => 504,
            Self::Busy | Self::CircuitOpen => 503,
            _ => 502,
        }
    }
}

/// An upstream attempt without a usable response. An HTTP error status *is* a response: it is forwarded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("upstream `{upstream}`: {message}")]
pub struct UpstreamFailure {
    /// Class of the failure.
    pub kind: UpstreamFailureKind,
    /// Name of the upstream in the configuration.
    pub upstream: String,
    /// Description without secrets; it is shown to the client.
    pub message: String,
    /// Time after which a retry may succeed, if known.
    pub retry_after: Option<Duration>,
}

impl UpstreamFailure {
    /// Creates a failure without a known time for a retry.
    pub fn new(kind: UpstreamFailureKind, upstream: &str, message: impl Into<String>) -> Self {
        Self { kind, upstream: upstream.to_owned(), message: message.into(), retry_after: None }
    }

    /// Returns the value of the `retry-after` field: whole seconds, at least one (RFC 9110, section 10.2.3).
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let wait = self.retry_after?;
        Some(wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1))
    }
}

/// State of an upstream's circuit breaker. The names are metric label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum CircuitState {
    /// Requests are sent.
    Closed,
    /// The upstream failed too often recently; no requests are sent.
    Open,
    /// A few probe requests test whether the upstream has recovered.
    HalfOpen,
}

crate::labels!(UpstreamFailureKind, CircuitState);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_in_whole_seconds_and_never_as_none() {
        let seconds = |wait| {
            let retry_after = Some(wait);
            let kind = UpstreamFailureKind::Busy;
            UpstreamFailure { kind, upstream: String::new(), message: String::new(), retry_after }.retry_after_seconds()
        };
        assert_eq!(seconds(Duration::from_millis(1)), Some(1));
        assert_eq!(seconds(Duration::ZERO), Some(1));
        assert_eq!(seconds(Duration::from_millis(2_001)), Some(3));
        assert_eq!(seconds(Duration::from_secs(7)), Some(7));
    }
}
