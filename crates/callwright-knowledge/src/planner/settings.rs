//! Settings of the planner (`[planner]`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::generation::{Completion, GenerationSettings};
use callwright_types::Limits;

/// Settings of plan generation and of the search for argument sources (`[planner]`). The budget of a plan is part of
/// the policy (`limits.plan_*`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Model alias whose model generates plans; a small, cheap model is sufficient. Empty: the model of the turn.
    pub alias: String,
    /// Sampling temperature of that model (paper, appendix A.4: 0.1).
    #[serde(skip)]
    pub temperature: f64,
    /// Maximum number of attempts per request while the provider is busy.
    #[serde(skip)]
    pub tries: u32,
    /// Maximum wait before a retry, in seconds.
    #[serde(skip)]
    pub max_wait_seconds: u64,
    /// Maximum number of candidate tools listed per argument.
    #[serde(skip)]
    pub candidates: usize,
    /// Maximum number of output fields shown per tool.
    #[serde(skip)]
    pub outputs: usize,
    /// Maximum number of arguments requested per call; required ones come first.
    #[serde(skip)]
    pub arguments: usize,
    /// Maximum number of characters of the conversation in a prompt; the latest are kept.
    #[serde(skip)]
    pub conversation_chars: usize,
    /// Maximum number of characters of a description in a prompt.
    #[serde(skip)]
    pub description_chars: usize,
    /// Maximum size of a parameter's schema in a prompt, in bytes. A larger one is reduced to its type, format and
    /// description.
    #[serde(skip)]
    pub schema_bytes: usize,
    /// Maximum number of list items shown for a choice; the first ones are kept.
    #[serde(skip)]
    pub options: usize,
    /// Maximum number of characters shown per list item.
    #[serde(skip)]
    pub option_chars: usize,
    /// File of argument sources that an operator confirms or forbids (relative to the configuration file's directory).
    /// Empty: none.
    pub edges: String,
    /// Size of the cache of indexed client tool lists, in bytes. The least recently used lists are evicted and are
    /// indexed again when needed.
    #[serde(skip)]
    pub client_tools_cache_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let generation = GenerationSettings::default();
        Self {
            alias: String::new(),
            temperature: generation.temperature,
            tries: 2,
            max_wait_seconds: 5,
            candidates: generation.candidates,
            outputs: generation.outputs,
            arguments: generation.arguments,
            conversation_chars: generation.conversation_chars,
            description_chars: generation.description_chars,
            schema_bytes: generation.schema_bytes,
            options: generation.options,
            option_chars: generation.option_chars,
            edges: String::new(),
            client_tools_cache_bytes: 16 * 1024 * 1024,
        }
    }
}

impl Settings {
    /// Returns the settings of plan generation within these limits.
    pub fn generation(&self, limits: &Limits) -> GenerationSettings {
        GenerationSettings {
            depth: limits.plan_depth as usize,
            nodes: limits.plan_calls as usize,
            requests: u64::from(limits.plan_requests),
            tokens: limits.plan_tokens,
            temperature: self.temperature,
            candidates: self.candidates,
            outputs: self.outputs,
            arguments: self.arguments,
            conversation_chars: self.conversation_chars,
            description_chars: self.description_chars,
            schema_bytes: self.schema_bytes,
            options: self.options,
            option_chars: self.option_chars,
            // The other modes exist for measurements (`callwright plan --completion`).
            completion: Completion::All,
        }
    }
}
