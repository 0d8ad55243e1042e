//! Interface of selectors among retrieved tools.

use std::fmt;

use futures_util::future::BoxFuture;

use super::ProposeError;
use callwright_types::Cost;

/// Chooses one of the best tools. False negatives and false positives are counted after this last step of the pipeline
/// (the paper's "retriever top k + LLM selection").
pub trait Selector: fmt::Debug + Send + Sync {
    /// Returns the name for reports.
    fn name(&self) -> &str;

    /// Number of best tools to choose from. With 1, the selector is not called.
    fn candidates(&self) -> usize;

    /// Returns the position of the tool that serves the request. Candidates are ordered best first.
    ///
    /// # Errors
    /// [`ProposeError`]: the learner reports it and uses the first candidate.
    fn select<'a>(
        &'a self,
        query: &'a str,
        candidates: &'a [Candidate<'a>],
    ) -> BoxFuture<'a, Result<usize, ProposeError>>;

    /// Returns the cost of requests to models so far.
    fn cost(&self) -> Cost;
}

/// Tool that may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Name of the tool.
    pub name: &'a str,
    /// Description as shown to a model, patterns included.
    pub description: &'a str,
}

/// Selector that always takes the best tool of the retriever.
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
