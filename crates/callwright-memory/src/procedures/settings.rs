//! Settings of procedural memory (`[procedures]`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of procedural memory: storage, direct use and creation of procedures (`[procedures]`; AAG, sections 3 and
/// 4.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Maximum number of procedures retrieved for a request and for each question (paper: 3).
    #[serde(skip)]
    pub k: usize,
    /// Maximum number of questions that a request is rewritten into (paper: 4).
    #[serde(skip)]
    pub questions: usize,
    /// Maximum number of critic rounds (paper: 3).
    #[serde(skip)]
    pub critic_rounds: usize,
    /// Whether the request is rewritten into questions. Without it, there are no summaries and no update.
    pub rewriting: bool,
    /// Whether the procedures found for a question are summarised. Otherwise they are shown in full.
    pub summaries: bool,
    /// Whether a critic reviews the steps.
    pub critic: bool,
    /// Sampling temperature of the model (paper: 0.7).
    #[serde(skip)]
    pub temperature: f64,
    /// Maximum number of attempts to get a parsable answer; at least one.
    #[serde(skip)]
    pub tries: u32,
    /// Maximum number of requests to the model per outline; also bounded by the turn's budget for plans
    /// (`limits.plan_requests`).
    #[serde(skip)]
    pub requests: u64,
    /// Maximum number of tokens per outline; also bounded by `limits.plan_tokens`.
    pub tokens: u64,
    /// Maximum number of steps of an outline.
    #[serde(skip)]
    pub outline_steps: usize,
    /// Maximum number of characters of a step and of other texts of the model.
    #[serde(skip)]
    pub step_chars: usize,
    /// Maximum number of tools in a prompt; the best are kept.
    #[serde(skip)]
    pub shown_tools: usize,
    /// Maximum number of characters of the request in a prompt; the first are kept.
    #[serde(skip)]
    pub request_chars: usize,
    /// Minimum similarity of a request to the result of a procedure, 0 to 1, to follow it unchanged.
    #[serde(skip)]
    pub template_closeness: f64,
    /// Minimum lead of that similarity over any other procedure.
    #[serde(skip)]
    pub template_lead: f64,
    /// Minimum share of arguments with equal sources, 0 to 1, to merge two procedures with the same calls.
    #[serde(skip)]
    pub near_duplicate: f64,
    /// Maximum number of verified outcomes kept per procedure, the latest; at least one.
    #[serde(skip)]
    pub max_evidence: usize,
    /// Maximum number of calls per procedure; longer workflows are not learned.
    #[serde(skip)]
    pub max_steps: usize,
    /// Maximum number of inputs per procedure; workflows that need more are not learned.
    #[serde(skip)]
    pub max_inputs: usize,
    /// Maximum number of characters kept of a description.
    #[serde(skip)]
    pub description_chars: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            k: 3,
            questions: 4,
            critic_rounds: 3,
            rewriting: true,
            summaries: true,
            critic: true,
            temperature: 0.7,
            tries: 2,
            requests: 20,
            tokens: 60_000,
            outline_steps: 20,
            step_chars: 400,
            shown_tools: 40,
            request_chars: 4_000,
            template_closeness: 0.6,
            template_lead: 0.1,
            near_duplicate: 0.7,
            max_evidence: 50,
            max_steps: 12,
            max_inputs: 24,
            description_chars: 200,
        }
    }
}
