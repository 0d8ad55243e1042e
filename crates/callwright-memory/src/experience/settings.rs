//! Settings of the lesson store (`[experience]`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings for learning, recalling and retiring lessons (`[experience]`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Minimum share of a lesson's key words, 0 to 1, that a request must contain to be shown the lesson. At least one
    /// word is always required.
    #[serde(skip)]
    pub least_match: f32,
    /// Number of leading characters of a request that lessons are looked up by.
    #[serde(skip)]
    pub query_chars: usize,
    /// Minimum similarity, 0 to 1, of both keys and values at which two lessons about the same tools are merged.
    #[serde(skip)]
    pub near_duplicate: f32,
    /// Initial probability, 0 to 1, that a lesson or procedure is withheld from a turn that it was found for. The
    /// comparison shows whether it helps. The probability falls while there is no evidence of harm. At 0, harm is never
    /// detected.
    pub withhold: f64,
    /// Probability, above 0 and below 1, that a harmless lesson or procedure is retired, no matter for how long it is
    /// observed.
    pub error_rate: f64,
    /// Number of further outputs in which a model may think and take notes about one case (paper, appendix B: 4).
    #[serde(skip)]
    pub note_actions: usize,
    /// Maximum number of lessons per scope. Above it, the lessons with the least evidence are deleted.
    #[serde(skip)]
    pub lessons_per_scope: usize,
    /// Maximum number of characters of a lesson's key.
    #[serde(skip)]
    pub key_chars: usize,
    /// Maximum number of characters of a lesson's value.
    #[serde(skip)]
    pub value_chars: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            least_match: 0.05,
            query_chars: 4000,
            near_duplicate: 0.75,
            withhold: 0.2,
            error_rate: 0.05,
            note_actions: 4,
            lessons_per_scope: 10_000,
            key_chars: 200,
            value_chars: 600,
        }
    }
}

impl Settings {
    /// Returns the keys whose values are out of range, with their ranges.
    pub fn out_of_range(&self) -> Vec<(&'static str, &'static str)> {
        let judged = [
            ("withhold", (0.0..1.0).contains(&self.withhold), "0 or more and below 1"),
            ("error_rate", self.error_rate > 0.0 && self.error_rate < 1.0, "above 0 and below 1"),
        ];
        judged.into_iter().filter(|(_, fits, _)| !fits).map(|(key, _, range)| (key, range)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_have_ranges() {
        assert!(Settings::default().out_of_range().is_empty());
        let wrong = Settings { withhold: 1.0, error_rate: 0.0, ..Settings::default() };
        let keys: Vec<&str> = wrong.out_of_range().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["withhold", "error_rate"]);
    }
}
