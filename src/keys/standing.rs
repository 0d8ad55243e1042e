//! What is left of a key's limits.

use std::time::Duration;

/// What is left, of the limit of key and group that leaves least; none where there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// Of requests within a minute.
    pub requests: Option<Dimension>,
    /// Of tokens within a minute.
    pub tokens: Option<Dimension>,
}

/// What is left of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    /// The limit.
    pub limit: u64,
    /// What is left of it.
    pub remaining: u64,
    /// The time after which all of it is left, where nothing more is used.
    pub reset: Duration,
}

impl Standing {
    /// Of both, what leaves less.
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
