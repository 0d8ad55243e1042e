//! Selector that uses a language model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};

use super::LearnerModel;
use super::client::quoted;
use super::prompts::{letter, letter_form, selection};
use super::proposer::converse;
use crate::representation::{Candidate, ProposeError, Selector};
use callwright_common::digest::add_part;
use callwright_judge::repair::answers::read_choice;
use callwright_types::Cost;

/// Maximum number of cached choices, enough for many runs over all samples.
const MAX_CACHED: usize = 200_000;

/// Number of letters.
const MAX_CANDIDATES: usize = 26;

/// Lets a model choose among the best tools by letter. Equal inputs are requested once.
#[derive(Debug)]
pub struct LlmSelector {
    model: Arc<LearnerModel>,
    candidates: usize,
    cached: Mutex<HashMap<[u8; 32], usize>>,
}

impl LlmSelector {
    /// Creates a selector with this model among this number of tools, at most 26 (paper: 5).
    pub fn new(model: Arc<LearnerModel>, candidates: usize) -> Self {
        Self { model, candidates: candidates.clamp(1, MAX_CANDIDATES), cached: Mutex::default() }
    }

    fn cached(&self, question: &[u8; 32]) -> Option<usize> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).get(question).copied()
    }

    fn cache(&self, question: [u8; 32], choice: usize) {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() < MAX_CACHED {
            cached.insert(question, choice);
        }
    }
}

fn digest(query: &str, candidates: &[Candidate<'_>]) -> [u8; 32] {
    let mut hash = Sha256::new();
    add_part(&mut hash, query.as_bytes());
    for candidate in candidates {
        add_part(&mut hash, candidate.name.as_bytes());
        add_part(&mut hash, candidate.description.as_bytes());
    }
    hash.finalize().into()
}

/// Returns the position of the candidate that an answer names, by its letter or its name.
///
/// # Errors
/// Feedback for the model: the fault of the answer.
fn parse_letter(answer: &str, candidates: &[Candidate<'_>]) -> Result<usize, String> {
    let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name).collect();
    read_choice(answer, &names).ok_or_else(|| {
        format!("it is no letter from A to {}: {}", letter(candidates.len().saturating_sub(1)), quoted(answer))
    })
}

impl Selector for LlmSelector {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn candidates(&self) -> usize {
        self.candidates
    }

    fn select<'a>(
        &'a self,
        query: &'a str,
        candidates: &'a [Candidate<'a>],
    ) -> BoxFuture<'a, Result<usize, ProposeError>> {
        Box::pin(async move {
            let candidates = candidates.get(..self.candidates).unwrap_or(candidates);
            if candidates.len() < 2 {
                return Ok(0);
            }
            let question = digest(query, candidates);
            if let Some(choice) = self.cached(&question) {
                return Ok(choice);
            }
            let messages = selection(query, candidates, &self.model.settings);
            let form = letter_form(candidates.len());
            let chosen = converse(&self.model, messages, &form, |answer| parse_letter(answer, candidates)).await;
            let first = candidates.first().map_or("", |candidate| candidate.name);
            let choice = chosen.map_err(|reason| ProposeError { tool: first.to_owned(), reason })?;
            self.cache(question, choice);
            Ok(choice)
        })
    }

    fn cost(&self) -> Cost {
        self.model.cost()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::representation::model::test_model::{ScriptedModel, text};
    use callwright_judge::repair::answers::assert_understood;

    #[test]
    fn letters_are_parsed_with_surrounding_text() {
        let candidates = ["find", "book", "pay"].map(|name| Candidate { name, description: "" });
        for answer in [
            "B",
            " b\n",
            "(B)",
            "B.",
            "**B**",
            "<think>A?</think>B",
            "I choose the option B.",
            "The answer is B",
            "`book`",
            "{\"letter\": \"B\"}",
        ] {
            assert_eq!(parse_letter(answer, &candidates), Ok(1), "{answer}");
        }
        for answer in ["", "D", "AB", "2", "?", "A or B"] {
            assert!(parse_letter(answer, &candidates).unwrap_err().contains("no letter from A to C"), "{answer}");
        }
    }

    #[test]
    fn letters_are_parsed_in_every_habit() {
        let candidates = ["find", "book", "pay"].map(|name| Candidate { name, description: "" });
        assert_understood("selector", r#"{"letter": "B"}"#, &1, |text| parse_letter(text, &candidates).ok());
        assert_understood("selector", r#"{"letter": "book"}"#, &1, |text| parse_letter(text, &candidates).ok());
    }

    #[tokio::test]
    async fn model_choice_is_requested_once_per_input() {
        let scripted = ScriptedModel::answering([text("the second"), text("B")]).await;
        let selector = LlmSelector::new(scripted.model(), 2);
        let candidates = ["a", "b", "c"].map(|name| Candidate { name, description: "does it" });
        assert_eq!(selector.select("do b", &candidates).await, Ok(1));
        assert_eq!(selector.select("do b", &candidates).await, Ok(1));
        assert_eq!(selector.cost().requests, 2, "one request and one repair");
        assert!(!scripted.requests()[0].contains("\\\"c\\\""), "only the best are shown");
        let schema = &scripted.body(0)["response_format"]["json_schema"]["schema"];
        assert_eq!(schema["properties"]["letter"]["enum"], serde_json::json!(["A", "B"]));
    }

    #[tokio::test]
    async fn unusable_choice_is_reported_once_and_then_an_error() {
        let scripted = ScriptedModel::answering([text("I like both."), text("Z")]).await;
        let selector = LlmSelector::new(scripted.model(), 5);
        let candidates = ["a", "b"].map(|name| Candidate { name, description: "" });
        let error = selector.select("do b", &candidates).await.unwrap_err();
        assert!(error.reason.contains("no letter from A to B: Z"), "{error}");
        assert_eq!(scripted.requests().len(), 2);
    }

    #[tokio::test]
    async fn single_candidate_needs_no_request() {
        let scripted = ScriptedModel::answering([]).await;
        let selector = LlmSelector::new(scripted.model(), 5);
        assert_eq!(selector.select("q", &[Candidate { name: "a", description: "" }]).await, Ok(0));
        assert!(scripted.requests().is_empty());
    }
}
