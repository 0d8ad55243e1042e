//! Model with recorded answers: an interrupted run resumes with the same result, without repeated requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use callwright_common::digest::{add_part, hex};
use callwright_openai::Role;
use callwright_upstream::{Answered, Exchange, Manner, TextSource};

/// Answers by the digest of the request. Failed and refused requests are repeated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AnswerCache(BTreeMap<String, String>);

/// Model and its answers so far.
#[derive(Debug)]
pub(super) struct CachingModel {
    inner: Arc<dyn TextSource>,
    answers: Mutex<AnswerCache>,
}

impl CachingModel {
    pub(super) fn new(inner: Arc<dyn TextSource>, answers: AnswerCache) -> Self {
        Self { inner, answers: Mutex::new(answers) }
    }

    /// Returns the answers so far.
    pub(super) fn answers(&self) -> AnswerCache {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl TextSource for CachingModel {
    fn ask<'a>(&'a self, messages: &'a [(Role, String)], manner: Manner<'a>) -> BoxFuture<'a, Exchange> {
        Box::pin(async move {
            let question = digest(messages);
            let kept = self.answers.lock().unwrap_or_else(PoisonError::into_inner).0.get(&question).cloned();
            if let Some(text) = kept {
                return Exchange { answered: Ok(Answered::Text(text)), requests: 0, usage: None };
            }
            let exchange = self.inner.ask(messages, manner).await;
            if let Ok(Answered::Text(text)) = &exchange.answered {
                let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
                answers.0.insert(question, text.clone());
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
