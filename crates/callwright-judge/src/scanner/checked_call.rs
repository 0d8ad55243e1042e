//! A call that passed the scan.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::toolbook::CompiledTool;
use callwright_types::Call;

/// A call that passed the scan. There is no other constructor than [`super::scan`], so whatever takes a `CheckedCall`
/// cannot be handed a call that nobody checked.
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

    /// The call as it was scanned.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The tool that it calls.
    pub fn tool(&self) -> &Arc<CompiledTool> {
        &self.tool
    }

    /// The parsed arguments; empty where [`CheckedCall::is_free_text`].
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Is the text of [`Call::arguments`] all there is? The tool takes free text, which nobody judged, or policy let arguments
    /// through that cannot be read (E1).
    pub fn is_free_text(&self) -> bool {
        self.tool.tool.free_text || !self.is_read
    }
}
