//! A call that passed the scan.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::toolbook::CompiledTool;
use crate::domain::Call;

/// A call that passed the scan. There is no other constructor than [`super::scan`], so whatever takes a `CheckedCall`
/// cannot be handed a call that nobody checked.
#[derive(Debug, Clone)]
pub struct CheckedCall {
    call: Call,
    tool: Arc<CompiledTool>,
    arguments: Map<String, Value>,
}

impl CheckedCall {
    pub(super) fn new(call: Call, tool: Arc<CompiledTool>, arguments: Map<String, Value>) -> Self {
        Self { call, tool, arguments }
    }

    /// The call as it was scanned.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The tool that it calls.
    pub fn tool(&self) -> &Arc<CompiledTool> {
        &self.tool
    }

    /// The parsed arguments; empty for a free-text tool, whose text is in [`Call::arguments`].
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Does the tool take free text, which nobody judged?
    pub fn is_free_text(&self) -> bool {
        self.tool.tool.free_text
    }
}
