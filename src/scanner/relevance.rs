//! How well each offered tool serves a request, as a search over their texts says.

use std::collections::HashMap;

/// Scores of the offered tools for one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Relevance {
    scores: HashMap<String, f64>,
    best: Option<(String, f64)>,
    coverage: f64,
}

impl Relevance {
    /// Tools that are ranked for a request: the best one and those that could be called instead.
    pub const MAX_RANKED: usize = 1_000;

    /// Of scores, the best one first; tools that are left out have none. `coverage` is the share of the request, 0 to 1, that
    /// the best tool's text recognises.
    pub fn new<'a>(ranked: impl IntoIterator<Item = (&'a str, f64)>, coverage: f64) -> Self {
        let ranked: Vec<(String, f64)> = ranked.into_iter().map(|(name, score)| (name.to_owned(), score)).collect();
        Self { best: ranked.first().cloned(), scores: ranked.into_iter().collect(), coverage }
    }

    /// The best tool and its score.
    pub(crate) fn best(&self) -> Option<(&str, f64)> {
        self.best.as_ref().map(|(name, score)| (name.as_str(), *score))
    }

    /// A tool's score.
    pub(crate) fn of(&self, name: &str) -> f64 {
        self.scores.get(name).copied().unwrap_or_default()
    }

    /// The share of the request that the best tool's text recognises.
    pub(crate) fn coverage(&self) -> f64 {
        self.coverage
    }
}
