//! Texts of a tool.

use std::collections::HashMap;

use super::tokens::{Term, tokens};
use callwright_common::text::name_words;
use callwright_types::representation::Pattern;

/// The texts by which a tool is found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolText {
    pub name: String,
    /// Description of the tool in its document or by the client.
    pub description: String,
    /// Names and descriptions of its parameters, as one text.
    pub parameters: String,
    /// Tags of its document, as one text.
    pub tags: String,
    /// Learned patterns of requests for it.
    pub patterns: Vec<Pattern>,
}

impl ToolText {
    /// Returns the text whose vector represents the tool itself: its name in words, and its description.
    pub fn embedded(&self) -> String {
        let name: Vec<String> = name_words(&self.name);
        [name.join(" ").as_str(), self.description.trim()].join(". ").trim_matches(['.', ' ']).to_owned()
    }
}

/// Weight of a word in each field of a tool ("Simple BM25 Extension to Multiple Weighted Fields", Robertson, Zaragoza
/// and Taylor, 2004). A word's frequency and a text's length are both weighted sums over the fields.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldWeights {
    pub name: f32,
    pub description: f32,
    /// Weight of names and descriptions of parameters.
    pub parameters: f32,
    pub tags: f32,
    /// Weight of patterns. A pattern's own weight applies to its similarity in meaning, not to its words.
    pub patterns: f32,
}

impl Default for FieldWeights {
    fn default() -> Self {
        Self { name: 2.0, description: 1.0, parameters: 0.3, tags: 0.5, patterns: 0.5 }
    }
}

/// A tool's words with their weights, which BM25 scores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolDocument {
    /// Weighted frequencies, sorted by term.
    terms: Vec<(Term, f32)>,
    length: f32,
}

impl ToolDocument {
    /// Collects the words of all fields.
    pub fn new(text: &ToolText, weights: &FieldWeights) -> Self {
        let mut counts: HashMap<Term, f32> = HashMap::new();
        let mut length = 0.0;
        let mut add = |text: &str, weight: f32| {
            for token in tokens(text) {
                *counts.entry(Term::of(&token)).or_default() += weight;
                length += weight;
            }
        };
        add(&text.name, weights.name);
        add(&text.description, weights.description);
        add(&text.parameters, weights.parameters);
        add(&text.tags, weights.tags);
        for pattern in &text.patterns {
            add(&pattern.text(), weights.patterns);
        }
        let mut terms: Vec<(Term, f32)> = counts.into_iter().collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        Self { terms, length }
    }

    /// Returns its terms and their weighted frequencies.
    pub(super) fn terms(&self) -> &[(Term, f32)] {
        &self.terms
    }

    /// Returns the weighted frequency of a term; 0 if the tool does not have it.
    pub(super) fn count(&self, term: Term) -> f32 {
        let found = self.terms.binary_search_by_key(&term, |(term, _)| *term);
        found.ok().and_then(|at| self.terms.get(at)).map_or(0.0, |(_, count)| *count)
    }

    /// Returns its weighted length in words.
    pub(super) fn length(&self) -> f32 {
        self.length
    }
}

/// Returns a valid weight of a pattern: 1 if it is not finite, 0 if it is negative.
pub(super) fn sane(weight: f32) -> f32 {
    if weight.is_finite() { weight.max(0.0) } else { 1.0 }
}
