//! Why a model's provider did not answer, classified once for metrics, retries and the client's answer.

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
        }
    }

    /// The HTTP status that tells the client: 504 for silence, 502 for everything else.
    pub const fn status(self) -> u16 {
        match self {
            Self::Timeout => 504,
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
}
