//! The request's `tool_choice`, and the legacy `function_call`.

/// Which tools the model may or must call (API reference, `tool_choice`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides; also where the field is absent or unreadable.
    #[default]
    Auto,
    /// No calls.
    None,
    /// At least one call.
    Required,
    /// A call of this tool.
    Named(String),
    /// Calls of these tools only.
    Allowed {
        /// At least one call of them, rather than the model's decision.
        required: bool,
        /// The tools' names.
        names: Vec<String>,
    },
}
