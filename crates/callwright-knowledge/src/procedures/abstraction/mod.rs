//! Calls that worked → a procedure in general terms.
//!
//! Every argument is traced to where its value came from: an earlier answer, a constant of the tool's schema, or whoever asked; then it
//! is an input. No value stays that anybody wrote. `answers` knows what stands where in the answers, `names` which field may be meant by
//! which parameter, `schema` what a tool's schema has itself, `origins` puts these together, `draft` makes the procedure.

mod answers;
mod draft;
mod names;
mod origins;
mod planned;
mod said;
mod schema;
#[cfg(test)]
mod tests;
mod vocabulary;
mod wording;

use serde_json::Value;

use callwright_types::memory::{Backing, ClientTool};
use callwright_types::{OutputField, OutputLink, Plan, ProcedureDraft};

use super::Settings;
use callwright_common::json::Pointer;
use names::{Taker, fit};
pub(super) use schema::Parameters;
pub use schema::names_only;
pub(super) use wording::step_words;

/// A call that was made and answered.
#[derive(Debug, Clone, Copy)]
pub struct MadeCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its arguments: an object.
    pub arguments: &'a Value,
    /// Its whole answer; a text that is no JSON is a string.
    pub answer: &'a Value,
    /// Did it work?
    pub worked: bool,
}

/// What is known of a tool from its schema and documentation.
#[derive(Debug, Clone, Copy)]
pub struct KnownTool<'a> {
    /// Its name, as calls have it.
    pub name: &'a str,
    /// The toolset that it belongs to; none where it is the client's own.
    pub toolset: Option<&'a str>,
    /// How it is known again, where it is the client's own.
    pub client: Option<&'a ClientTool>,
    /// Its description; empty where it is the client's own.
    pub description: &'a str,
    /// The JSON Schema of its arguments; [`names_only`] of it where it is the client's own.
    pub parameters: &'a Value,
    /// What its answers hold; empty where that is not known.
    pub outputs: &'a [OutputField],
    /// Which arguments take values of its answers, as its document says.
    pub links: &'a [OutputLink],
    /// Does it change something? A call that does is wanted for itself, whatever it feeds.
    pub changes: bool,
}

/// A workflow that was carried out.
#[derive(Debug, Clone, Copy)]
pub struct Workflow<'a> {
    /// The calls in their order, those that failed among them.
    pub calls: &'a [MadeCall<'a>],
    /// Their tools.
    pub tools: &'a [KnownTool<'a>],
    /// What the user said.
    pub said: &'a [&'a str],
}

/// The procedure that a workflow was, in general terms: what fed its end, in order, with every value abstracted to where it came from.
///
/// `None` where it is none that could be followed again: fewer than two calls feed the end, it is longer than the settings allow, or a
/// tool is not known, or is neither of a toolset nor a client's own that is known again.
pub fn draft_of_calls(workflow: &Workflow<'_>, backing: Backing, settings: &Settings) -> Option<ProcedureDraft> {
    let (steps, finals) = origins::trace(workflow)?;
    draft::draft(steps, &finals, backing, settings)
}

/// The procedure that a plan was all of whose calls were answered, in general terms. `None` as in [`draft_of_calls`].
pub fn draft_of_plan(
    plan: &Plan,
    tools: &[KnownTool<'_>],
    backing: Backing,
    settings: &Settings,
) -> Option<ProcedureDraft> {
    let (steps, finals) = planned::steps(plan, tools)?;
    draft::draft(steps, &finals, backing, settings)
}

/// How well what stands at `output` in the answers of `producer` fits a parameter, given as tool and name; `None` where their names do not agree.
pub(super) fn named_alike((tool, parameter): (&str, &str), producer: &str, output: &Pointer) -> Option<f32> {
    let fit = fit(Taker { tool, parameter }, producer, output);
    fit.agrees.then_some(fit.score)
}
