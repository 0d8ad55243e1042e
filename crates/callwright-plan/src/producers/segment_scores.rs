//! Scores the tools of one segment against a request.

use std::collections::HashMap;
use std::sync::Arc;

use super::clause::{ClauseLimits, ClauseQuery};
use super::request::{MAX_CLAUSES, Request};
use super::segment::{LIKELY, Segment, keep_best};
use super::vocabulary::{shared, sum};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::Term;

/// Score, 0 to 1, that the best tool of a clause needs to count in full. Below it, the clause refers to no tool
/// clearly.
const CLEAR: f32 = 0.3;

/// Maximum number of best tools kept per clause. More than one is kept because some may be excluded later.
const MAX_CLAUSE_TOOLS: usize = 8;

/// Scores of a request for the tools of a segment.
#[derive(Debug, Clone, Default)]
pub(super) struct SegmentScores {
    clauses: Vec<ScoredClause>,
    vectors: Arc<[Vector]>,
    /// Scores of the tools, in ascending order of the tools.
    tools: Vec<(u32, ToolRequestScore)>,
    /// Whether `tools` has only the likely tools. A score of another tool is computed when it is needed.
    is_partial: bool,
    /// Tools with the highest scores, and the scores, best first.
    pub(super) best: Vec<(f32, u32)>,
    /// Bit set of the clauses that contain a term.
    words: HashMap<Term, u32>,
}

#[derive(Debug, Clone)]
struct ScoredClause {
    query: ClauseQuery,
    /// Highest score of a tool.
    most: f32,
    /// Scores and tools that the clause refers to clearly, best first.
    tools: Vec<(f32, u32)>,
}

/// Score of a request for one tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToolRequestScore {
    /// Clause with the highest score for the tool.
    pub(super) clause: usize,
    /// Score of that clause, 0 to 1.
    pub(super) fit: f32,
    /// Highest score relative to the best tool of the same clause, 0 to 1.
    pub(super) lead: f32,
}

impl ToolRequestScore {
    fn add(&mut self, clause: usize, fit: f32, lead: f32) {
        self.lead = self.lead.max(lead);
        if fit > self.fit {
            (self.clause, self.fit) = (clause, fit);
        }
    }
}

impl SegmentScores {
    /// Scores the tools of a segment for a request: all without `limits`. At most `keep` best tools are kept.
    pub(super) fn new(
        segment: &Segment,
        request: &Request,
        vectors: &Arc<[Vector]>,
        limits: Option<ClauseLimits<'_>>,
    ) -> Self {
        let mut scores = Self { vectors: Arc::clone(vectors), is_partial: limits.is_some(), ..Self::default() };
        let mut fits_of_clauses: Vec<(u32, usize, f32)> = Vec::new();
        for (number, terms) in request.clauses().enumerate().take(MAX_CLAUSES) {
            let vector = vectors.get(number);
            let (query, scored) = ClauseQuery::new(segment, terms, vector, limits);
            for (term, _) in &query.terms {
                *scores.words.entry(*term).or_default() |= 1 << number;
            }
            let fits = query.fits(segment, vector, &scored);
            let clear = query.without_unknown_values(segment, request.values(number));
            let tools = match &clear {
                Some(query) => clear_tools(query.fits(segment, vector, &scored)),
                None => clear_tools(fits.clone()),
            };
            fits_of_clauses.extend(fits.iter().map(|(fit, tool)| (*tool, number, *fit)));
            scores.clauses.push(ScoredClause { query, most: highest_fit(&fits), tools });
        }
        // The tools of each clause are in order, which a stable sort uses.
        fits_of_clauses.sort_by_key(|(tool, ..)| *tool);
        for of_tool in fits_of_clauses.chunk_by(|left, right| left.0 == right.0) {
            scores.tools.extend(scores.of_tool(of_tool));
        }
        scores.best = scores.tools.iter().map(|(tool, score)| (score.lead + score.fit, *tool)).collect();
        keep_best(&mut scores.best, LIKELY);
        scores
    }

    /// Combines the scores of a tool in the clauses.
    fn of_tool(&self, fits: &[(u32, usize, f32)]) -> Option<(u32, ToolRequestScore)> {
        let (tool, first, _) = fits.first()?;
        let mut score = ToolRequestScore { clause: *first, fit: 0.0, lead: 0.0 };
        for (_, clause, fit) in fits {
            score.add(*clause, *fit, self.clauses.get(*clause).map_or(0.0, |clause| clause.lead(*fit)));
        }
        Some((*tool, score))
    }

    /// Returns the score of a tool of the segment; `None` if it has nothing in common with the request.
    pub(super) fn tool(&self, segment: &Segment, tool: u32) -> Option<ToolRequestScore> {
        if !self.is_partial {
            let at = self.tools.binary_search_by_key(&tool, |(tool, _)| *tool).ok()?;
            return self.tools.get(at).map(|(_, score)| *score);
        }
        let fits = self
            .clauses
            .iter()
            .enumerate()
            .map(|(number, clause)| (tool, number, clause.query.fit(segment, self.vectors.get(number), tool)));
        let fits: Vec<(u32, usize, f32)> = fits.filter(|(.., fit)| *fit > 0.0).collect();
        self.of_tool(&fits).map(|(_, score)| score)
    }

    /// Returns the best tools of a clause with their scores.
    pub(super) fn clause_tools(&self, clause: usize) -> &[(f32, u32)] {
        self.clauses.get(clause).map_or(&[], |clause| &clause.tools)
    }

    /// Returns the number of clauses.
    pub(super) fn clause_count(&self) -> usize {
        self.clauses.len()
    }

    /// Returns the weighted share of a name's terms in the clause that contains most of them; 0 if that clause is
    /// `except`.
    pub(super) fn best_clause_share(&self, name: &[(Term, f32)], except: Option<usize>) -> f32 {
        let in_clauses: Vec<(u32, f32)> =
            name.iter().filter_map(|(term, rarity)| Some((*self.words.get(term)?, *rarity))).collect();
        let all = in_clauses.iter().fold(0, |all, (clauses, _)| all | clauses);
        if all == 0 {
            return 0.0;
        }
        // Only the best clause counts. If it is the argument's own clause, the share is 0.
        let mut most = (0.0, None);
        for clause in (0..self.clauses.len()).filter(|clause| all >> clause & 1 == 1) {
            let shared = in_clauses.iter().filter(|(clauses, _)| clauses >> clause & 1 == 1);
            let shared: f32 = shared.map(|(_, rarity)| rarity).sum();
            if shared > most.0 {
                most = (shared, Some(clause));
            }
        }
        if most.1 == except { 0.0 } else { most.0 / sum(name) }
    }

    /// Returns the weighted share of a name's terms in one clause.
    pub(super) fn clause_share(&self, name: &[(Term, f32)], clause: usize) -> f32 {
        let all = sum(name);
        let shared = self.clauses.get(clause).map_or(0.0, |clause| shared(name, &clause.query.terms));
        if all > 0.0 { shared / all } else { 0.0 }
    }
}

impl ScoredClause {
    /// Returns a score relative to the best tool of the clause.
    fn lead(&self, fit: f32) -> f32 {
        // A tool that was not among the scored ones can have a higher score.
        let most = self.most.max(fit);
        fit / most * (most / CLEAR).min(1.0)
    }
}

/// Returns the tools that a clause clearly refers to. Literal values that occur in no tool's text are ignored here:
/// "for Jack from 9 to 10" does not indicate a tool for room bookings. They do count in the comparison of tools, where
/// they separate clauses of different specificity.
fn clear_tools(mut fits: Vec<(f32, u32)>) -> Vec<(f32, u32)> {
    if highest_fit(&fits) < CLEAR {
        return Vec::new();
    }
    keep_best(&mut fits, MAX_CLAUSE_TOOLS);
    fits
}

fn highest_fit(fits: &[(f32, u32)]) -> f32 {
    fits.iter().map(|(fit, _)| *fit).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::tool::ToolShape;
    use super::*;

    /// Returns 3,000 tools: 30 verbs for each of 100 things. Every word of a verb is in 100 descriptions, that of a thing
    /// in 30, and "record" in all.
    fn segment() -> Segment {
        let texts: Vec<(String, String)> = (0..3_000)
            .map(|at| {
                let (verb, thing) = (format!("verb{}", letters(at % 30)), format!("thing{}", letters(at / 30)));
                (format!("{verb}_{thing}"), format!("Does {verb} with the {thing} of a record"))
            })
            .collect();
        let shape = |(name, description): &'static (String, String)| ToolShape {
            name,
            description,
            parameters: &Value::Null,
            outputs: &[],
            http: None,
            links: &[],
        };
        let texts: &'static [(String, String)] = Box::leak(texts.into_boxed_slice());
        Segment::build(&texts.iter().map(shape).collect::<Vec<_>>())
    }

    /// Returns a number in letters, because digits are words of their own.
    fn letters(number: usize) -> String {
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
    }

    fn limits(offered: &[u32]) -> ClauseLimits<'_> {
        ClauseLimits { postings: 500, tools: 32, offered }
    }

    #[test]
    fn tools_with_rare_words_score_as_in_a_complete_comparison() {
        let segment = segment();
        for text in ["verbbc thingeg of the record", "verbd the thingc, then verbe the thingc", "thingfa record"] {
            let request = Request::parse(text);
            let complete = SegmentScores::new(&segment, &request, &Arc::default(), None);
            let limited = SegmentScores::new(&segment, &request, &Arc::default(), Some(limits(&[])));
            assert!(limited.tools.len() <= 2 * 32 && complete.tools.len() > limited.tools.len(), "{text}");
            assert_eq!(limited.best.first(), complete.best.first(), "{text}");
            for clause in 0..complete.clause_count() {
                let best = |scores: &SegmentScores| scores.clause_tools(clause).first().copied();
                assert_eq!(best(&limited), best(&complete), "{text}");
            }
            for tool in 0..3_000 {
                assert_eq!(limited.tool(&segment, tool), complete.tool(&segment, tool), "{text}: {tool}");
            }
        }
    }

    #[test]
    fn common_words_select_few_tools_beside_the_offered_ones() {
        let segment = segment();
        let request = Request::parse("record");
        let scores = SegmentScores::new(&segment, &request, &Arc::default(), Some(limits(&[2_900, 2_999])));
        let tools: Vec<u32> = scores.tools.iter().map(|(tool, _)| *tool).collect();
        assert_eq!(tools.len(), 32 + 2);
        assert!(tools.ends_with(&[2_900, 2_999]), "{tools:?}");
    }
}
