//! Sends questions to the model within the budget, with one repair round for a faulty answer.

use serde::Serialize;

use super::error::GenerationError;
use super::prompts::repair;
use super::settings::GenerationSettings;
use callwright_common::limits::{LISTED, PROMPT_TEXT_CHARS};
use callwright_common::text::beginning;
use callwright_prompt::{BudgetedModel, NoAnswer, Question};
use callwright_types::Cost;
use callwright_upstream::{RequestLimits, TextSource};
use callwright_wire::Role;

/// Cost of the requests, by purpose. Tokens are as reported by the provider, else estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PlanningCost {
    /// Cost of goal selections.
    pub selection: Cost,
    /// Cost of argument completions.
    pub completion: Cost,
}

impl PlanningCost {
    /// Returns the sum of both.
    pub fn total(&self) -> Cost {
        let mut total = self.selection;
        total.add(self.completion);
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

    /// Returns the usable part and the faults of the rest.
    pub(super) fn into_usable(self) -> Result<(T, Vec<String>), GenerationError> {
        match self.taken {
            Some(taken) => Ok((taken, self.faults)),
            None => Err(GenerationError::Unusable(self.faults.join("; "))),
        }
    }
}

/// Model that draws a plan.
pub(super) struct PlanRequester<'a> {
    pub(super) model: BudgetedModel<'a>,
    /// Cost of the goal selections.
    selection: Cost,
}

impl<'a> PlanRequester<'a> {
    pub(super) fn new(source: &'a dyn TextSource, settings: &GenerationSettings) -> Self {
        Self { model: budgeted(source, settings), selection: Cost::default() }
    }

    /// Sends a question about the goals, like [`converse`].
    pub(super) async fn select<A, T>(
        &mut self,
        question: Question<A>,
        validate: impl Fn(&str) -> CheckedAnswer<T>,
    ) -> Result<CheckedAnswer<T>, GenerationError> {
        let before = self.model.spent;
        let checked = converse(&mut self.model, question, validate).await;
        self.selection.add(since(self.model.spent, before));
        checked
    }

    /// Returns the cost so far.
    pub(super) fn cost(&self) -> PlanningCost {
        PlanningCost { selection: self.selection, completion: since(self.model.spent, self.selection) }
    }
}

/// Returns the cost of the requests after an earlier state.
fn since(now: Cost, before: Cost) -> Cost {
    Cost {
        requests: now.requests - before.requests,
        prompt_tokens: now.prompt_tokens - before.prompt_tokens,
        completion_tokens: now.completion_tokens - before.completion_tokens,
    }
}

/// Returns the model within the limits of the settings.
pub(super) fn budgeted<'a>(source: &'a dyn TextSource, settings: &GenerationSettings) -> BudgetedModel<'a> {
    let (requests, tokens) = (settings.requests, settings.tokens);
    BudgetedModel::new(source, settings.temperature, RequestLimits { requests, tokens, ..RequestLimits::default() })
}

/// Sends the question. If the answer has faults, sends them to the model once. Of two faulty answers, the second is used
/// unless it is unusable.
///
/// # Errors
/// [`GenerationError`]: the model does not answer, or a limit is reached.
pub(super) async fn converse<A, T>(
    model: &mut BudgetedModel<'_>,
    mut question: Question<A>,
    validate: impl Fn(&str) -> CheckedAnswer<T>,
) -> Result<CheckedAnswer<T>, GenerationError> {
    let text = model.request(&question).await?;
    let first = checked(text.as_deref(), &validate);
    if first.faults.is_empty() {
        return Ok(first);
    }
    let faults: Vec<String> = first.faults.iter().take(LISTED).cloned().collect();
    question.messages.push((Role::Assistant, beginning(&text.unwrap_or_default(), PROMPT_TEXT_CHARS).to_owned()));
    question.messages.push((Role::User, repair(&faults)));
    let second = match model.request(&question).await {
        Ok(text) => checked(text.as_deref(), &validate),
        // The usable part of the first answer is better than nothing.
        Err(NoAnswer::Limit(_)) if first.taken.is_some() => return Ok(first),
        Err(error) => return Err(error.into()),
    };
    Ok(if second.taken.is_none() && first.taken.is_some() { first } else { second })
}

fn checked<T>(text: Option<&str>, validate: impl Fn(&str) -> CheckedAnswer<T>) -> CheckedAnswer<T> {
    match text {
        Some(text) => validate(text),
        None => CheckedAnswer::unusable("it was cut off because it is too long".to_owned()),
    }
}
