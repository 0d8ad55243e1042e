//! Settings of the notebook (`[experience]`).

use serde::{Deserialize, Serialize};

/// How lessons are noted, found and given up (`[experience]`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Share of a lesson's key words, 0 to 1, that a request must have to be shown the lesson; at least one, whatever this says.
    pub least_match: f32,
    /// How much of a lesson's score comes from the words that its key shares with the request.
    pub word_weight: f32,
    /// How much of it comes from closeness in meaning, where there are vectors.
    pub vector_weight: f32,
    /// Characters of a request that lessons are looked up by, the first.
    pub query_chars: usize,
    /// How alike two lessons about the same tools must be, 0 to 1, in keys and in values, to become one.
    pub near_duplicate: f32,
    /// Chance, 0 to 1, that a lesson or a procedure is withheld from a turn that it was found for: only so can be told whether it helps. At 0 none is ever
    /// found to do harm.
    pub withhold: f64,
    /// Chance, above 0 and below 1, that a lesson or a procedure which does no harm is retired all the same, however long it is watched.
    pub error_rate: f64,
    /// Further answers in which a model may think and take notes about one case (paper, appendix B: 4).
    pub note_actions: usize,
    /// Lessons that are kept for one scope; of more, those that rest on the least evidence are forgotten.
    pub lessons_per_scope: usize,
    /// Characters of a lesson's key.
    pub key_chars: usize,
    /// Characters of a lesson's value.
    pub value_chars: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            least_match: 0.05,
            word_weight: 1.0,
            vector_weight: 1.0,
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
    /// The keys whose values are out of their range, and what the range is.
    pub fn out_of_range(&self) -> Vec<(&'static str, &'static str)> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let weight = |value: f32| value.is_finite() && value >= 0.0;
        let judged = [
            ("least_match", share(self.least_match.into()), "0 to 1"),
            ("word_weight", weight(self.word_weight), "0 or more"),
            ("vector_weight", weight(self.vector_weight), "0 or more"),
            ("near_duplicate", share(self.near_duplicate.into()), "0 to 1"),
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
    fn chances_shares_and_weights_have_their_ranges() {
        assert!(Settings::default().out_of_range().is_empty());
        let wrong = Settings {
            least_match: 1.5,
            word_weight: -1.0,
            vector_weight: f32::NAN,
            near_duplicate: f32::INFINITY,
            withhold: 1.0,
            error_rate: 0.0,
            ..Settings::default()
        };
        let keys: Vec<&str> = wrong.out_of_range().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["least_match", "word_weight", "vector_weight", "near_duplicate", "withhold", "error_rate"]);
    }
}
