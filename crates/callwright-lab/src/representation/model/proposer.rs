//! Proposer that uses a language model.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::LearnerModel;
use super::accept::Acceptance;
use super::answer::PatternsAnswer;
use super::prompts::{self, sampled};
use crate::representation::{Addition, Edition, ProposeError, Proposer};
use callwright_prompt::Question;
use callwright_types::representation::Pattern;

/// Requests patterns from a model (sections 4.2 and appendix A of the paper).
///
/// An unusable answer is sent back to the model once with its fault. If the second answer is unusable too, there is no
/// proposal. A refusal is not repeated. `model/accept.rs` defines which parts of an answer are used.
#[derive(Debug)]
pub struct LlmProposer {
    model: Arc<LearnerModel>,
}

impl LlmProposer {
    /// Creates a proposer with this model.
    pub fn new(model: Arc<LearnerModel>) -> Self {
        Self { model }
    }

    async fn propose<T>(
        &self,
        tool: &str,
        question: Question<PatternsAnswer>,
        accept: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, ProposeError> {
        let proposed = self.model.converse(question, accept).await;
        proposed.map_err(|reason| ProposeError { tool: tool.to_owned(), reason })
    }
}

impl Proposer for LlmProposer {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn add<'a>(&'a self, addition: Addition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        Box::pin(async move {
            if addition.room == 0 || addition.missed.is_empty() {
                return Ok(Vec::new());
            }
            let settings = &self.model.settings;
            let acceptance = Acceptance::new(settings, &sampled(addition.missed, settings));
            let question = prompts::addition(&addition, settings);
            self.propose(addition.tool, question, |answer| acceptance.added(answer, addition.patterns, addition.room))
                .await
        })
    }

    fn edit<'a>(&'a self, edition: Edition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        Box::pin(async move {
            if edition.patterns.is_empty() || edition.wrong.is_empty() {
                return Ok(edition.patterns.to_vec());
            }
            let settings = &self.model.settings;
            let acceptance = Acceptance::new(settings, edition.wrong);
            let question = prompts::edition(&edition, settings);
            self.propose(edition.tool, question, |answer| acceptance.edited(answer, edition.patterns)).await
        })
    }
}

#[cfg(test)]
#[path = "proposer_tests.rs"]
mod tests;
