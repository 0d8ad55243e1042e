//! Imports procedures from Markdown runbooks that people write.
//!
//! A runbook names operations and the sources of their arguments. [`parse`] parses it, and [`draft`] abstracts one
//! workflow to a procedure, by the same rules as learned ones: values become inputs, and only operations of known
//! toolsets count. The caller adds the evidence, which names the runbook.

mod runbook;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::{ProcedureTool, Settings, draft_of_plan};
use callwright_common::schema::{LocalSchema, Views};
use callwright_common::text::excerpt;
use callwright_types::memory::Backing;
use callwright_types::plan::{Argument, Node, Source};
use callwright_types::{Plan, ProcedureDraft};

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

/// Maximum number of workflows of a runbook.
pub(super) const MAX_WORKFLOWS: usize = 500;

/// One workflow of a runbook.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedWorkflow {
    /// Its name in the runbook: the heading.
    pub name: String,
    /// Description of its result; may be empty.
    pub summary: String,
    /// Its steps, in order.
    pub steps: Vec<ImportedStep>,
}

/// One step of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedStep {
    /// Label, unique within the workflow: `step1`.
    pub label: String,
    /// The called operation.
    pub operation: OperationName,
    /// Arguments with their sources. Required arguments without an entry become inputs.
    pub arguments: Vec<Argument>,
}

/// Name of an operation in a runbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationName {
    /// An `operationId`, or the name of a tool.
    Id(String),
    /// Method in upper case, and path.
    Path(String, String),
}

/// Error of importing a runbook or workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The runbook has no workflow.
    #[error("has no workflow: expected Markdown with numbered steps that name operations")]
    Empty,
    /// The runbook has too many workflows.
    #[error("has more than {MAX_WORKFLOWS} workflows; split it")]
    TooMany,
    /// A step is not supported.
    #[error("step `{step}` {problem}")]
    Step {
        step: String,
        /// Description of the problem and its fix.
        problem: String,
    },
    /// The steps form no procedure.
    #[error("has fewer than two connected steps, or more steps or inputs than `[procedures]` allows")]
    NoProcedure,
}

/// Returns an input of the workflow as a source: arguments with the same input have the same value.
pub(super) fn input(name: &str) -> Source {
    Source::Value { value: format!("$inputs.{name}").into(), words: name.to_owned() }
}

/// Returns the name of the input that an argument takes, if it takes one.
pub(super) fn input_name(argument: &Argument) -> Option<&str> {
    match &argument.source {
        Source::Value { value, words } => {
            let is_input = value.as_str().and_then(|value| value.strip_prefix("$inputs.")) == Some(words);
            is_input.then_some(words.as_str())
        }
        _ => None,
    }
}

/// Returns the label of the step with this number.
pub(super) fn label(number: usize) -> String {
    format!("step{number}")
}

impl std::fmt::Display for OperationName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(id) => write!(formatter, "the operation `{id}`"),
            Self::Path(method, path) => write!(formatter, "the operation `{method} {path}`"),
        }
    }
}
