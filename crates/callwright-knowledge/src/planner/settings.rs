//! Settings of the planner (`[planner]`).

use serde::{Deserialize, Serialize};

use super::drawing::{Completion, DrawSettings};
use callwright_types::Limits;

/// How plans are drawn, and what the search for sources of arguments knows besides the tools (`[planner]`). How much drawing may spend is
/// policy's (`limits.plan_*`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Model alias whose model draws plans; a small, cheap model does. Empty: the model that the turn asks.
    pub alias: String,
    /// How freely that model may choose its words (paper, appendix A.4: 0.1).
    pub temperature: f64,
    /// Times that a question is put to it where its provider is busy.
    pub tries: u32,
    /// Seconds to wait at most before it is put again.
    pub max_wait_seconds: u64,
    /// Tools that are named for one argument.
    pub candidates: usize,
    /// Values of a tool's answer that are shown.
    pub outputs: usize,
    /// Arguments of a call that are asked for; required ones come first.
    pub arguments: usize,
    /// Characters of the conversation that are shown, the latest.
    pub conversation_chars: usize,
    /// Characters of a description that are shown.
    pub description_chars: usize,
    /// Bytes of a parameter's schema that are shown; of a longer one only type and description.
    pub schema_bytes: usize,
    /// Items of a list that are shown where one has to be chosen, the first.
    pub options: usize,
    /// Characters of each of them that are shown.
    pub option_chars: usize,
    /// File of what an operator confirms and forbids as a source of arguments (relative to the configuration file's directory). Empty: none.
    pub edges: String,
    /// Read the file again when it changes.
    pub reload: bool,
    /// Milliseconds without a further change after which the file is read again.
    pub reload_quiet_milliseconds: u64,
    /// Bytes of clients' lists of tools that are kept ready to be searched for sources; of more, those used longest ago are read anew.
    pub client_tools_cache_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let drawing = DrawSettings::default();
        Self {
            alias: String::new(),
            temperature: drawing.temperature,
            tries: 2,
            max_wait_seconds: 5,
            candidates: drawing.candidates,
            outputs: drawing.outputs,
            arguments: drawing.arguments,
            conversation_chars: drawing.conversation_chars,
            description_chars: drawing.description_chars,
            schema_bytes: drawing.schema_bytes,
            options: drawing.options,
            option_chars: drawing.option_chars,
            edges: String::new(),
            reload: true,
            reload_quiet_milliseconds: 500,
            client_tools_cache_bytes: 16 * 1024 * 1024,
        }
    }
}

impl Settings {
    /// How plans are drawn within these limits.
    pub fn drawing(&self, limits: &Limits) -> DrawSettings {
        DrawSettings {
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
            // The other ways are there to be measured (`callwright plan --completion`).
            completion: Completion::All,
        }
    }
}
