//! Prices of models.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use callwright_types::Usage;

/// Prices of a model (`[prices."MODEL"]`), in the same currency as the budgets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PriceSettings {
    /// Price of a million prompt tokens.
    pub prompt: f64,
    /// Price of a million completion tokens.
    pub completion: f64,
    /// Price of a million cached prompt tokens; omitted: as other prompt tokens.
    pub cached: Option<f64>,
}

impl PriceSettings {
    /// Returns the first invalid price: its key and value.
    pub fn fault(&self) -> Option<(&'static str, f64)> {
        let prices = [("prompt", self.prompt), ("completion", self.completion), ("cached", self.cached.unwrap_or(0.0))];
        prices.into_iter().find(|(_, price)| !(price.is_finite() && *price >= 0.0))
    }

    /// Returns the cost of tokens in billionths of the currency, rounded up.
    fn nanos(&self, usage: &Usage) -> u64 {
        let cached = usage.cached_tokens.min(usage.prompt_tokens);
        let sum = (usage.prompt_tokens - cached) as f64 * self.prompt
            + cached as f64 * self.cached.unwrap_or(self.prompt)
            + usage.completion_tokens as f64 * self.completion;
        // Prices are those of a million tokens. The cast saturates.
        (sum * 1e9 / 1e6).ceil() as u64
    }
}

/// The price table.
#[derive(Debug, Clone, Default)]
pub(super) struct ModelPrices(BTreeMap<String, PriceSettings>);

impl ModelPrices {
    pub(super) fn of(settings: &BTreeMap<String, PriceSettings>) -> Self {
        Self(settings.clone())
    }

    /// Whether the model has a price.
    pub(super) fn has(&self, model: &str) -> bool {
        self.0.contains_key(model)
    }

    /// Returns the cost of a model's tokens in billionths of the currency; 0 if the model has no price.
    pub(super) fn nanos(&self, model: &str, usage: &Usage) -> u64 {
        self.0.get(model).map_or(0, |price| price.nanos(usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cost_by_what_they_are() {
        let price = PriceSettings { prompt: 2.5, completion: 10.0, cached: Some(1.25) };
        let prices = ModelPrices::of(&[("m".to_owned(), price)].into());
        let usage =
            Usage { prompt_tokens: 1_000_000, completion_tokens: 100_000, total_tokens: 0, cached_tokens: 400_000 };
        assert_eq!(prices.nanos("m", &usage), 3_000_000_000, "1.50 + 0.50 + 1.00");
        assert_eq!(prices.nanos("other", &usage), 0);
        let one = Usage { prompt_tokens: 1, ..Usage::default() };
        let cheap = PriceSettings { prompt: 0.000_01, ..PriceSettings::default() };
        assert_eq!(cheap.nanos(&one), 1, "not nothing");
        let wrong = Usage { prompt_tokens: 1, cached_tokens: 5, ..Usage::default() };
        assert_eq!(price.nanos(&wrong), 1_250);
        assert_eq!(PriceSettings { prompt: f64::MAX, ..price }.nanos(&usage), u64::MAX);
    }

    #[test]
    fn a_price_is_a_number_from_0_on() {
        assert_eq!(PriceSettings::default().fault(), None);
        assert_eq!(PriceSettings { prompt: -1.0, ..PriceSettings::default() }.fault(), Some(("prompt", -1.0)));
        assert!(PriceSettings { cached: Some(f64::NAN), ..PriceSettings::default() }.fault().is_some());
    }
}
