//! Model with recorded answers: an interrupted run resumes with the same result, without repeated requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use callwright_common::digest::{add_part, hex};
use callwright_upstream::{Answered, Exchange, Manner, TextSource};
use callwright_wire::Role;

/// Answers by the digest of the request. Failed and refused requests are repeated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerCache(BTreeMap<String, String>);

/// Model and its answers so far.
#[derive(Debug)]
pub struct CachingModel {
    inner: Arc<dyn TextSource>,
    answers: Mutex<AnswerCache>,
}

impl CachingModel {
    /// Creates a model without answers.
    pub fn new(inner: Arc<dyn TextSource>) -> Self {
        Self { inner, answers: Mutex::default() }
    }

    /// Takes the answers of an interrupted run.
    pub fn restore(&self, answers: AnswerCache) {
        *self.lock() = answers;
    }

    /// Returns the answers so far.
    pub fn answers(&self) -> AnswerCache {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, AnswerCache> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TextSource for CachingModel {
    fn ask<'a>(&'a self, messages: &'a [(Role, String)], manner: Manner<'a>) -> BoxFuture<'a, Exchange> {
        Box::pin(async move {
            let question = digest(messages);
            let kept = self.lock().0.get(&question).cloned();
            if let Some(text) = kept {
                return Exchange { answered: Ok(Answered::Text(text)), requests: 0, usage: None };
            }
            let exchange = self.inner.ask(messages, manner).await;
            if let Ok(Answered::Text(text)) = &exchange.answered {
                self.lock().0.insert(question, text.clone());
            }
            exchange
        })
    }
}

fn digest(messages: &[(Role, String)]) -> String {
    let mut hash = Sha256::new();
    for (role, text) in messages {
        add_part(&mut hash, format!("{role:?}").as_bytes());
        add_part(&mut hash, text.as_bytes());
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with the number of the request, and fails if the question is `fail`.
    #[derive(Debug, Default)]
    struct Counting(Mutex<u64>);

    impl TextSource for Counting {
        fn ask<'a>(&'a self, messages: &'a [(Role, String)], _: Manner<'a>) -> BoxFuture<'a, Exchange> {
            *self.0.lock().unwrap() += 1;
            let answered = match messages[0].1.as_str() {
                "fail" => Err("busy".to_owned()),
                _ => Ok(Answered::Text(self.0.lock().unwrap().to_string())),
            };
            Box::pin(std::future::ready(Exchange { answered, requests: 1, usage: None }))
        }
    }

    async fn answer(model: &CachingModel, question: &str) -> (Result<Answered, String>, u64) {
        let manner = Manner { temperature: 0.0, form: None, requests: None };
        let exchange = model.ask(&[(Role::User, question.to_owned())], manner).await;
        (exchange.answered, exchange.requests)
    }

    #[tokio::test]
    async fn answered_questions_are_not_repeated_by_another_run() {
        let model = CachingModel::new(Arc::new(Counting::default()));
        let first = Ok(Answered::Text("1".to_owned()));
        assert_eq!(answer(&model, "q").await, (first.clone(), 1));
        assert_eq!(answer(&model, "q").await, (first.clone(), 0));
        assert_ne!(answer(&model, "other").await.0, first);
        let text = serde_json::to_string(&model.answers()).unwrap();
        let resumed = CachingModel::new(Arc::new(Counting::default()));
        resumed.restore(serde_json::from_str(&text).unwrap());
        assert_eq!(answer(&resumed, "q").await, (first, 0));
    }

    #[tokio::test]
    async fn failed_questions_are_sent_again() {
        let model = CachingModel::new(Arc::new(Counting::default()));
        assert_eq!(answer(&model, "fail").await, (Err("busy".to_owned()), 1));
        assert_eq!(answer(&model, "fail").await, (Err("busy".to_owned()), 1));
    }
}
