//! Workflow of a runbook, and why a runbook or workflow cannot be imported.

use callwright_types::plan::{Argument, Source};

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
        /// The step.
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
