//! Who chooses among what the retriever found.

use std::fmt;

use futures_util::future::BoxFuture;

use super::ProposeError;
use callwright_types::Cost;

/// Chooses one of the best tools: the last step of the pipeline under which false negatives and false positives are taken (the paper's
/// "retriever top k + LLM selection").
pub trait Selector: fmt::Debug + Send + Sync {
    /// What reports call it.
    fn name(&self) -> &str;

    /// How many of the best tools it is shown; 1 leaves nothing to choose, and it is not asked.
    fn candidates(&self) -> usize;

    /// The position of the tool that serves the request. Candidates come best first.
    ///
    /// # Errors
    /// [`ProposeError`]: the first candidate stands then, and the learner tells it.
    fn select<'a>(
        &'a self,
        query: &'a str,
        candidates: &'a [Candidate<'a>],
    ) -> BoxFuture<'a, Result<usize, ProposeError>>;

    /// What has been spent so far on asking models.
    fn cost(&self) -> Cost;
}

/// A tool that may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its description as a model sees it, patterns included.
    pub description: &'a str,
}

/// The retriever alone: the best tool is the one that is taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSelection;

impl Selector for NoSelection {
    fn name(&self) -> &str {
        "none"
    }

    fn candidates(&self) -> usize {
        1
    }

    fn select<'a>(&'a self, _: &'a str, _: &'a [Candidate<'a>]) -> BoxFuture<'a, Result<usize, ProposeError>> {
        Box::pin(std::future::ready(Ok(0)))
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}
