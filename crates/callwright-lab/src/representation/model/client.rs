//! Sends requests to a model of an upstream and accounts for their cost.

use std::sync::Arc;
use std::time::Duration;

use super::answer_cache::CachingModel;
use super::prompts::repair;
use callwright_common::limits::PROMPT_TEXT_CHARS;
use callwright_common::text::beginning;
use callwright_prompt::{CountedModel, Question, refusal};
use callwright_types::Cost;
use callwright_upstream::{Answered, Patience, TextModel, Upstream};
use callwright_wire::Role;

/// Model of an upstream with its answers and the accumulated cost. Equal requests are sent once.
#[derive(Debug)]
pub struct LearnerModel {
    name: String,
    /// Limits of prompts and answers.
    pub settings: ModelSettings,
    answers: Arc<CachingModel>,
    model: CountedModel,
}

impl LearnerModel {
    /// Creates a client for the model of this name.
    pub fn new(upstream: Arc<Upstream>, name: &str, settings: ModelSettings) -> Self {
        let patience = Patience { tries: settings.tries, max_wait: Duration::from_secs(settings.max_wait_seconds) };
        let answers = Arc::new(CachingModel::new(Arc::new(TextModel::new(upstream, name, patience))));
        Self { name: name.to_owned(), settings, model: CountedModel::new(answers.clone()), answers }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the answers so far, for a run that continues this one, and takes those of an earlier run.
    pub fn cache(&self) -> &CachingModel {
        &self.answers
    }

    /// Returns the cost so far, as counted by the provider.
    pub fn cost(&self) -> Cost {
        self.model.cost()
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
        match self.model.request(&question.messages, Some(&question.form)).await? {
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
    /// Maximum number of attempts if the provider is busy (status 408, 409, 429, 5xx) or the exchange fails.
    pub tries: u32,
    /// Maximum wait before a retry, in seconds, regardless of the provider's `Retry-After`.
    pub max_wait_seconds: u64,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            samples: 40,
            sample_chars: 400,
            description_chars: 2000,
            case_share: 0.6,
            cases: 3,
            tries: 4,
            max_wait_seconds: 60,
        }
    }
}
