//! Selector that uses a language model.

use std::sync::Arc;

use super::LearnerModel;
use super::prompts::{Candidate, letter, selection};
use crate::representation::ProposeError;
use callwright_common::limits::WORD_CHARS;
use callwright_common::text::{one_line, shortened};
use callwright_judge::repair::answers::read_choice;

/// Number of letters.
const MAX_CANDIDATES: usize = 26;

/// Lets a model choose among the best tools by letter.
#[derive(Debug)]
pub struct LlmSelector {
    model: Arc<LearnerModel>,
    candidates: usize,
}

impl LlmSelector {
    /// Creates a selector with this model among this number of tools, at most 26 (paper: 5).
    pub fn new(model: Arc<LearnerModel>, candidates: usize) -> Self {
        Self { model, candidates: candidates.clamp(1, MAX_CANDIDATES) }
    }

    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// Returns the number of tools among which it selects.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// Returns the position of the tool that serves the query.
    ///
    /// # Errors
    /// [`ProposeError`]: the learner reports it and takes the first tool.
    pub async fn select(&self, query: &str, candidates: &[Candidate<'_>]) -> Result<usize, ProposeError> {
        let candidates = candidates.get(..self.candidates).unwrap_or(candidates);
        let first = match candidates {
            [first, _, ..] => first.name,
            _ => return Ok(0),
        };
        let question = selection(query, candidates, &self.model.settings);
        let chosen = self.model.converse(question, |answer| parse_letter(answer, candidates)).await;
        chosen.map_err(|reason| ProposeError { tool: first.to_owned(), reason })
    }
}

/// Returns the position of the candidate that an answer names, by its letter or its name.
///
/// # Errors
/// Feedback for the model: the fault of the answer.
fn parse_letter(answer: &str, candidates: &[Candidate<'_>]) -> Result<usize, String> {
    let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name).collect();
    read_choice(answer, &names).ok_or_else(|| {
        let last = letter(candidates.len().saturating_sub(1));
        format!("it is no letter from A to {last}: {}", shortened(&one_line(answer), WORD_CHARS))
    })
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
            "B", " b\n", "(B)", "B.", "**B**", "<think>A?</think>B", "I choose the option B.", "The answer is B",
            "`book`", "{\"letter\": \"B\"}",
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
        assert_eq!(selector.model.journal().cost().requests, 2, "one request and one repair");
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
