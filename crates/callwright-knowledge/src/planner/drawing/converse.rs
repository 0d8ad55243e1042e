//! Asking within limits, and once more where an answer cannot be used.

use serde::Serialize;

use super::draw::{Limit, Undrawn};
use super::model::{PlanningModel, Purpose, Question, Reply};
use super::prompts::repair;
use super::settings::DrawSettings;
use super::shown::beginning;
use callwright_common::tokens::estimated;
use callwright_openai::Role;
use callwright_types::Cost;
use callwright_upstream::Answered;

/// Characters of a faulty answer that the model gets back with what is wrong about it.
const RETURNED_CHARS: usize = 8_000;

/// Faults that the model is told of.
const MAX_FAULTS: usize = 16;

/// What asking has cost; tokens as the provider counts them, else estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// For selections.
    pub selection: Cost,
    /// For completions.
    pub completion: Cost,
    /// For choices among values.
    pub choice: Cost,
}

impl Spent {
    /// All of it.
    pub fn total(&self) -> Cost {
        let mut total = self.selection;
        total.add(self.completion);
        total.add(self.choice);
        total
    }
}

/// What is taken of an answer, with all that is wrong about it.
pub(super) struct Judged<T> {
    /// What can be used; `None` where nothing can be.
    pub(super) taken: Option<T>,
    pub(super) faults: Vec<String>,
}

impl<T> Judged<T> {
    pub(super) fn unusable(fault: String) -> Self {
        Self { taken: None, faults: vec![fault] }
    }
}

/// Asks a model, and keeps account.
pub(super) struct Asker<'a> {
    pub(super) model: &'a dyn PlanningModel,
    pub(super) settings: &'a DrawSettings,
    pub(super) spent: Spent,
}

impl Asker<'_> {
    /// Asks; where something is wrong with the answer, the model is told what, once. Of two faulty answers the later one is taken, unless it
    /// cannot be used at all.
    ///
    /// # Errors
    /// [`Undrawn`]: no answer, or a limit is reached.
    pub(super) async fn converse<T>(
        &mut self,
        mut question: Question,
        judge: impl Fn(&str) -> Judged<T>,
    ) -> Result<Judged<T>, Undrawn> {
        let text = self.ask(&mut question).await?;
        let first = judged(text.as_deref(), &judge);
        if first.faults.is_empty() {
            return Ok(first);
        }
        let told: Vec<String> = first.faults.iter().take(MAX_FAULTS).cloned().collect();
        question.messages.push((Role::Assistant, beginning(&text.unwrap_or_default(), RETURNED_CHARS).to_owned()));
        question.messages.push((Role::User, repair(&told)));
        let second = match self.ask(&mut question).await {
            Ok(text) => judged(text.as_deref(), &judge),
            // What the first answer had that can be used is better than nothing.
            Err(Undrawn::Limit(_)) if first.taken.is_some() => return Ok(first),
            Err(error) => return Err(error),
        };
        Ok(if second.taken.is_none() && first.taken.is_some() { first } else { second })
    }

    /// The text of an answer; `None` where it was cut off.
    async fn ask(&mut self, question: &mut Question) -> Result<Option<String>, Undrawn> {
        let prompt: usize = question.messages.iter().map(|(_, text)| estimated(text)).sum();
        let prompt = u64::try_from(prompt).unwrap_or(u64::MAX);
        let total = self.spent.total();
        if total.requests >= self.settings.requests {
            return Err(Undrawn::Limit(Limit::Requests(self.settings.requests)));
        }
        if total.tokens().saturating_add(prompt) > self.settings.tokens {
            return Err(Undrawn::Limit(Limit::Tokens(self.settings.tokens)));
        }
        question.requests = self.settings.requests - total.requests;
        let asked = self.model.ask(question).await;
        let mut cost = Cost { requests: 1, prompt_tokens: prompt, completion_tokens: 0 };
        if let Ok(Reply { said, prompt_tokens, completion_tokens, requests }) = &asked {
            let answered = if let Answered::Text(text) = said { estimated(text) } else { 0 };
            cost = Cost {
                requests: (*requests).max(1),
                prompt_tokens: prompt_tokens.unwrap_or(prompt),
                completion_tokens: completion_tokens.unwrap_or(u64::try_from(answered).unwrap_or(u64::MAX)),
            };
        }
        match question.purpose {
            Purpose::Selection => self.spent.selection.add(cost),
            Purpose::Completion => self.spent.completion.add(cost),
            Purpose::Choice => self.spent.choice.add(cost),
        }
        match asked.map_err(|error| Undrawn::Unanswered(error.to_string()))?.said {
            Answered::Text(text) => Ok(Some(text)),
            Answered::CutOff => Ok(None),
            Answered::Refused(reason) => Err(Undrawn::Unanswered(format!("the model refuses: {reason}"))),
        }
    }
}

fn judged<T>(text: Option<&str>, judge: impl Fn(&str) -> Judged<T>) -> Judged<T> {
    match text {
        Some(text) => judge(text),
        None => Judged::unusable("it was cut off because it is too long".to_owned()),
    }
}
