//! Sends requests to a model of an upstream and accounts for their cost.

use std::sync::Arc;

use super::prompts::repair;
use crate::journal::JournaledModel;
use callwright_common::limits::PROMPT_TEXT_CHARS;
use callwright_common::text::beginning;
use callwright_prompt::{Question, refusal};
use callwright_upstream::{Answered, Manner, TextSource};
use callwright_wire::Role;

/// Model that proposes patterns or selects tools. Equal requests are sent once.
#[derive(Debug)]
pub struct LearnerModel {
    /// Limits of prompts and answers.
    pub settings: ModelSettings,
    model: JournaledModel,
}

impl LearnerModel {
    /// Creates a client for the model of this name.
    pub fn new(source: Arc<dyn TextSource>, name: &str, settings: ModelSettings) -> Self {
        Self { settings, model: JournaledModel::new(source, name) }
    }

    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// Returns the model with its answers so far and their cost.
    pub fn journal(&self) -> &JournaledModel {
        &self.model
    }

    /// Sends a question and, if the answer is unusable, one repair request. Further retries happen only if there is no
    /// answer or the provider is busy.
    ///
    /// # Errors
    /// Why there is no usable answer, and the fix.
    pub(super) async fn converse<A, T>(
        &self,
        mut question: Question<A>,
        accept: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        let (text, fault) = match self.judged(&question, &accept).await? {
            Ok(accepted) => return Ok(accepted),
            Err(faulty) => faulty,
        };
        question.messages.push((Role::Assistant, beginning(&text, PROMPT_TEXT_CHARS).to_owned()));
        question.messages.push((Role::User, repair(&fault)));
        let second = self.judged(&question, &accept).await?;
        second.map_err(|(_, second)| format!("the model's answer is unusable, also after one repair request: {second}"))
    }

    /// Returns the accepted answer, or its text and its fault.
    async fn judged<A, T>(
        &self,
        question: &Question<A>,
        accept: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Result<T, (String, String)>, String> {
        let manner = Manner { form: Some(&question.form), ..Manner::default() };
        match self.model.ask(&question.messages, manner).await.answered? {
            Answered::Text(text) => Ok(accept(&text).map_err(|fault| (text, fault))),
            Answered::CutOff => {
                let fault = "it was cut off because it is too long; give fewer and shorter items".to_owned();
                Ok(Err((String::new(), fault)))
            }
            Answered::Refused(reason) => Err(refusal(&reason)),
        }
    }
}

/// Settings of requests to a model. The defaults are those of `callwright learn representations`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// Maximum number of samples per request, evenly spaced over the list. More samples cost more, and models neglect
    /// the middle of long lists.
    pub samples: usize,
    /// Maximum number of characters of a sample; it is truncated between words.
    pub sample_chars: usize,
    /// Maximum number of characters of a tool's description.
    pub description_chars: usize,
    /// Maximum share of its sample's words in a case. Cases are phrases, because whole samples would disclose user
    /// text.
    pub case_share: f32,
    /// Maximum number of cases kept per pattern.
    pub cases: usize,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self { samples: 40, sample_chars: 400, description_chars: 2000, case_share: 0.6, cases: 3 }
    }
}
