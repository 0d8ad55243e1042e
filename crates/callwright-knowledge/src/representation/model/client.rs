//! Sends requests to a model of an upstream and accounts for their cost.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::ModelSettings;
use super::answer_cache::CachingModel;
use crate::prompt::CostCounter;
use callwright_common::text::{one_line, shortened};
use callwright_openai::Role;
use callwright_types::Cost;
pub(super) use callwright_upstream::Answered;
use callwright_upstream::{Manner, Patience, TextModel, TextSource, Upstream};

/// Temperature 0 for reproducible answers.
const MANNER: Manner<'static> = Manner { temperature: 0.0, form: None, requests: None };

/// Maximum number of characters of a model's text that a message quotes.
const QUOTED_CHARS: usize = 160;

/// Model of an upstream with its answers and the accumulated cost. Equal requests are sent once.
#[derive(Debug)]
pub struct LearnerModel {
    model: CachingModel,
    name: String,
    pub(super) settings: ModelSettings,
    cost: CostCounter,
}

impl LearnerModel {
    /// Creates a client for the model of this name.
    pub fn new(upstream: Arc<Upstream>, name: &str, settings: ModelSettings) -> Self {
        let max_wait = Duration::from_secs(settings.max_wait_seconds);
        Self {
            model: CachingModel::new(Arc::new(TextModel::new(
                upstream,
                name,
                Patience { tries: settings.tries, max_wait },
            ))),
            name: name.to_owned(),
            settings,
            cost: CostCounter::default(),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its settings.
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Returns the answers so far, for a run that continues this one, and takes those of an earlier run.
    pub fn cache(&self) -> &CachingModel {
        &self.model
    }

    /// Returns the cost so far, as counted by the provider.
    pub fn cost(&self) -> Cost {
        self.cost.total()
    }

    /// Sends a request and retries only if there is no answer or the provider is busy. `form` is the JSON Schema of the
    /// answer, for providers that support it.
    ///
    /// # Errors
    /// Why there is no answer, and the fix.
    pub(super) async fn request(&self, messages: &[(Role, String)], form: &Value) -> Result<Answered, String> {
        let manner = Manner { form: Some(form), ..MANNER };
        let exchange = self.model.ask(messages, manner).await;
        self.cost.add(&exchange);
        exchange.answered
    }
}

/// Returns the beginning of a third-party text, on one line.
pub(super) fn quoted(text: &str) -> String {
    shortened(&one_line(text), QUOTED_CHARS).to_owned()
}
