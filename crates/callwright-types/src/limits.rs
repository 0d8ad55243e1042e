//! Limits of one turn.

use serde::{Deserialize, Serialize};

/// Limits of one turn. Every number is a policy key under `limits`. The defaults are those of the papers where these
/// give one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Rounds of static feedback (AutoFeedback: 3): answers returned to the model because a scan found a fault.
    pub static_feedback: u32,
    /// Rounds of dynamic feedback (AutoFeedback: 2): failed outcomes returned to the model with an explanation.
    pub dynamic_feedback: u32,
    /// Upstream requests of a turn in total, including the first one.
    pub upstream_requests: u32,
    /// Tokens of a turn over all its attempts, as counted by the upstream; 0 means no limit.
    pub tokens: u64,
    /// Wall-clock seconds of a turn after which no new step starts.
    pub seconds: u64,
    /// Wall-clock seconds of a turn after which an upstream response in progress is aborted.
    pub total_seconds: u64,
    /// Calls of one answer that the proxy executes concurrently.
    pub parallel_calls: u32,
    /// Calls that the proxy executes in one turn in total.
    pub executed_calls: u32,
    /// Maximum depth of a plan, counted from a goal. The arguments of a call at this depth are not supplied by other
    /// calls.
    pub plan_depth: u32,
    /// Maximum number of calls in a plan.
    pub plan_calls: u32,
    /// Requests to the planning model per turn. They do not count towards `upstream_requests`.
    pub plan_requests: u32,
    /// Tokens of these requests and their responses per turn; an estimate if the provider does not report them.
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
