//! A model of an upstream, for drawing plans.

use futures_util::future::BoxFuture;

use super::model::{AskError, PlanningModel, Question, Reply, Said};
use crate::upstream::{Answered, Manner, TextModel};

impl PlanningModel for TextModel {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Reply, AskError>> {
        Box::pin(async move {
            let manner = Manner { temperature: question.temperature, form: Some(&question.form) };
            let exchange = Self::ask(self, &question.messages, manner).await;
            let said = match exchange.answered.map_err(AskError)? {
                Answered::Text(text) => Said::Text(text),
                Answered::CutOff => Said::CutOff,
                Answered::Refused(reason) => Said::Refused(reason),
            };
            let (prompt_tokens, completion_tokens) =
                exchange.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens)).unzip();
            Ok(Reply { said, prompt_tokens, completion_tokens, requests: exchange.requests })
        })
    }
}
