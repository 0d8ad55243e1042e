//! Relevance of each offered tool for a request, from a search over the tools' texts.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::fmt;

use callwright_types::rules::RelevanceRules;

/// Relevance of the offered tools for a request, computed when a check first needs it.
pub trait RelevanceSource: fmt::Debug {
    /// Returns the relevance; `None` if there is no request to compare with.
    fn relevance(&self) -> Option<&Relevance>;
}

impl RelevanceSource for Relevance {
    fn relevance(&self) -> Option<&Relevance> {
        Some(self)
    }
}

impl<F: FnOnce() -> Option<Relevance>> RelevanceSource for LazyCell<Option<Relevance>, F> {
    fn relevance(&self) -> Option<&Relevance> {
        self.as_ref()
    }
}

/// Relevance scores of the offered tools for one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Relevance {
    scores: HashMap<String, f64>,
    best: Option<(String, f64)>,
    /// Share of the request, 0 to 1, that the text of the best tool covers; `None` if the scores are semantic similarities.
    coverage: Option<f64>,
}

/// A tool that a semantic search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundTool<'a> {
    pub name: &'a str,
    /// Highest semantic similarity between the request and one of the tool's texts, -1 to 1.
    pub closeness: f64,
    /// Whether the request mentions the name of the tool.
    pub is_named: bool,
}

impl Relevance {
    /// Maximum number of tools to rank for a request, or of names to compare with one. Requests rarely offer more, and the
    /// limit bounds the cost of a hostile list.
    pub const MAX_RANKED: usize = 1_000;

    /// Creates scores from word matches, best first. Tools that are left out score 0. `coverage` is the share of the
    /// request, 0 to 1, that the text of the best tool covers.
    pub fn by_words<'a>(ranked: impl IntoIterator<Item = (&'a str, f64)>, coverage: f64) -> Self {
        let ranked: Vec<(String, f64)> = ranked.into_iter().map(|(name, score)| (name.to_owned(), score)).collect();
        Self { best: ranked.first().cloned(), scores: ranked.into_iter().collect(), coverage: Some(coverage) }
    }

    /// Creates scores from semantic similarities, in any order. A tool that the request names gets the score of the
    /// best tool, because the user requested it regardless of its description.
    pub fn by_meaning<'a>(found: impl IntoIterator<Item = FoundTool<'a>>) -> Self {
        let mut relevance = Self::default();
        let mut named = Vec::new();
        for FoundTool { name, closeness, is_named } in found {
            let closeness = closeness.max(0.0);
            if relevance.best.as_ref().is_none_or(|(_, best)| closeness > *best) {
                relevance.best = Some((name.to_owned(), closeness));
            }
            relevance.scores.insert(name.to_owned(), closeness);
            named.extend(is_named.then(|| name.to_owned()));
        }
        let best = relevance.best.as_ref().map_or(0.0, |(_, best)| *best);
        relevance.scores.extend(named.into_iter().map(|name| (name, best)));
        relevance
    }

    /// Returns the tool that clearly serves the request better than `called`.
    pub fn better_than(&self, called: &str, rules: &RelevanceRules) -> Option<&str> {
        let (best, score) = self.best.as_ref()?;
        let is_evident = self.coverage.map_or(*score >= rules.closeness, |coverage| coverage >= rules.coverage);
        let of_called = self.scores.get(called).copied().unwrap_or_default();
        (is_evident && best != called && of_called <= rules.share * score).then_some(best)
    }

    /// Returns the tools that have anything in common with the request, best first.
    pub fn ranked(&self) -> Vec<&str> {
        let mut ranked: Vec<(&str, f64)> = self.scores.iter().map(|(name, score)| (name.as_str(), *score)).collect();
        ranked.retain(|(_, score)| *score > 0.0);
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(other.0)));
        ranked.into_iter().map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn found(name: &str, closeness: f64, is_named: bool) -> FoundTool<'_> {
        FoundTool { name, closeness, is_named }
    }

    fn better(tools: &[FoundTool<'_>], called: &str) -> Option<String> {
        let relevance = Relevance::by_meaning(tools.iter().copied());
        relevance.better_than(called, &RelevanceRules::default()).map(str::to_owned)
    }

    #[test]
    fn a_tool_without_anything_in_common_gives_way_to_a_close_one() {
        let tools = [found("ping", -0.2, false), found("get_weather", 0.7, false), found("search", 0.4, false)];
        assert_eq!(better(&tools, "ping").as_deref(), Some("get_weather"));
        assert_eq!(better(&tools, "unheard_of").as_deref(), Some("get_weather"));
        assert_eq!(better(&tools, "search"), None);
        assert_eq!(better(&tools, "get_weather"), None);
    }

    #[test]
    fn nothing_is_better_where_nothing_is_close() {
        assert_eq!(better(&[found("ping", 0.0, false), found("get_weather", 0.4, false)], "ping"), None);
        assert_eq!(better(&[], "ping"), None);
    }

    #[test]
    fn tools_with_nothing_in_common_are_not_ranked() {
        let tools = [found("ping", -0.2, false), found("search", 0.4, false), found("get_weather", 0.7, false)];
        assert_eq!(Relevance::by_meaning(tools).ranked(), ["get_weather", "search"]);
    }

    #[test]
    fn a_tool_that_the_request_names_never_gives_way() {
        let tools = [found("get_weather", 0.7, false), found("ping", -0.2, true)];
        assert_eq!(better(&tools, "ping"), None);
        assert_eq!(better(&tools, "get_weather"), None, "a name that is mentioned is no evidence against another tool");
    }
}
