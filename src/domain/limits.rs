//! How much one turn may spend.

use serde::{Deserialize, Serialize};

/// The limits of one turn. Every number is a policy key under `limits`; the defaults are the papers' where they give one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Rounds of static feedback (AutoFeedback: 3): answers sent back because a scan found a fault.
    pub static_feedback: u32,
    /// Rounds of dynamic feedback (AutoFeedback: 2): failed outcomes explained and handed back.
    pub dynamic_feedback: u32,
    /// Upstream requests of a turn in all, the first one included.
    pub upstream_requests: u32,
    /// Tokens of a turn over all its attempts, as the upstream counts them; 0 means no limit.
    pub tokens: u64,
    /// Wall-clock seconds of a turn, after which nothing new begins.
    pub seconds: u64,
    /// Calls of one answer that the proxy executes at the same time.
    pub parallel_calls: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            static_feedback: 3,
            dynamic_feedback: 2,
            upstream_requests: 16,
            tokens: 0,
            seconds: 300,
            parallel_calls: 8,
        }
    }
}
