//! Abstracts successful calls to a procedure.
//!
//! Every argument is traced to its origin: an earlier answer, a constant of the tool's schema, or the user, which makes
//! it an input. No user data remains in a procedure. `answers` indexes the values of answers, `names` matches fields to
//! parameters, `schema` reads tool schemas, `origins` combines these, and `draft` builds the procedure.

mod answers;
mod draft;
mod from_plan;
mod input;
mod names;
mod origins;
mod schema;
#[cfg(test)]
mod tests;
mod vocabulary;
mod wording;

use super::Settings;
use callwright_types::memory::Backing;
use callwright_types::{Plan, ProcedureDraft};

pub use input::{CompletedCall, ProcedureTool, Workflow};
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
