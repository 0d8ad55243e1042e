//! Asking a model through an upstream, with an account of what it costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::ModelSettings;
use crate::representation::file::{shortened, tidy};
use callwright_openai::Role;
use callwright_types::Cost;
pub(super) use callwright_upstream::Answered;
use callwright_upstream::{Manner, Patience, TextModel, Upstream};

/// The same question is to have the same answer. Answers are lists and letters, which are read strictly: no form is sent.
const MANNER: Manner<'static> = Manner { temperature: 0.0, form: None, requests: None };

/// Characters of a model's own words that a message quotes.
const QUOTED_CHARS: usize = 160;

/// A model of an upstream, and what asking it has cost.
#[derive(Debug)]
pub struct Model {
    model: TextModel,
    pub(super) settings: ModelSettings,
    requests: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
}

impl Model {
    /// A model of this name.
    pub fn new(upstream: Arc<Upstream>, name: &str, settings: ModelSettings) -> Self {
        let max_wait = Duration::from_secs(settings.max_wait_seconds);
        Self {
            model: TextModel::new(upstream, name, Patience { tries: settings.tries, max_wait }),
            settings,
            requests: AtomicU64::default(),
            prompt_tokens: AtomicU64::default(),
            completion_tokens: AtomicU64::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.model.name()
    }

    /// How it is asked.
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// What has been spent so far, as the provider counts it.
    pub fn cost(&self) -> Cost {
        Cost {
            requests: self.requests.load(Ordering::Relaxed),
            prompt_tokens: self.prompt_tokens.load(Ordering::Relaxed),
            completion_tokens: self.completion_tokens.load(Ordering::Relaxed),
        }
    }

    /// Asks once; again only where no answer came, or the provider is busy.
    ///
    /// # Errors
    /// Why there is no answer, and what mends it.
    pub(super) async fn ask(&self, messages: &[(Role, String)]) -> Result<Answered, String> {
        let exchange = self.model.ask(messages, MANNER).await;
        let usage = exchange.usage.unwrap_or_default();
        self.requests.fetch_add(exchange.requests, Ordering::Relaxed);
        self.prompt_tokens.fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        self.completion_tokens.fetch_add(usage.completion_tokens, Ordering::Relaxed);
        exchange.answered
    }
}

/// The beginning of somebody else's words, on one line.
pub(super) fn quoted(said: &str) -> String {
    shortened(&tidy(said), QUOTED_CHARS).to_owned()
}
