//! Imports procedures from Markdown runbooks that people write.
//!
//! A runbook names operations and the sources of their arguments. [`parse`] parses it, and [`draft`] abstracts one
//! workflow to a procedure, by the same rules as learned ones: values become inputs, and only operations of known
//! toolsets count. The caller adds the evidence, which names the runbook.

mod runbook;
#[cfg(test)]
mod tests;
mod workflow;

use std::collections::HashSet;

use super::{ProcedureTool, Settings, draft_of_plan};
use callwright_common::schema::{LocalSchema, Views};
use callwright_common::text::excerpt;
use callwright_types::memory::Backing;
use callwright_types::plan::{Argument, Node, Source};
use callwright_types::{Plan, ProcedureDraft};

pub use workflow::{ImportError, ImportedStep, ImportedWorkflow, OperationName};
use workflow::{MAX_WORKFLOWS, input, input_name};

/// Maximum size of a runbook, in bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// Parses the workflows of a runbook.
///
/// # Errors
/// [`ImportError::Empty`] and [`ImportError::TooMany`].
pub fn parse(text: &str) -> Result<Vec<ImportedWorkflow>, ImportError> {
    let workflows = runbook::parse(text);
    match workflows.len() {
        0 => Err(ImportError::Empty),
        count if count > MAX_WORKFLOWS => Err(ImportError::TooMany),
        _ => Ok(workflows),
    }
}

/// Abstracts a workflow to a procedure. `find` returns the tool of an operation.
///
/// # Errors
/// [`ImportError`]: a step names no known operation, or the steps form no procedure.
pub fn draft<'a>(
    workflow: &ImportedWorkflow,
    find: &dyn Fn(&OperationName) -> Option<ProcedureTool<'a>>,
    settings: &Settings,
) -> Result<ProcedureDraft, ImportError> {
    if workflow.steps.len() > settings.max_steps {
        return Err(ImportError::NoProcedure);
    }
    let inputs: HashSet<&str> = workflow.steps.iter().flat_map(|step| &step.arguments).filter_map(input_name).collect();
    let mut tools: Vec<ProcedureTool<'a>> = Vec::new();
    let mut nodes = Vec::with_capacity(workflow.steps.len());
    for step in &workflow.steps {
        let tool = find(&step.operation).ok_or_else(|| ImportError::Step {
            step: step.label.clone(),
            problem: format!("names {}, which no toolset has", step.operation),
        })?;
        nodes.push(node(step, &tool, &inputs));
        tools.push(tool);
    }
    let used: HashSet<&str> = nodes.iter().flat_map(Node::feeders).collect();
    let finals: Vec<String> =
        nodes.iter().map(|node| &node.label).filter(|label| !used.contains(label.as_str())).cloned().collect();
    let plan = Plan::new(nodes.clone(), finals)
        .map_err(|error| ImportError::Step { step: workflow.name.clone(), problem: format!("is invalid: {error}") })?;
    let mut draft = draft_of_plan(&plan, &tools, Backing::Seen, settings).ok_or(ImportError::NoProcedure)?;
    if !workflow.summary.is_empty() {
        draft.output = excerpt(&workflow.summary, settings.description_chars);
    }
    Ok(draft)
}

/// Returns the call of a step. Required arguments that the step does not mention are inputs: those of the same name that
/// other steps use, or their own.
fn node(step: &ImportedStep, tool: &ProcedureTool<'_>, inputs: &HashSet<&str>) -> Node {
    let mut arguments = step.arguments.clone();
    for name in Views::new(LocalSchema::root(tool.parameters)).required() {
        if arguments.iter().all(|argument| argument.name != name) {
            let source = match inputs.contains(name) {
                true => input(name),
                false => Source::Missing { question: name.to_owned() },
            };
            arguments.push(Argument { name: name.to_owned(), source });
        }
    }
    Node { label: step.label.clone(), tool: tool.name.to_owned(), task: String::new(), arguments }
}
