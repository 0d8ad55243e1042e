//! Sends requests to the model within the budget, with one repair round for a faulty answer.

use serde::Serialize;

use super::error::{GenerationError, Limit};
use super::model::{PlanningModel, Purpose, Question, Reply};
use super::prompts::repair;
use super::settings::GenerationSettings;
use callwright_common::text::beginning;
use callwright_common::tokens::estimated;
use callwright_openai::Role;
use callwright_types::Cost;
use callwright_upstream::Answered;

/// Maximum number of characters of a faulty answer that are sent back to the model.
const RETURNED_CHARS: usize = 8_000;

/// Maximum number of faults in a repair prompt.
const MAX_FAULTS: usize = 16;

/// Cost of the requests, by purpose. Tokens are as reported by the provider, else estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PlanningCost {
    /// Cost of goal selections.
    pub selection: Cost,
    /// Cost of argument completions.
    pub completion: Cost,
    /// Cost of choices among values.
    pub choice: Cost,
    /// Cost of the question whether a plan is needed.
    #[serde(skip_serializing_if = "Cost::is_nothing")]
    pub need: Cost,
}

impl PlanningCost {
    /// Returns the sum of all purposes.
    pub fn total(&self) -> Cost {
        let mut total = self.selection;
        total.add(self.completion);
        total.add(self.choice);
        total.add(self.need);
        total
    }
}

/// Usable part of an answer and its faults.
pub(super) struct CheckedAnswer<T> {
    /// Usable part; `None` if nothing is usable.
    pub(super) taken: Option<T>,
    pub(super) faults: Vec<String>,
}

impl<T> CheckedAnswer<T> {
    pub(super) fn usable(taken: T) -> Self {
        Self { taken: Some(taken), faults: Vec::new() }
    }

    pub(super) fn unusable(fault: String) -> Self {
        Self { taken: None, faults: vec![fault] }
    }
}

/// Sends requests to a model and accounts for their cost.
pub(super) struct PlanRequester<'a> {
    pub(super) model: &'a dyn PlanningModel,
    pub(super) settings: &'a GenerationSettings,
    pub(super) cost: PlanningCost,
}

impl PlanRequester<'_> {
    /// Sends the question. If the answer has faults, sends them to the model once. Of two faulty answers, the second is
    /// used unless it is unusable.
    ///
    /// # Errors
    /// [`GenerationError`]: the model does not answer, or a limit is reached.
    pub(super) async fn converse<T>(
        &mut self,
        mut question: Question,
        validate: impl Fn(&str) -> CheckedAnswer<T>,
    ) -> Result<CheckedAnswer<T>, GenerationError> {
        let text = self.query(&mut question).await?;
        let first = checked(text.as_deref(), &validate);
        if first.faults.is_empty() {
            return Ok(first);
        }
        let faults: Vec<String> = first.faults.iter().take(MAX_FAULTS).cloned().collect();
        question.messages.push((Role::Assistant, beginning(&text.unwrap_or_default(), RETURNED_CHARS).to_owned()));
        question.messages.push((Role::User, repair(&faults)));
        let second = match self.query(&mut question).await {
            Ok(text) => checked(text.as_deref(), &validate),
            // The usable part of the first answer is better than nothing.
            Err(GenerationError::Limit(_)) if first.taken.is_some() => return Ok(first),
            Err(error) => return Err(error),
        };
        Ok(if second.taken.is_none() && first.taken.is_some() { first } else { second })
    }

    /// Returns the text of an answer; `None` if it was truncated.
    async fn query(&mut self, question: &mut Question) -> Result<Option<String>, GenerationError> {
        let prompt: usize = question.messages.iter().map(|(_, text)| estimated(text)).sum();
        let prompt = u64::try_from(prompt).unwrap_or(u64::MAX);
        let total = self.cost.total();
        if total.requests >= self.settings.requests {
            return Err(GenerationError::Limit(Limit::Requests(self.settings.requests)));
        }
        if total.tokens().saturating_add(prompt) > self.settings.tokens {
            return Err(GenerationError::Limit(Limit::Tokens(self.settings.tokens)));
        }
        question.requests = self.settings.requests - total.requests;
        let reply = self.model.query(question).await;
        let mut cost = Cost { requests: 1, prompt_tokens: prompt, completion_tokens: 0 };
        if let Ok(Reply { answer, prompt_tokens, completion_tokens, requests }) = &reply {
            let answer_tokens = if let Answered::Text(text) = answer { estimated(text) } else { 0 };
            cost = Cost {
                requests: (*requests).max(1),
                prompt_tokens: prompt_tokens.unwrap_or(prompt),
                completion_tokens: completion_tokens.unwrap_or(u64::try_from(answer_tokens).unwrap_or(u64::MAX)),
            };
        }
        match question.purpose {
            Purpose::Selection => self.cost.selection.add(cost),
            Purpose::Completion => self.cost.completion.add(cost),
            Purpose::Choice => self.cost.choice.add(cost),
            Purpose::Need => self.cost.need.add(cost),
        }
        match reply.map_err(|error| GenerationError::Unanswered(error.to_string()))?.answer {
            Answered::Text(text) => Ok(Some(text)),
            Answered::CutOff => Ok(None),
            Answered::Refused(reason) => Err(GenerationError::Unanswered(format!("the model refuses: {reason}"))),
        }
    }
}

fn checked<T>(text: Option<&str>, validate: impl Fn(&str) -> CheckedAnswer<T>) -> CheckedAnswer<T> {
    match text {
        Some(text) => validate(text),
        None => CheckedAnswer::unusable("it was cut off because it is too long".to_owned()),
    }
}
