//! Sends requests to a model within a budget.

use serde_json::Value;

use crate::procedures::Settings;
use crate::prompt::Messages;
use callwright_common::tokens::estimated;
use callwright_judge::repair::answers::{AnswerShape, after_reasoning, read_value};
use callwright_types::Cost;
use callwright_upstream::{Answered, Manner, TextSource};

/// Maximum size of an answer, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// Member of an answer that is one text, and not a list.
pub(super) const ONE_TEXT: &str = "answer";

/// Budget of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of requests to the model.
    pub requests: u64,
    /// Maximum number of tokens of prompts and answers; estimated if the provider does not report them.
    pub tokens: u64,
}

/// One request: messages, and the member of the JSON object that is the answer.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) messages: Messages,
    pub(super) form: Value,
    pub(super) member: &'static str,
}

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
    /// Sends a request and retries while the answer cannot be parsed, up to the configured number of attempts. Returns
    /// `None` if no attempt returned a parsable answer.
    pub(super) async fn request(&mut self, prompt: &Prompt) -> Result<Option<Vec<String>>, OutlineStop> {
        for _ in 0..self.settings.tries.max(1) {
            let text = self.request_once(prompt).await?;
            if let Some(answer) = text.and_then(|text| parse(&text, prompt.member)) {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// Returns the text of an answer; `None` if it was truncated.
    async fn request_once(&mut self, prompt: &Prompt) -> Result<Option<String>, OutlineStop> {
        let size: usize = prompt.messages.iter().map(|(_, text)| estimated(text)).sum();
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let remaining = self.budget.requests.saturating_sub(self.spent.requests);
        if remaining == 0 {
            return Err(OutlineStop::Requests(self.budget.requests));
        }
        if self.spent.tokens().saturating_add(size) > self.budget.tokens {
            return Err(OutlineStop::Tokens(self.budget.tokens));
        }
        let manner =
            Manner { temperature: self.settings.temperature, form: Some(&prompt.form), requests: Some(remaining) };
        let exchange = self.source.ask(&prompt.messages, manner).await;
        let answer_tokens = match &exchange.answered {
            Ok(Answered::Text(text)) => u64::try_from(estimated(text)).unwrap_or(u64::MAX),
            _ => 0,
        };
        let (prompt_tokens, completion_tokens) =
            exchange.usage.map_or((size, answer_tokens), |usage| (usage.prompt_tokens, usage.completion_tokens));
        self.spent.add(Cost { requests: exchange.requests.max(1), prompt_tokens, completion_tokens });
        match exchange.answered.map_err(OutlineStop::Unanswered)? {
            Answered::Text(text) => Ok(Some(text)),
            Answered::CutOff => Ok(None),
            Answered::Refused(reason) => Err(OutlineStop::Unanswered(format!("the model refuses: {reason}"))),
        }
    }
}

/// Parses an answer: the list of texts, or the one text, that is the member of a JSON object. Models may give the value
/// of that member alone: a JSON list, the items of a written list, or a text.
fn parse(text: &str, member: &str) -> Option<Vec<String>> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let texts = |value: Value| serde_json::from_value::<Vec<String>>(value).map_err(|error| error.to_string());
    let of_member = |object: Value| match object.get(member) {
        Some(Value::String(text)) if member == ONE_TEXT => Ok(vec![text.clone()]),
        Some(value) => texts(value.clone()),
        None => Err(format!("it has no `{member}`")),
    };
    if let Ok(answer) = read_value(text, AnswerShape::Object, of_member) {
        return Some(answer);
    }
    if member == ONE_TEXT {
        let text = Some(after_reasoning(text)).filter(|text| !text.starts_with(['{', '`', '[']))?;
        return Some(vec![text.to_owned()]);
    }
    let items = written_items(after_reasoning(text));
    // Items may have words in brackets, which are no list.
    let is_written = items.len() > 1 && items.iter().all(|item| !item.starts_with(['[', '{']));
    if !is_written && let Ok(answer) = read_value(text, AnswerShape::List, texts) {
        return Some(answer);
    }
    (!items.is_empty()).then_some(items)
}

/// Returns the items of a list in plain text or Markdown: lines that begin with a number or a bullet.
fn written_items(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| written_item(line.trim())).map(str::to_owned).collect()
}

fn written_item(line: &str) -> Option<&str> {
    let numbered = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = match line.strip_prefix(['-', '*', '•']) {
        Some(rest) => rest,
        None => numbered.strip_prefix(['.', ')']).filter(|_| numbered.len() < line.len())?,
    };
    rest.strip_prefix(' ').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use callwright_judge::repair::answers::{assert_understood, habits};

    use super::*;

    const STEPS: [&str; 2] = ["Find the fern's id with list_plants.", "Water it: [user] is asked for the litres."];

    #[test]
    fn answers_of_all_prompts_are_parsed_in_every_habit() {
        let expected = STEPS.map(str::to_owned).to_vec();
        let object = |member: &str| format!("{{\"{member}\": {}}}", serde_json::json!(STEPS));
        // The prompts for a draft, an update and an edit request the same form.
        assert_understood("steps", &object("steps"), &expected, |text| parse(text, "steps"));
        assert_understood("review", &object("edits"), &expected, |text| parse(text, "edits"));
        let one = object("questions").replace('{', "{\"outline\": [\"find the plant\"], ");
        assert_understood("questions", &one, &expected, |text| parse(text, "questions"));
        let one = r#"{"answer": "It takes the \"id\", and litres."}"#;
        let expected = "It takes the \"id\", and litres.".to_owned();
        assert_understood("summary", one, &expected, |text| parse(text, ONE_TEXT)?.pop());
    }

    #[test]
    fn essential_member_alone_is_parsed_in_every_habit() {
        let list = serde_json::json!(STEPS).to_string();
        let written = [format!("1. {}\n2. {}", STEPS[0], STEPS[1]), format!("Steps:\n- {}\n- {}", STEPS[0], STEPS[1])];
        for text in habits(&list).into_iter().chain(written) {
            assert_eq!(parse(&text, "steps").as_deref(), Some(&STEPS.map(str::to_owned)[..]), "{text}");
        }
    }
}
