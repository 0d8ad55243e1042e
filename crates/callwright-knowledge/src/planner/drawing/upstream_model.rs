//! Implements [`PlanningModel`] for models of an upstream.

use futures_util::future::BoxFuture;

use super::model::{AskError, PlanningModel, Question, Reply};
use callwright_upstream::{Manner, TextModel};

impl PlanningModel for TextModel {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Reply, AskError>> {
        Box::pin(async move {
            let requests = Some(question.requests);
            let manner = Manner { temperature: question.temperature, form: Some(&question.form), requests };
            let exchange = Self::ask(self, &question.messages, manner).await;
            let said = exchange.answered.map_err(AskError)?;
            let (prompt_tokens, completion_tokens) =
                exchange.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens)).unzip();
            Ok(Reply { said, prompt_tokens, completion_tokens, requests: exchange.requests })
        })
    }
}
