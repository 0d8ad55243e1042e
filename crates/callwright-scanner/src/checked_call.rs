//! A tool call that passed the scan.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::tool_set::CompiledTool;
use callwright_types::tool::CUSTOM_INPUT;
use callwright_types::{Call, ToolKind};

/// A tool call that passed the scan. Its only constructor is [`super::scan`]: a function that takes a `CheckedCall`
/// cannot receive an unchecked call.
#[derive(Debug, Clone)]
pub struct CheckedCall {
    call: Call,
    tool: Arc<CompiledTool>,
    arguments: Map<String, Value>,
    is_read: bool,
}

impl CheckedCall {
    pub(super) fn new(call: Call, tool: Arc<CompiledTool>, arguments: Option<Map<String, Value>>) -> Self {
        let is_read = arguments.is_some();
        Self { call, tool, arguments: arguments.unwrap_or_default(), is_read }
    }

    /// Returns the call as it was scanned.
    pub fn call(&self) -> &Call {
        &self.call
    }

    pub fn tool(&self) -> &Arc<CompiledTool> {
        &self.tool
    }

    /// Returns the parsed arguments; empty if [`CheckedCall::is_free_text`].
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Whether the call has values that were not validated, because the schema for them was not compiled.
    pub fn has_unjudged_values(&self) -> bool {
        self.is_read && self.tool.leaves_unjudged(&self.arguments)
    }

    /// Whether the raw text of [`Call::arguments`] is the only form of the arguments: policy accepted arguments that are
    /// not a JSON object (E1), or the call was not judged.
    pub fn is_free_text(&self) -> bool {
        !self.is_read
    }

    /// Returns the text of a call of a custom tool; `None` for other tools.
    pub fn custom_input(&self) -> Option<&str> {
        if self.tool.tool.kind != ToolKind::Custom {
            return None;
        }
        self.arguments.get(CUSTOM_INPUT)?.as_str()
    }
}
