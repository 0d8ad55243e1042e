//! Who proposes patterns.

use std::fmt;

use futures_util::future::BoxFuture;

use callwright_types::Cost;
use callwright_types::representation::Pattern;

/// Proposes patterns for one tool from the samples that its present representation gets wrong; the learner keeps what the validation
/// samples confirm.
pub trait Proposer: fmt::Debug + Send + Sync {
    /// What reports and files call it.
    fn name(&self) -> &str;

    /// What decides about its proposals beside its name: an interrupted run goes on with the same alone.
    fn settings(&self) -> String {
        String::new()
    }

    /// Does a proposal cost requests to a model?
    fn asks_a_model(&self) -> bool {
        true
    }

    /// Further patterns for a tool (section 4.2, figure 1). Fewer than one is an answer too: there is nothing to add.
    ///
    /// # Errors
    /// [`ProposeError`]: the learner goes on with the next tool, and tells it.
    fn add<'a>(&'a self, addition: Addition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>>;

    /// The same number of patterns, changed so that they attract less of what is wrong (section 4.2, figure 2).
    ///
    /// # Errors
    /// As [`Proposer::add`].
    fn edit<'a>(&'a self, edition: Edition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>>;

    /// What has been spent so far on asking models.
    fn cost(&self) -> Cost;
}

/// What patterns are to be added to.
#[derive(Debug, Clone, Copy)]
pub struct Addition<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its own description.
    pub description: &'a str,
    /// What it has already.
    pub patterns: &'a [Pattern],
    /// Requests for it that do not find it: the false negatives.
    pub missed: &'a [&'a str],
    /// Patterns that it may have beyond those it has.
    pub room: usize,
}

/// What is to be edited.
#[derive(Debug, Clone, Copy)]
pub struct Edition<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its own description.
    pub description: &'a str,
    /// What it has.
    pub patterns: &'a [Pattern],
    /// Requests for other tools that find this one: the false positives.
    pub wrong: &'a [&'a str],
}

/// Why there is no proposal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{tool}: {reason}")]
pub struct ProposeError {
    /// The tool's name.
    pub tool: String,
    /// What went wrong, and what mends it.
    pub reason: String,
}
