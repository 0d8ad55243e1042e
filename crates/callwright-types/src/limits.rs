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
    /// Wall-clock seconds of a turn, after which an upstream's answer that is still under way is cut off.
    pub total_seconds: u64,
    /// Calls of one answer that the proxy executes at the same time.
    pub parallel_calls: u32,
    /// Calls that the proxy executes in a turn in all.
    pub executed_calls: u32,
    /// Calls of a plan on the way from a goal to the first one; a call this deep is not fed by others.
    pub plan_depth: u32,
    /// Calls of a plan.
    pub plan_calls: u32,
    /// Requests to the model that draws plans, over one turn. They are not among `upstream_requests`.
    pub plan_requests: u32,
    /// Tokens of these requests and their answers, over one turn; an estimate where the provider does not count.
    pub plan_tokens: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            static_feedback: 3,
            dynamic_feedback: 2,
            upstream_requests: 16,
            tokens: 0,
            seconds: 300,
            total_seconds: 3_600,
            parallel_calls: 8,
            executed_calls: 100,
            plan_depth: 5,
            plan_calls: 16,
            plan_requests: 40,
            plan_tokens: 200_000,
        }
    }
}
