//! Validates the lists of patterns that a model proposes.

use std::collections::HashSet;

use super::ModelSettings;
use super::answer::{ProposedPattern, parse_list};
use callwright_common::text::one_line;
use callwright_memory::representation::limits;
use callwright_types::representation::Pattern;
use unicode_segmentation::UnicodeSegmentation;

/// Context against which a list is validated.
pub(super) struct Acceptance<'a> {
    settings: &'a ModelSettings,
    /// Words of the samples in the prompt.
    samples: Vec<Vec<String>>,
}

impl<'a> Acceptance<'a> {
    pub(super) fn new(settings: &'a ModelSettings, samples: &[&str]) -> Self {
        Self { settings, samples: samples.iter().map(|sample| words(sample)).collect() }
    }

    /// Returns the valid new patterns, at most `room`. Cases that are no phrase of a sample, or too large a share of
    /// one, are removed. Patterns that repeat a whole sample, keep no case, or duplicate another pattern are removed.
    ///
    /// # Errors
    /// Feedback for the model: the faults of the list. Also returned if every new pattern was rejected.
    pub(super) fn added(&self, answer: &str, existing: &[Pattern], room: usize) -> Result<Vec<Pattern>, String> {
        let proposed = parse_list(answer)?;
        let mut seen: HashSet<Vec<String>> = existing.iter().map(|pattern| words(&pattern.description)).collect();
        let mut faults = Vec::new();
        let mut patterns = Vec::new();
        for (index, proposed) in proposed.iter().enumerate() {
            let number = index + 1;
            let description = description(proposed, number)?;
            let description_words = words(&description);
            let cases = self.cases(proposed, |share| share.is_some_and(|share| share <= self.settings.case_share));
            if repeats_a_sample(&description_words, &self.samples) {
                faults.push(format!("the description of item {number} repeats a whole request"));
            } else if cases.is_empty() {
                faults.push(format!(
                    "no case of item {number} is a phrase of a request with at most {:.0} % of its words",
                    self.settings.case_share * 100.0
                ));
            } else if seen.insert(description_words) {
                patterns.push(Pattern { description, cases, weight: 1.0 });
            }
        }
        if patterns.is_empty() && !faults.is_empty() {
            return Err(faults.join("; "));
        }
        patterns.truncate(room);
        Ok(patterns)
    }

    /// Returns the edited patterns, one per present pattern in order. Cases that are too large a share of a wrong
    /// sample are removed; if none is left, the previous cases stay. Weights stay.
    ///
    /// # Errors
    /// Feedback for the model: the list has another number of patterns, or a description
    /// that repeats a whole sample.
    pub(super) fn edited(&self, answer: &str, existing: &[Pattern]) -> Result<Vec<Pattern>, String> {
        let proposed = parse_list(answer)?;
        if proposed.len() != existing.len() {
            return Err(format!(
                "the list has {} items, and there are {} patterns; give each of them back, edited or not, in the same order",
                proposed.len(),
                existing.len()
            ));
        }
        let edited = (1..).zip(proposed.iter().zip(existing)).map(|(number, (proposed, previous))| {
            let description = description(proposed, number)?;
            if repeats_a_sample(&words(&description), &self.samples) {
                return Err(format!("the description of item {number} repeats a whole wrong request"));
            }
            let cases = self.cases(proposed, |share| share.is_none_or(|share| share <= self.settings.case_share));
            let cases = if cases.is_empty() { previous.cases.clone() } else { cases };
            Ok(Pattern { description, cases, weight: previous.weight })
        });
        edited.collect()
    }

    /// Returns the first distinct cases that pass.
    fn cases(&self, proposed: &ProposedPattern, passes: impl Fn(Option<f32>) -> bool) -> Vec<String> {
        let mut seen = HashSet::new();
        let tidied = proposed.cases.iter().map(|case| one_line(case));
        let accepted =
            tidied.filter(|case| !case.is_empty() && case.chars().count() <= limits::CASE_CHARS).filter(|case| {
                let case_words = words(case);
                !case_words.is_empty() && passes(copied_share(&case_words, &self.samples)) && seen.insert(case_words)
            });
        accepted.take(self.settings.cases).collect()
    }
}

/// Returns the description of an item.
///
/// # Errors
/// The description is empty or too long.
fn description(proposed: &ProposedPattern, number: usize) -> Result<String, String> {
    let description = one_line(&proposed.description);
    let length = description.chars().count();
    if words(&description).is_empty() {
        return Err(format!("the description of item {number} is empty; give one general sentence"));
    }
    if length > limits::DESCRIPTION_CHARS {
        return Err(format!(
            "the description of item {number} has {length} characters; give one sentence of at most {}",
            limits::DESCRIPTION_CHARS
        ));
    }
    Ok(description)
}

/// Minimum number of words of a sample whose repetition discloses it; shorter samples are common phrases.
const MIN_DISCLOSING_WORDS: usize = 4;

/// Returns the words of a text in lower case, without punctuation. In scripts without spaces, each character is a word.
fn words(text: &str) -> Vec<String> {
    text.unicode_words().map(str::to_lowercase).collect()
}

/// Returns the largest share of a sample's words that a case contains as a phrase; `None` if it is in no sample.
fn copied_share(case: &[String], samples: &[Vec<String>]) -> Option<f32> {
    let containing = samples.iter().filter(|sample| contains_phrase(case, sample));
    containing.map(|sample| share(case.len(), sample.len())).max_by(f32::total_cmp)
}

/// Whether a text repeats a whole sample.
fn repeats_a_sample(text: &[String], samples: &[Vec<String>]) -> bool {
    samples.iter().any(|sample| sample.len() >= MIN_DISCLOSING_WORDS && contains_phrase(sample, text))
}

fn contains_phrase(phrase: &[String], text: &[String]) -> bool {
    !phrase.is_empty() && text.windows(phrase.len()).any(|window| window == phrase)
}

#[expect(clippy::cast_precision_loss, reason = "words of a sample are few")]
fn share(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of(case: &str, samples: &[&str]) -> Option<f32> {
        copied_share(&words(case), &samples.iter().map(|sample| words(sample)).collect::<Vec<_>>())
    }

    #[test]
    fn phrases_are_found_regardless_of_punctuation() {
        assert_eq!(share_of("Lost my card", &["I've LOST \"my card\", help!"]), Some(0.6));
        assert_eq!(share_of("my card lost", &["I lost my card"]), None, "words in another order are no copy");
        assert_eq!(share_of("", &["a"]), None);
        assert_eq!(share_of("a", &[""]), None);
    }

    #[test]
    fn largest_copied_share_counts() {
        assert_eq!(share_of("lost card", &["a lost card is a bad thing", "lost card"]), Some(1.0));
    }

    #[test]
    fn scripts_without_spaces_have_words() {
        assert_eq!(share_of("银行卡", &["我的银行卡丢了"]), Some(3.0 / 7.0));
    }

    #[test]
    fn repetition_of_a_whole_sample_is_detected() {
        let samples = [words("Where is my card?"), words("help me")];
        assert!(repeats_a_sample(&words("Requests such as where is my card"), &samples));
        assert!(!repeats_a_sample(&words("Requests about where a card is; help me"), &samples));
    }
}
