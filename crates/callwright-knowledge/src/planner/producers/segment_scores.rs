//! Scores the tools of one segment against a request.

use std::collections::HashMap;

use super::request::{MAX_CLAUSES, Request};
use super::segment::Segment;
use super::vocabulary::{WeightedTerms, shared, sum};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::Term;

/// Score, 0 to 1, that the best tool of a clause needs to count in full. Below it, the clause refers to no tool
/// clearly.
const CLEAR: f32 = 0.3;

/// Maximum number of best tools kept per clause. More than one is kept because some may be excluded later.
const MAX_CLAUSE_TOOLS: usize = 8;

/// Standard deviations above the mean cosine from which on a tool is semantically similar.
const MARGIN: f32 = 1.0;

/// Weight of semantic similarity relative to the share of words.
const MEANING: f32 = 1.0;

/// Scores of a request for the tools of a segment.
#[derive(Debug, Clone, Default)]
pub(super) struct SegmentScores {
    tools: HashMap<u32, ToolRequestScore>,
    /// Tools with the highest scores, best first.
    best: Vec<u32>,
    clauses: Vec<WeightedTerms>,
    /// Per clause, the scores and tools that it refers to clearly, best first.
    clause_tools: Vec<Vec<(f32, u32)>>,
    /// Bit set of the clauses that contain a term.
    words: HashMap<Term, u32>,
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

impl SegmentScores {
    /// Scores the tools of a segment for a request. At most `keep` best tools are kept.
    pub(super) fn new(segment: &Segment, request: &Request, vectors: &[Vector], keep: usize) -> Self {
        let clauses: Vec<WeightedTerms> = request.clauses().map(|terms| segment.vocabulary().weigh(terms)).collect();
        let mut words: HashMap<Term, u32> = HashMap::new();
        let mut tools: HashMap<u32, ToolRequestScore> = HashMap::new();
        let mut clause_tools = Vec::with_capacity(clauses.len().min(MAX_CLAUSES));
        for (number, clause) in clauses.iter().enumerate().take(MAX_CLAUSES) {
            clause.iter().for_each(|(term, _)| *words.entry(*term).or_default() |= 1 << number);
            let fits = tool_fits(segment, clause, vectors.get(number));
            let most = highest_fit(&fits);
            clause_tools.push(clear_tools(segment, clause, request.values(number), vectors.get(number), &fits));
            for (tool, fit) in fits {
                let lead = fit / most * (most / CLEAR).min(1.0);
                let score = tools.entry(tool).or_insert(ToolRequestScore { clause: number, fit: 0.0, lead: 0.0 });
                score.lead = score.lead.max(lead);
                if fit > score.fit {
                    (score.clause, score.fit) = (number, fit);
                }
            }
        }
        let mut best: Vec<(f32, u32)> = tools.iter().map(|(tool, score)| (score.lead + score.fit, *tool)).collect();
        best.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        Self { tools, best: best.into_iter().take(keep).map(|(_, tool)| tool).collect(), clauses, clause_tools, words }
    }

    pub(super) fn tool(&self, tool: u32) -> Option<&ToolRequestScore> {
        self.tools.get(&tool)
    }

    /// Returns the best tools of each clause with their scores.
    pub(super) fn clause_tools(&self) -> &[Vec<(f32, u32)>] {
        &self.clause_tools
    }

    pub(super) fn best(&self) -> &[u32] {
        &self.best
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
        let shared = self.clauses.get(clause).map_or(0.0, |clause| shared(name, clause));
        if all > 0.0 { shared / all } else { 0.0 }
    }
}

/// Returns the tools that a clause clearly refers to. Literal values that occur in no tool's text are ignored here:
/// "for Jack from 9 to 10" does not indicate a tool for room bookings. They do count in the comparison of tools, where
/// they separate clauses of different specificity.
fn clear_tools(
    segment: &Segment,
    clause: &[(Term, f32)],
    values: &[Term],
    vector: Option<&Vector>,
    fits: &HashMap<u32, f32>,
) -> Vec<(f32, u32)> {
    let mut words = clause.to_vec();
    words.retain(|(term, _)| values.binary_search(term).is_err() || !segment.with_word(*term).is_empty());
    if words.len() == clause.len() {
        return if highest_fit(fits) >= CLEAR { best_tools(fits) } else { Vec::new() };
    }
    let fits = tool_fits(segment, &words, vector);
    if highest_fit(&fits) >= CLEAR { best_tools(&fits) } else { Vec::new() }
}

/// Returns the score of each tool for a clause, by words and semantic similarity.
fn tool_fits(segment: &Segment, clause: &[(Term, f32)], vector: Option<&Vector>) -> HashMap<u32, f32> {
    let mut fits = lexical_fits(segment, clause);
    if let Some(vector) = vector {
        add_meaning(segment, vector, &mut fits);
    }
    fits
}

fn highest_fit(fits: &HashMap<u32, f32>) -> f32 {
    fits.values().copied().fold(0.0, f32::max)
}

fn best_tools(fits: &HashMap<u32, f32>) -> Vec<(f32, u32)> {
    let mut best: Vec<(f32, u32)> = fits.iter().map(|(tool, fit)| (*fit, *tool)).collect();
    best.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    best.truncate(MAX_CLAUSE_TOOLS);
    best
}

/// Adds the semantic similarity of each tool to a clause, as far as it exceeds the average, because any two embeddings
/// have some similarity.
fn add_meaning(segment: &Segment, clause: &Vector, fits: &mut HashMap<u32, f32>) {
    let cosines: Vec<f32> = segment.vectors().iter().map(|tool| tool.cosine(clause)).collect();
    let usual = cosines.iter().sum::<f32>() / cosines.len().max(1) as f32;
    let spread = cosines.iter().map(|cosine| (cosine - usual).powi(2)).sum::<f32>() / cosines.len().max(1) as f32;
    let closer = usual + MARGIN * spread.sqrt();
    for (at, cosine) in (0_u32..).zip(cosines) {
        if cosine > closer {
            *fits.entry(at).or_default() += MEANING * (cosine - closer);
        }
    }
}

/// Returns the lexical score of each tool that shares words with a clause: the geometric mean of the covered share of
/// the tool's text and the covered share of the clause. Either share alone would favour short or long descriptions.
fn lexical_fits(segment: &Segment, clause: &[(Term, f32)]) -> HashMap<u32, f32> {
    let mut found: HashMap<u32, (f32, f32)> = HashMap::new();
    for (term, rarity) in clause {
        for (tool, weight) in segment.with_word(*term) {
            let both = found.entry(*tool).or_default();
            both.0 += weight;
            both.1 += rarity;
        }
    }
    let clause_sum = sum(clause);
    let fits = found.into_iter().map(|(tool, (tool_weight, clause_weight))| {
        let text = segment.tool(tool as usize).map_or(0.0, |tool| tool.text_sum);
        let fit = if text > 0.0 && clause_sum > 0.0 {
            (tool_weight / text * (clause_weight / clause_sum)).sqrt()
        } else {
            0.0
        };
        (tool, fit)
    });
    fits.filter(|(_, fit)| *fit > 0.0).collect()
}
