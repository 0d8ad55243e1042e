//! What is asked of a model, whoever answers.

use std::fmt;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

use callwright_openai::Role;
use callwright_upstream::Answered;

/// A model that plans are drawn with.
pub trait PlanningModel: fmt::Debug + Send + Sync {
    /// Asks one question.
    ///
    /// # Errors
    /// [`AskError`]: there is no answer, and asking again at once will bring none.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Reply, AskError>>;
}

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What it is for.
    pub purpose: Purpose,
    /// What is said, by whom. What others wrote stands in messages of the user, as JSON.
    pub messages: Vec<(Role, String)>,
    /// The JSON Schema of the answer, for models that can be held to one.
    pub form: Value,
    /// How freely the model may choose its words.
    pub temperature: f64,
    /// Requests that the answer may take, tries where a provider is busy included; 0 is as 1.
    pub requests: u64,
}

/// What a question is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Which tools end in what was asked for.
    Selection,
    /// Where the arguments of one call come from.
    Completion,
    /// Which of several values is meant.
    Choice,
}

/// What a model answered, and what that cost as its provider counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub said: Answered,
    /// Tokens of the prompt; `None` where the provider does not say.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    pub completion_tokens: Option<u64>,
    /// Requests that it took, where the provider was busy or has no structured outputs.
    pub requests: u64,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model cannot be asked: {0}")]
pub struct AskError(pub String);
