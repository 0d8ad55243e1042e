//! Validates the lists of patterns that a model proposes.

use std::collections::HashSet;

use super::ModelSettings;
use super::answer::{ProposedPattern, parse_list};
use super::copied::{copied_share, repeats_a_sample, words};
use crate::representation::file::limits;
use callwright_common::text::one_line;
use callwright_types::representation::Pattern;

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
