//! Input of the abstraction: workflows, their calls and their tools.

use serde_json::Value;

use callwright_types::memory::ClientTool;
use callwright_types::{OutputField, OutputLink};

/// Call that was made and answered.
#[derive(Debug, Clone, Copy)]
pub struct CompletedCall<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Arguments, an object.
    pub arguments: &'a Value,
    /// Complete answer; text that is not JSON is a string.
    pub answer: &'a Value,
    pub succeeded: bool,
}

/// Facts about a tool from its schema and documentation.
#[derive(Debug, Clone, Copy)]
pub struct ProcedureTool<'a> {
    /// Name, as used in calls.
    pub name: &'a str,
    /// Toolset of the tool; `None` for a client's own tool.
    pub toolset: Option<&'a str>,
    /// Identity of a client's own tool.
    pub client: Option<&'a ClientTool>,
    /// Description; empty for a client's own tool.
    pub description: &'a str,
    /// JSON Schema of its arguments; [`super::names_only`] of it for a client's own tool.
    pub parameters: &'a Value,
    /// Output fields of its answers; empty if unknown.
    pub outputs: &'a [OutputField],
    /// OpenAPI links from its answers to arguments.
    pub links: &'a [OutputLink],
    /// Whether the tool changes state. Such a call is a goal even if its answer is unused.
    pub changes_state: bool,
}

/// Completed workflow.
#[derive(Debug, Clone, Copy)]
pub struct Workflow<'a> {
    /// Calls in order, including failed ones.
    pub calls: &'a [CompletedCall<'a>],
    /// Tools of the calls.
    pub tools: &'a [ProcedureTool<'a>],
    pub user_messages: &'a [&'a str],
}
