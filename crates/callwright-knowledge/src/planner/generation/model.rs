//! Interface to the model that generates plans.

use std::fmt;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use super::settings::GenerationSettings;
use callwright_openai::Role;
use callwright_upstream::{Answered, Manner, TextSource};

/// Model that generates plans.
pub trait PlanningModel: fmt::Debug + Send + Sync {
    /// Sends one question.
    ///
    /// # Errors
    /// [`PlanningModelError`]: there is no answer, and an immediate retry would not help.
    fn query<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Reply, PlanningModelError>>;
}

/// One request to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Purpose of the request.
    pub purpose: Purpose,
    /// Messages with their roles. Text of third parties is in user messages, as JSON.
    pub messages: Vec<(Role, String)>,
    /// JSON Schema of the answer, for models with structured outputs.
    pub form: Value,
    /// Sampling temperature.
    pub temperature: f64,
    /// Maximum number of upstream requests for the answer, retries at a busy provider included. 0 counts as 1.
    pub requests: u64,
}

impl Question {
    pub(super) fn new(
        purpose: Purpose,
        messages: Vec<(Role, String)>,
        form: Value,
        settings: &GenerationSettings,
    ) -> Self {
        Self { purpose, messages, form, temperature: settings.temperature, requests: settings.requests }
    }
}

/// Purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Selection of the final tools of a request.
    Selection,
    /// Sources of the arguments of one call.
    Completion,
    /// Choice among several values.
    Choice,
    /// Whether a plan is needed.
    Need,
}

/// Answer of a model and its cost as counted by the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Answer.
    pub answer: Answered,
    /// Tokens of the prompt; `None` if the provider does not report them.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    pub completion_tokens: Option<u64>,
    /// Number of upstream requests; more than one if the provider was busy or lacks structured outputs.
    pub requests: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the request to the model failed: {0}")]
pub struct PlanningModelError(pub String);

impl<T: TextSource> PlanningModel for T {
    fn query<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Reply, PlanningModelError>> {
        Box::pin(async move {
            let requests = Some(question.requests);
            let manner = Manner { temperature: question.temperature, form: Some(&question.form), requests };
            let exchange = self.ask(&question.messages, manner).await;
            let answer = exchange.answered.map_err(PlanningModelError)?;
            let (prompt_tokens, completion_tokens) =
                exchange.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens)).unzip();
            Ok(Reply { answer, prompt_tokens, completion_tokens, requests: exchange.requests })
        })
    }
}
