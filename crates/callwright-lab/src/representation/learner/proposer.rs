//! Interface of proposers of patterns.

use std::fmt;

use futures_util::future::BoxFuture;
use serde::Serialize;

use callwright_types::representation::Pattern;

/// Proposes patterns for one tool from the samples that its present representation gets wrong. The learner keeps
/// patterns that the validation samples confirm.
pub trait Proposer: fmt::Debug + Send + Sync {
    /// Returns the name for reports and files.
    fn name(&self) -> &str;

    /// Whether a proposal costs requests to a model.
    fn uses_model(&self) -> bool {
        true
    }

    /// Proposes further patterns for a tool (section 4.2, figure 1). An empty list means that there is nothing to add.
    ///
    /// # Errors
    /// [`ProposeError`]: the learner reports it and continues with the next tool.
    fn add<'a>(&'a self, addition: Addition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>>;

    /// Returns the same number of patterns, edited to attract fewer wrong samples (section 4.2, figure 2).
    ///
    /// # Errors
    /// The same as [`Proposer::add`].
    fn edit<'a>(&'a self, edition: Edition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>>;
}

/// Input of an addition.
#[derive(Debug, Clone, Copy)]
pub struct Addition<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Description of the tool.
    pub description: &'a str,
    /// Existing patterns.
    pub patterns: &'a [Pattern],
    /// Requests for the tool that do not find it: false negatives.
    pub missed: &'a [&'a str],
    /// Maximum number of further patterns.
    pub room: usize,
}

/// Input of an edition.
#[derive(Debug, Clone, Copy)]
pub struct Edition<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Description of the tool.
    pub description: &'a str,
    /// Existing patterns.
    pub patterns: &'a [Pattern],
    /// Requests for other tools that find this one: false positives.
    pub wrong: &'a [&'a str],
}

/// Failed proposal or selection.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[error("{tool}: {reason}")]
pub struct ProposeError {
    /// Name of the tool.
    pub tool: String,
    /// Problem and fix.
    pub reason: String,
}
