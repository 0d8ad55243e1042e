//! Why a model's provider did not answer, classified once for metrics, retries and the client's answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The classes of upstream failure. The names are metric label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamFailureKind {
    /// No connection could be made: refused, DNS, TLS. Nothing was sent.
    Connect,
    /// No (further) byte within the configured time.
    Timeout,
    /// The connection broke after the request was sent.
    Reset,
    /// The answer is not what the protocol promises: invalid JSON, invalid UTF-8, an over-long line or body.
    Malformed,
    /// The stream ended before its choices were finished.
    Truncated,
    /// Nothing was sent: as many requests as the configuration allows are under way, and the queue is full or the wait was over.
    Busy,
    /// Nothing was sent: the upstream failed too often lately.
    CircuitOpen,
}

impl UpstreamFailureKind {
    /// Metric label and value of the error's `code` field.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Malformed => "malformed",
            Self::Truncated => "truncated",
            Self::Busy => "busy",
            Self::CircuitOpen => "circuit_open",
        }
    }

    /// The HTTP status that tells the client: 504 for silence, 503 where the proxy itself asked nobody, 502 for everything else.
    pub const fn status(self) -> u16 {
        match self {
            Self::Timeout => 504,
            Self::Busy | Self::CircuitOpen => 503,
            _ => 502,
        }
    }
}

/// An upstream attempt that gave no usable answer. (An HTTP error status *is* an answer: it is passed on.)
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("upstream `{upstream}`: {message}")]
pub struct UpstreamFailure {
    /// The class.
    pub kind: UpstreamFailureKind,
    /// The upstream's name in the configuration.
    pub upstream: String,
    /// What happened, without secrets: it is shown to the client.
    pub message: String,
    /// When it is worth another try, where that is known.
    pub retry_after: Option<Duration>,
}

impl UpstreamFailure {
    /// The value of the answer's `retry-after` field: whole seconds, at least one (RFC 9110, section 10.2.3).
    pub fn retry_after_seconds(&self) -> Option<u64> {
        let wait = self.retry_after?;
        Some(wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1))
    }
}

/// Whether an upstream is asked. The names are metric label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CircuitState {
    /// It is asked.
    Closed,
    /// It failed too often lately, and is left alone.
    Open,
    /// A few requests find out whether it is well again.
    HalfOpen,
}

impl CircuitState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Closed, Self::Open, Self::HalfOpen];

    /// Metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

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
