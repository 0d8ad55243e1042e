//! Settings and limits of plan generation.

use callwright_types::Limits;

/// Settings of plan generation. The defaults are those of `callwright plan`.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationSettings {
    /// Maximum depth of a plan, in calls on the path from a goal. A call at this depth has no dependencies.
    pub depth: usize,
    /// Maximum number of calls per plan.
    pub nodes: usize,
    /// Maximum number of requests to the model per plan, repair requests included.
    pub requests: u64,
    /// Maximum number of tokens per plan, prompts and answers. Prompts that are not counted yet are estimated.
    pub tokens: u64,
    /// Sampling temperature; low for reproducible answers (paper, appendix A.4).
    pub temperature: f64,
    /// Division of a call's arguments into requests.
    pub completion: Completion,
    /// Maximum number of candidate tools listed per argument.
    pub candidates: usize,
    /// Maximum number of output fields shown per tool.
    pub outputs: usize,
    /// Maximum number of arguments requested per call; required ones come first.
    pub arguments: usize,
    /// Maximum number of characters of the conversation in a prompt; the latest are kept.
    pub conversation_chars: usize,
    /// Maximum number of characters of a description in a prompt.
    pub description_chars: usize,
    /// Maximum size of a parameter's schema in a prompt, in bytes. A larger one is reduced to its type, format and
    /// description.
    pub schema_bytes: usize,
    /// Maximum number of values shown for a choice; the first ones are kept.
    pub options: usize,
    /// Maximum number of characters shown per value.
    pub option_chars: usize,
}

/// Division of a call's arguments into requests (paper, section 4.2.2). Modes other than `All` exist for comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Completion {
    /// All arguments in one request.
    #[default]
    All,
    /// One request per argument, in order.
    OneByOne,
    /// Conversation values first, without any tools; then the tools for the remaining arguments. Together with the
    /// selection these are the three steps.
    ThreeSteps,
}

impl GenerationSettings {
    /// Returns the settings within the limits of a policy.
    pub fn within(limits: &Limits) -> Self {
        Self {
            depth: limits.plan_depth as usize,
            nodes: limits.plan_calls as usize,
            requests: u64::from(limits.plan_requests),
            tokens: limits.plan_tokens,
            ..Self::default()
        }
    }
}

impl Default for GenerationSettings {
    fn default() -> Self {
        Self {
            depth: 5,
            nodes: 16,
            requests: 40,
            tokens: 200_000,
            temperature: 0.1,
            completion: Completion::All,
            candidates: 8,
            outputs: 24,
            arguments: 64,
            conversation_chars: 16_000,
            description_chars: 400,
            schema_bytes: 2_000,
            options: 50,
            option_chars: 400,
        }
    }
}
