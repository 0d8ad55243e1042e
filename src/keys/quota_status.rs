//! Remaining limits of a key.

use std::time::Duration;

/// Remaining limits, the lower of key and group; `None` without a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuotaStatus {
    /// Requests per minute.
    pub requests: Option<Dimension>,
    /// Tokens per minute.
    pub tokens: Option<Dimension>,
}

/// State of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    /// The limit.
    pub limit: u64,
    /// Remaining amount.
    pub remaining: u64,
    /// Time until the full limit is available again, without further usage.
    pub reset: Duration,
}

impl QuotaStatus {
    /// Returns the lower limits of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self { requests: tighter(self.requests, other.requests), tokens: tighter(self.tokens, other.tokens) }
    }
}

fn tighter(one: Option<Dimension>, other: Option<Dimension>) -> Option<Dimension> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.remaining < one.remaining { other } else { one }),
        (one, other) => one.or(other),
    }
}
