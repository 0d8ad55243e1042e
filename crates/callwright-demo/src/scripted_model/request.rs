//! Members of a chat request that the scripted model uses. Others are accepted and ignored.

use serde::Deserialize;
use serde_json::Value;

use callwright_common::text::letters;

/// Chat request.
#[derive(Debug, Deserialize)]
pub(super) struct ScriptedRequest {
    #[serde(default)]
    pub(super) model: String,
    pub(super) messages: Vec<ScriptedMessage>,
    #[serde(default)]
    pub(super) tools: Vec<OfferedFunction>,
    #[serde(default)]
    pub(super) tool_choice: Value,
    #[serde(default)]
    pub(super) parallel_tool_calls: Option<bool>,
    #[serde(default)]
    pub(super) stream: bool,
    #[serde(default)]
    stream_options: StreamOptions,
}

/// Message of the conversation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ScriptedMessage {
    pub(super) role: String,
    content: Value,
    tool_calls: Option<Vec<Value>>,
}

/// Offered tool.
#[derive(Debug, Deserialize)]
pub(super) struct OfferedFunction {
    #[serde(default)]
    function: FunctionName,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionName {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StreamOptions {
    include_usage: bool,
}

impl ScriptedRequest {
    /// Parses a request body; the error is a message for the client.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|error| format!("the body is not a chat request: {error}"))
    }

    /// Returns the offered tool with this name, ignoring case, separators and prefixes.
    pub(super) fn tool_like(&self, name: &str) -> Option<&str> {
        let searched = letters(name);
        self.tools
            .iter()
            .map(|tool| tool.function.name.as_str())
            .find(|offered| !offered.is_empty() && letters(offered).ends_with(&searched))
    }

    /// Whether the answer may contain calls.
    pub(super) fn may_call(&self) -> bool {
        !self.tools.is_empty() && self.tool_choice.as_str() != Some("none")
    }

    /// Whether a stream must end with the usage.
    pub(super) fn requests_usage_chunk(&self) -> bool {
        self.stream_options.include_usage
    }
}

impl ScriptedMessage {
    /// Returns the text with joined parts; empty if there is none.
    pub(super) fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
            _ => String::new(),
        }
    }

    /// Whether this is an assistant message without calls.
    pub(super) fn ends_an_exchange(&self) -> bool {
        self.role == "assistant" && self.tool_calls.as_ref().is_none_or(Vec::is_empty)
    }
}

#[cfg(test)]
impl ScriptedMessage {
    /// Creates a message for tests.
    pub(super) fn new(role: &str, text: &str) -> Self {
        Self { role: role.to_owned(), content: text.into(), tool_calls: None }
    }
}
