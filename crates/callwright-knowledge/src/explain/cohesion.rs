//! Lexical cohesion of neighbouring sentences.

use std::collections::HashMap;

use callwright_search::retrieval::{is_stop_word, tokens};

/// Number of sentences on each side of a gap whose words are compared; a single sentence has too few words.
pub(super) const WINDOW: usize = 3;

/// Cohesion at the gaps between sentences: the cosine of the word counts before and after the gap, like the block
/// comparison of TextTiling (Hearst 1997, section 4.2).
#[derive(Debug)]
pub(super) struct Cohesion {
    words: Vec<Vec<String>>,
}

impl Cohesion {
    pub(super) fn new<'a>(sentences: impl Iterator<Item = &'a str>) -> Self {
        let words = sentences.map(|text| tokens(text).into_iter().filter(|word| !is_stop_word(word)).collect());
        Self { words: words.collect() }
    }

    /// Returns the cohesion between the sentences before number `at` and those from it on: 0 (nothing in common) to 1.
    pub(super) fn at(&self, at: usize) -> f32 {
        let (before, behind) = self.words.split_at(at.min(self.words.len()));
        let before = counts(before.iter().rev().take(WINDOW));
        let behind = counts(behind.iter().take(WINDOW));
        let product: f32 = before.iter().filter_map(|(word, count)| Some(count * behind.get(word)?)).sum();
        let length = |counts: &HashMap<&str, f32>| counts.values().map(|count| count * count).sum::<f32>().sqrt();
        let lengths = length(&before) * length(&behind);
        if lengths > 0.0 { product / lengths } else { 0.0 }
    }
}

fn counts<'a>(sentences: impl Iterator<Item = &'a Vec<String>>) -> HashMap<&'a str, f32> {
    let mut counts = HashMap::new();
    for word in sentences.flatten() {
        *counts.entry(word.as_str()).or_default() += 1.0;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cohesion_is_least_where_the_subject_changes() {
        let sentences =
            ["The door opens.", "The door closes the locker.", "A van leaves the depot.", "The van has parcels."];
        let cohesion = Cohesion::new(sentences.into_iter());
        assert!(cohesion.at(2) < cohesion.at(1) && cohesion.at(2) < cohesion.at(3));
        assert!(cohesion.at(0) < f32::EPSILON && cohesion.at(9) < f32::EPSILON);
    }
}
