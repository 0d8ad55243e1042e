//! Delivery of calls by an upstream: as `tool_calls`, or in the text of the answer.
//!
//! Under `tool_calls = "auto"` the proxy learns the delivery for each model, as a decaying share. No single answer
//! decides it, and it can change during the life of the process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use callwright_common::limits::REMEMBERED;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Delivery of calls by an upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCalls {
    /// Learned for each model from its recent answers.
    #[default]
    Auto,
    /// As `tool_calls`.
    Native,
    /// As text: the upstream does not recognise the calls of its models.
    Text,
}

/// Observed delivery of the calls of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservedCalls {
    /// As `tool_calls`.
    Native,
    /// In the text, whether they could be parsed or not.
    Text,
    /// No call although tools were offered. The answer is no evidence, and the learned share decays slowly.
    None,
}

/// Learned delivery of one model of an upstream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelDelivery {
    /// The model's name at the upstream.
    pub model: String,
    /// Decayed share of answers with native calls among the answers with calls, 0 to 1; 0 if none are known.
    pub native_share: f64,
    /// Decayed number of answers with calls that support the share.
    pub answers: f64,
    /// Whether calls are expected as `tool_calls`; text then needs stronger evidence to be taken for a call.
    pub delivers_calls: bool,
}

/// Half-life of an answer's weight, in answers with calls. It is small enough to notice within an hour of use that a
/// server's tool-call parser is off, and large enough to ignore a few exceptions.
const HALF_LIFE_OF_CALLS: f64 = 32.0;

/// Half-life of an answer's weight, in answers without calls. These are no evidence of the delivery. Without this
/// decay, a share could never fall when text is rarely taken for calls.
const HALF_LIFE_OF_TEXTS: f64 = 256.0;

/// Prior weight, in answers with text calls: one native call is not enough.
const DOUBT: f64 = 1.0;

/// Minimum share, [`DOUBT`] included, at which calls are expected as `tool_calls`: three native answers in succession.
const NATIVE_FROM: f64 = 0.7;

/// Share, [`DOUBT`] included, below which they are no longer expected. It is lower than [`NATIVE_FROM`] for hysteresis.
const TEXT_BELOW: f64 = 0.5;

/// Learned delivery of the models of one upstream. Reads take no lock except the model's own.
#[derive(Debug, Default)]
pub(super) struct Deliveries(ArcSwap<HashMap<Box<str>, Arc<LearnedDelivery>>>);

#[derive(Debug, Default)]
struct LearnedDelivery {
    counts: Mutex<DeliveryCounts>,
    delivers_calls: AtomicBool,
}

/// Decayed numbers of answers with calls.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct DeliveryCounts {
    native: f64,
    text: f64,
}

impl DeliveryCounts {
    /// Returns the counts after an answer.
    fn after(self, delivery: ObservedCalls) -> Self {
        let half_life = if delivery == ObservedCalls::None { HALF_LIFE_OF_TEXTS } else { HALF_LIFE_OF_CALLS };
        let decay = 0.5_f64.powf(1.0 / half_life);
        Self {
            native: self.native * decay + f64::from(u8::from(delivery == ObservedCalls::Native)),
            text: self.text * decay + f64::from(u8::from(delivery == ObservedCalls::Text)),
        }
    }

    /// Whether calls are expected as `tool_calls`; between the thresholds the previous value is kept.
    fn delivers_calls(self, before: bool) -> bool {
        let share = self.native / (self.native + self.text + DOUBT);
        if before { share >= TEXT_BELOW } else { share >= NATIVE_FROM }
    }
}

impl LearnedDelivery {
    fn counts(&self) -> DeliveryCounts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, delivery: ObservedCalls) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts = counts.after(delivery);
        let delivers_calls = counts.delivers_calls(self.delivers_calls.load(Ordering::Relaxed));
        self.delivers_calls.store(delivers_calls, Ordering::Relaxed);
    }
}

impl Deliveries {
    /// Whether the model's calls are expected as `tool_calls`.
    pub(super) fn delivers_calls(&self, model: &str) -> bool {
        self.0.load().get(model).is_some_and(|learned| learned.delivers_calls.load(Ordering::Relaxed))
    }

    /// Records how the calls of an answer were delivered. A model without calls is not stored, nor is one beyond
    /// [`REMEMBERED`].
    pub(super) fn note(&self, model: &str, delivery: ObservedCalls) {
        let known = self.0.load();
        if let Some(learned) = known.get(model) {
            return learned.note(delivery);
        }
        if delivery == ObservedCalls::None || known.len() >= REMEMBERED {
            return;
        }
        drop(known);
        self.0.rcu(|known| {
            let mut more = HashMap::clone(known);
            if more.len() < REMEMBERED {
                more.entry(model.into()).or_default();
            }
            Arc::new(more)
        });
        if let Some(learned) = self.0.load().get(model) {
            learned.note(delivery);
        }
    }

    /// Returns all stored models, sorted by name.
    pub(super) fn models(&self) -> Vec<ModelDelivery> {
        let known = self.0.load();
        let models = known.iter().map(|(model, learned)| {
            let DeliveryCounts { native, text } = learned.counts();
            let answers = native + text;
            ModelDelivery {
                model: model.to_string(),
                native_share: if answers > 0.0 { native / answers } else { 0.0 },
                answers,
                delivers_calls: learned.delivers_calls.load(Ordering::Relaxed),
            }
        });
        let mut models: Vec<ModelDelivery> = models.collect();
        models.sort_by(|one, other| one.model.cmp(&other.model));
        models
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(deliveries: &[(ObservedCalls, usize)]) -> Deliveries {
        let learned = Deliveries::default();
        for (delivery, times) in deliveries {
            (0..*times).for_each(|_| learned.note("m", *delivery));
        }
        learned
    }

    fn delivers_calls(deliveries: &[(ObservedCalls, usize)]) -> bool {
        after(deliveries).delivers_calls("m")
    }

    #[test]
    fn no_single_answer_decides() {
        assert!(!delivers_calls(&[]));
        assert!(!delivers_calls(&[(ObservedCalls::Native, 1)]));
        assert!(!delivers_calls(&[(ObservedCalls::Native, 2)]));
        assert!(delivers_calls(&[(ObservedCalls::Native, 3)]));
        assert!(delivers_calls(&[(ObservedCalls::Native, 3), (ObservedCalls::Text, 1)]));
        assert!(!delivers_calls(&[(ObservedCalls::Native, 3), (ObservedCalls::Text, 3)]));
        assert!(
            delivers_calls(&[(ObservedCalls::Text, 1), (ObservedCalls::Native, 6)]),
            "one rescued call is forgotten"
        );
    }

    #[test]
    fn a_thousand_answers_are_unlearned_in_a_few_half_lives() {
        let mut deliveries = vec![(ObservedCalls::Native, 1_000), (ObservedCalls::Text, 20)];
        assert!(delivers_calls(&deliveries), "less than a half-life");
        deliveries[1].1 = 40;
        assert!(!delivers_calls(&deliveries));
        deliveries.push((ObservedCalls::Native, 60));
        assert!(delivers_calls(&deliveries), "and learned again");
    }

    #[test]
    fn a_text_only_model_is_forgotten_but_not_one_that_rarely_calls() {
        assert!(delivers_calls(&[(ObservedCalls::Native, 100), (ObservedCalls::None, 256)]));
        assert!(!delivers_calls(&[(ObservedCalls::Native, 1_000), (ObservedCalls::None, 2_000)]));
        let rarely = [(ObservedCalls::Native, 1), (ObservedCalls::None, 49)].repeat(20);
        assert!(delivers_calls(&rarely));
    }

    #[test]
    fn models_are_remembered_up_to_a_bound_and_only_if_they_called() {
        let learned = Deliveries::default();
        learned.note("silent", ObservedCalls::None);
        assert_eq!(learned.models(), []);
        for number in 0..2 * REMEMBERED {
            learned.note(&format!("model-{number}"), ObservedCalls::Native);
        }
        assert_eq!(learned.models().len(), REMEMBERED);
        let first = &learned.models()[0];
        assert_eq!((first.model.as_str(), first.native_share, first.answers), ("model-0", 1.0, 1.0));
        assert!(!first.delivers_calls);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        /// Enough answers of one kind decide regardless of earlier ones, and the numbers stay bounded.
        #[test]
        fn the_last_answers_decide_and_the_numbers_are_bounded(
            before in prop::collection::vec(prop::sample::select(vec![ObservedCalls::Native, ObservedCalls::Text, ObservedCalls::None]), 0..400),
            native in any::<bool>(),
        ) {
            let learned = Deliveries::default();
            before.iter().for_each(|delivery| learned.note("m", *delivery));
            (0..200).for_each(|_| learned.note("m", if native { ObservedCalls::Native } else { ObservedCalls::Text }));
            prop_assert_eq!(learned.delivers_calls("m"), native);
            let model = &learned.models()[0];
            prop_assert!(model.answers < 50.0 && (0.0..=1.0).contains(&model.native_share), "{:?}", model);
        }
    }
}
