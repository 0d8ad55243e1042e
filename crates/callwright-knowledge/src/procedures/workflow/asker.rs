//! Sends requests to a model within a budget.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::procedures::Settings;
use callwright_common::json::bare;
use callwright_common::tokens::estimated;
use callwright_openai::Role;
use callwright_types::Cost;
use callwright_upstream::{Answered, Manner, TextSource};

/// Maximum size of an answer, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// Budget of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of requests to the model.
    pub requests: u64,
    /// Maximum number of tokens of prompts and answers; estimated if the provider does not report them.
    pub tokens: u64,
}

/// One request: messages and the JSON Schema of the answer.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) messages: Vec<(Role, String)>,
    pub(super) form: Value,
}

/// Parsed answer; `None` if no attempt returned a parsable one.
pub(super) type ParsedAnswer<T> = Option<T>;

/// Why no further request is possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum OutlineStop {
    #[error("the outline takes more than {0} requests")]
    Requests(u64),
    #[error("the outline takes more than {0} tokens")]
    Tokens(u64),
    #[error("{0}")]
    Unanswered(String),
}

/// Sends requests and accounts for their cost.
#[derive(Debug)]
pub(super) struct OutlineRequester<'a> {
    pub(super) source: &'a dyn TextSource,
    pub(super) budget: Budget,
    pub(super) spent: Cost,
    pub(super) settings: &'a Settings,
}

impl OutlineRequester<'_> {
    /// Sends a request and retries while the answer cannot be parsed, up to the configured number of attempts.
    pub(super) async fn ask<T: DeserializeOwned>(&mut self, prompt: &Prompt) -> Result<ParsedAnswer<T>, OutlineStop> {
        for _ in 0..self.settings.tries.max(1) {
            if let Some(answer) = self.once(prompt).await?.as_deref().and_then(read) {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// Returns the text of an answer; `None` if it was truncated.
    async fn once(&mut self, prompt: &Prompt) -> Result<Option<String>, OutlineStop> {
        let size: usize = prompt.messages.iter().map(|(_, text)| estimated(text)).sum();
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let left = self.budget.requests.saturating_sub(self.spent.requests);
        if left == 0 {
            return Err(OutlineStop::Requests(self.budget.requests));
        }
        if self.spent.tokens().saturating_add(size) > self.budget.tokens {
            return Err(OutlineStop::Tokens(self.budget.tokens));
        }
        let manner = Manner { temperature: self.settings.temperature, form: Some(&prompt.form), requests: Some(left) };
        let exchange = self.source.ask(&prompt.messages, manner).await;
        let answered = match &exchange.answered {
            Ok(Answered::Text(text)) => u64::try_from(estimated(text)).unwrap_or(u64::MAX),
            _ => 0,
        };
        let (prompt_tokens, completion_tokens) =
            exchange.usage.map_or((size, answered), |usage| (usage.prompt_tokens, usage.completion_tokens));
        self.spent.add(Cost { requests: exchange.requests.max(1), prompt_tokens, completion_tokens });
        match exchange.answered.map_err(OutlineStop::Unanswered)? {
            Answered::Text(text) => Ok(Some(text)),
            Answered::CutOff => Ok(None),
            Answered::Refused(reason) => Err(OutlineStop::Unanswered(format!("the model refuses: {reason}"))),
        }
    }
}

/// Parses an answer: one JSON object, bare or in a Markdown code fence.
fn read<T: DeserializeOwned>(text: &str) -> Option<T> {
    (text.len() <= MAX_BYTES).then(|| serde_json::from_str(bare(text)).ok()).flatten()
}
