//! Proposer that uses a language model.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::LearnerModel;
use super::accept::Acceptance;
use super::answer::PatternsAnswer;
use super::client::Answered;
use super::prompts::{self, repair, sampled};
use crate::prompt::{Messages, form};
use crate::representation::{Addition, Edition, ProposeError, Proposer};
use callwright_common::text::beginning;
use callwright_openai::Role;
use callwright_types::representation::Pattern;

/// Maximum number of characters of a faulty answer that are sent back to the model.
const RETURNED_CHARS: usize = 8_000;

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
        messages: Messages,
        accept: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, ProposeError> {
        converse(&self.model, messages, &form::<PatternsAnswer>(), accept)
            .await
            .map_err(|reason| ProposeError { tool: tool.to_owned(), reason })
    }
}

/// Sends the messages, with one repair round for an unusable answer.
pub(super) async fn converse<T>(
    model: &LearnerModel,
    mut messages: Messages,
    form: &Value,
    accept: impl Fn(&str) -> Result<T, String>,
) -> Result<T, String> {
    let judge = |answered: Answered| match answered {
        Answered::Text(text) => Ok(accept(&text).map_err(|fault| (text, fault))),
        Answered::CutOff => {
            let fault = "it was cut off because it is too long; give fewer and shorter items".to_owned();
            Ok(Err((String::new(), fault)))
        }
        Answered::Refused(reason) => Err(format!("the model refuses: {reason}")),
    };
    let (text, fault) = match judge(model.request(&messages, form).await?)? {
        Ok(accepted) => return Ok(accepted),
        Err(faulty) => faulty,
    };
    messages.push((Role::Assistant, beginning(&text, RETURNED_CHARS).to_owned()));
    messages.push((Role::User, repair(&fault)));
    let second = judge(model.request(&messages, form).await?)?;
    second.map_err(|(_, second)| format!("the model's answer is unusable, also after one repair request: {second}"))
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
            let messages = prompts::addition(&addition, settings);
            let accept = |answer: &str| acceptance.added(answer, addition.patterns, addition.room);
            self.propose(addition.tool, messages, accept).await
        })
    }

    fn edit<'a>(&'a self, edition: Edition<'a>) -> BoxFuture<'a, Result<Vec<Pattern>, ProposeError>> {
        Box::pin(async move {
            if edition.patterns.is_empty() || edition.wrong.is_empty() {
                return Ok(edition.patterns.to_vec());
            }
            let settings = &self.model.settings;
            let acceptance = Acceptance::new(settings, edition.wrong);
            let messages = prompts::edition(&edition, settings);
            self.propose(edition.tool, messages, |answer| acceptance.edited(answer, edition.patterns)).await
        })
    }
}

#[cfg(test)]
#[path = "proposer_tests.rs"]
mod tests;
