//! Messages to the model, made from diagnoses and outcomes.
//!
//! Owns the templates, one per fault code. Must not decide whether feedback is given.

mod settings;

use std::path::PathBuf;

pub use settings::Settings;

use crate::domain::trace::Round;
use crate::domain::{Call, Diagnosis, Explanation, Outcome};
use crate::scanner::{CompiledTool, Toolbook};

/// The templates of every message that the proxy writes into a conversation.
#[derive(Debug, Clone, Default)]
pub struct Templates;

/// A directory of templates that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The directory or a file in it cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Unreadable {
        /// What could not be read.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What is told about a call whose execution failed (AutoFeedback section 3.3.2).
#[derive(Debug, Clone, Copy)]
pub struct FailedOutcome<'a> {
    /// The call that was executed.
    pub call: &'a Call,
    /// What came of it.
    pub outcome: &'a Outcome,
    /// What the documentation says about that.
    pub explanation: &'a Explanation,
    /// The tool called.
    pub tool: &'a CompiledTool,
    /// Earlier rounds of this turn.
    pub earlier: &'a [Round],
    /// Characters of the API's answer that may be quoted.
    pub body_limit: usize,
}

impl Templates {
    /// The built-in templates.
    pub fn builtin() -> Self {
        Self
    }

    /// The built-in templates, with those of the directory in `settings` in place of theirs.
    ///
    /// # Errors
    /// When the directory or a template in it cannot be read or used.
    pub fn load(settings: &Settings) -> Result<Self, TemplateError> {
        let path = PathBuf::from(&settings.templates);
        if !settings.templates.is_empty() {
            std::fs::read_dir(&path).map_err(|source| TemplateError::Unreadable { path, source })?;
        }
        Ok(Self)
    }

    /// Static feedback for a faulty call, in five parts from coarse to fine (AutoFeedback figure 4).
    pub fn faulty_call(&self, call: &Call, diagnoses: &[Diagnosis], _toolbook: &Toolbook) -> String {
        let found: Vec<_> = diagnoses.iter().map(|diagnosis| diagnosis.message.as_str()).collect();
        format!("The call of `{}` was not run: {}. Call again.", call.name, found.join("; "))
    }

    /// For a good call beside a faulty one: it is accepted, not run yet, and not to be repeated.
    pub fn accepted_call(&self, call: &Call) -> String {
        format!("The call of `{}` is accepted and will be run. Do not repeat it.", call.name)
    }

    /// For a call that is not executed in this round.
    pub fn deferred_call(&self, call: &Call) -> String {
        format!("The call of `{}` was not run in this round. Call again later if it is still needed.", call.name)
    }

    /// Dynamic feedback: action, observation, passages with their source, parameters concerned, what was tried before.
    pub fn failed_outcome(&self, facts: &FailedOutcome<'_>) -> String {
        format!("The call of `{}` failed: {}.", facts.call.name, facts.outcome.label())
    }

    /// Asks for a last word without calls: a limit is reached, the user is to be told what is missing.
    pub fn closing(&self, _record: &[Round]) -> String {
        "The limit of attempts is reached. Do not call any tool; tell the user what is missing.".to_owned()
    }

    /// The text for a person, when the model does not answer either.
    pub fn handover(&self, record: &[Round], trace_id: &str) -> String {
        format!("The request could not be completed after {} attempts (trace {trace_id}).", record.len())
    }
}
