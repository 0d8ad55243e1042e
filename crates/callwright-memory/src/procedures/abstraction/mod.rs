//! Abstracts successful calls to a procedure.
//!
//! Every argument is traced to its origin: an earlier answer, a constant of the tool's schema, or the user, which makes
//! it an input. No user data remains in a procedure. `answers` indexes the values of answers, `names` matches fields to
//! parameters, `schema` reads tool schemas, `origins` combines these, and `draft` builds the procedure.

mod answers;
mod draft;
mod from_plan;
mod names;
mod origins;
mod schema;
#[cfg(test)]
mod tests;
mod vocabulary;
mod wording;

use serde_json::Value;

use super::Settings;
use callwright_types::memory::{Backing, ClientTool};
use callwright_types::{OutputField, OutputLink, Plan, ProcedureDraft};

pub(super) use names::matching_names_score;
pub(super) use schema::ValueSchema;
pub use schema::names_only;
pub(super) use wording::step_words;

/// Abstracts a workflow to a procedure: the calls that lead to its result, in order, with every value replaced by its
/// origin.
///
/// Returns `None` if the workflow cannot be reused: fewer than two calls contribute to the result, it exceeds the
/// limits of the settings, or a tool belongs neither to a toolset nor to an identifiable client.
pub fn draft_of_calls(workflow: &Workflow<'_>, backing: Backing, settings: &Settings) -> Option<ProcedureDraft> {
    let (steps, finals) = origins::trace(workflow)?;
    draft::draft(steps, &finals, backing, settings)
}

/// Abstracts a completed plan to a procedure. Returns `None` as [`draft_of_calls`] does.
pub(super) fn draft_of_plan(
    plan: &Plan,
    tools: &[ProcedureTool<'_>],
    backing: Backing,
    settings: &Settings,
) -> Option<ProcedureDraft> {
    let (steps, finals) = from_plan::steps(plan, tools)?;
    draft::draft(steps, &finals, backing, settings)
}

/// Call that was made and answered.
#[derive(Debug, Clone, Copy)]
pub struct CompletedCall<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Arguments, an object.
    pub arguments: &'a Value,
    /// Complete answer; text that is not JSON is a string.
    pub answer: &'a Value,
    /// Whether the call succeeded.
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
    /// Messages of the user.
    pub user_messages: &'a [&'a str],
}
