//! Settings of procedural memory (`[procedures]`).

use serde::{Deserialize, Serialize};

/// What is kept of procedures, when one is followed as it is, and how new ones are made of them (`[procedures]`; AAG, sections 3 and 4.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Procedures that are retrieved for a request and for each question (paper: 3).
    pub k: usize,
    /// Questions that a request is rewritten into, at most (paper: 4).
    pub questions: usize,
    /// Times that a critic reviews the steps, at most (paper: 3).
    pub critic_rounds: usize,
    /// Is the request rewritten into questions? Without, there are no summaries and no update either.
    pub rewriting: bool,
    /// Are the procedures that were found for a question summarised? Without, they are shown whole.
    pub summaries: bool,
    /// Does a critic review the steps?
    pub critic: bool,
    /// How freely the model may choose its words (paper: 0.7).
    pub temperature: f64,
    /// Times that it is asked where its answer cannot be read; at least one.
    pub tries: u32,
    /// Requests to the model for one outline, at most; what a turn may spend on plans (`limits.plan_requests`) bounds it too.
    pub requests: u64,
    /// Tokens for one outline, at most; `limits.plan_tokens` bounds it too.
    pub tokens: u64,
    /// Steps of an outline, at most.
    pub outline_steps: usize,
    /// Characters of each of them, and of other texts of the model.
    pub step_chars: usize,
    /// Tools that the model is shown, the best.
    pub shown_tools: usize,
    /// Characters of the request that it is shown, the first.
    pub request_chars: usize,
    /// How close a request must be, 0 to 1, to what a procedure gives, so that it is followed as it is.
    pub template_closeness: f64,
    /// How much closer it must be to that procedure than to any other one.
    pub template_lead: f64,
    /// Share of all arguments, 0 to 1, that two procedures of the same calls must take from the same places to become one.
    pub near_duplicate: f64,
    /// Verified outcomes that a procedure keeps, the latest; at least one.
    pub max_evidence: usize,
    /// Calls of a procedure, at most: a longer workflow is not learned.
    pub max_steps: usize,
    /// Inputs of a procedure, at most: a workflow that needs more is not learned.
    pub max_inputs: usize,
    /// Characters of a description that are kept.
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
