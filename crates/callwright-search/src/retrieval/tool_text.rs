//! What is known of a tool in words.

use std::collections::HashMap;

use super::term::Term;
use super::tokens::tokens;
use callwright_types::representation::Pattern;

/// A tool's texts, by which it is found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolText {
    /// Its name.
    pub name: String,
    /// What it does, as its document or the client says.
    pub description: String,
    /// Names and descriptions of its parameters, as one text.
    pub parameters: String,
    /// What its document files it under, as one text.
    pub tags: String,
    /// What requests for it are like, as far as that is learned.
    pub patterns: Vec<Pattern>,
}

impl ToolText {
    /// The text whose vector stands for the tool itself: its name in words, and its description.
    pub fn embedded(&self) -> String {
        let name: Vec<String> = super::tokens::words(&self.name);
        [name.join(" ").as_str(), self.description.trim()].join(". ").trim_matches(['.', ' ']).to_owned()
    }
}

/// How much a word counts in each field of a tool ("Simple BM25 Extension to Multiple Weighted Fields", Robertson, Zaragoza and Taylor, 2004:
/// a word's occurrences and a text's length are both sums over the fields, each times its weight).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldWeights {
    /// In the name.
    pub name: f32,
    /// In the description.
    pub description: f32,
    /// In names and descriptions of parameters.
    pub parameters: f32,
    /// In tags.
    pub tags: f32,
    /// In patterns; a pattern's own weight says what its closeness in meaning is worth, and nothing of its words.
    pub patterns: f32,
}

impl Default for FieldWeights {
    fn default() -> Self {
        Self { name: 2.0, description: 1.0, parameters: 0.3, tags: 0.5, patterns: 0.5 }
    }
}

/// A tool's words with their weights: what BM25 scores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolDocument {
    /// In the order of the terms.
    terms: Vec<(Term, f32)>,
    length: f32,
}

impl ToolDocument {
    /// The words of all fields.
    pub fn of(text: &ToolText, weights: &FieldWeights) -> Self {
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

    /// Its terms, and how much each counts.
    pub(super) fn terms(&self) -> &[(Term, f32)] {
        &self.terms
    }

    /// How much a term counts; 0 where the tool does not have it.
    pub(super) fn count(&self, term: Term) -> f32 {
        let found = self.terms.binary_search_by_key(&term, |(term, _)| *term);
        found.ok().and_then(|at| self.terms.get(at)).map_or(0.0, |(_, count)| *count)
    }

    /// Its length in words, each with its weight.
    pub(super) fn length(&self) -> f32 {
        self.length
    }
}

/// A pattern's weight as ranking takes it: what is no number counts as any other pattern, what is below 0 as nothing.
pub(super) fn sane(weight: f32) -> f32 {
    if weight.is_finite() { weight.max(0.0) } else { 1.0 }
}
