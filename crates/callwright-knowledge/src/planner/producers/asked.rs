//! What a request asks for, among the tools of one segment.

use std::collections::HashMap;

use super::request::{MAX_CLAUSES, Request};
use super::segment::Segment;
use super::vocabulary::{Weighted, shared, sum};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::Term;

/// How well a clause has to ask for the tool that it asks for most, 0 to 1, before that counts in full: below, it asks for none of them.
const CLEAR: f32 = 0.3;

/// Tools that are kept for each clause, of which one may ask for it most: some of the others may not be called.
const FOREMOST: usize = 8;

/// Standard deviations above the mean from which on a tool is close in meaning.
const MARGIN: f32 = 1.0;

/// How much closeness in meaning says, against the share of words.
const MEANING: f32 = 1.0;

/// How well a request asks for the tools of a segment.
#[derive(Debug, Clone, Default)]
pub(super) struct AskedSegment {
    tools: HashMap<u32, Asking>,
    /// The tools that it asks for most, best first.
    best: Vec<u32>,
    clauses: Vec<Weighted>,
    /// For each clause that clearly asks for something, how well it asks for the tools that it asks for most, best first.
    foremost: Vec<Vec<(f32, u32)>>,
    /// The clauses in which a word stands, a bit for each.
    words: HashMap<Term, u32>,
}

/// How well a request asks for one tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Asking {
    /// The clause that asks for it most.
    pub(super) clause: usize,
    /// How well that clause does, 0 to 1.
    pub(super) fit: f32,
    /// The most that it has of what any tool has of a clause, 0 to 1.
    pub(super) lead: f32,
}

impl AskedSegment {
    /// Reads what a request asks for. At most `keep` tools are kept as the best.
    pub(super) fn of(segment: &Segment, request: &Request, vectors: &[Vector], keep: usize) -> Self {
        let clauses: Vec<Weighted> = request.clauses().map(|terms| segment.vocabulary().weigh(terms)).collect();
        let mut words: HashMap<Term, u32> = HashMap::new();
        let mut tools: HashMap<u32, Asking> = HashMap::new();
        let mut foremost = Vec::with_capacity(clauses.len().min(MAX_CLAUSES));
        for (number, clause) in clauses.iter().enumerate().take(MAX_CLAUSES) {
            clause.iter().for_each(|(term, _)| *words.entry(*term).or_default() |= 1 << number);
            let fits = fits_of(segment, clause, vectors.get(number));
            let most = most_of(&fits);
            foremost.push(foremost_of(segment, clause, request.values(number), vectors.get(number), &fits));
            for (tool, fit) in fits {
                let lead = fit / most * (most / CLEAR).min(1.0);
                let asking = tools.entry(tool).or_insert(Asking { clause: number, fit: 0.0, lead: 0.0 });
                asking.lead = asking.lead.max(lead);
                if fit > asking.fit {
                    (asking.clause, asking.fit) = (number, fit);
                }
            }
        }
        let mut best: Vec<(f32, u32)> = tools.iter().map(|(tool, asking)| (asking.lead + asking.fit, *tool)).collect();
        best.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        Self { tools, best: best.into_iter().take(keep).map(|(_, tool)| tool).collect(), clauses, foremost, words }
    }

    pub(super) fn of_tool(&self, tool: u32) -> Option<&Asking> {
        self.tools.get(&tool)
    }

    /// For each clause, how well it asks for the tools that it asks for most.
    pub(super) fn foremost(&self) -> &[Vec<(f32, u32)>] {
        &self.foremost
    }

    pub(super) fn best(&self) -> &[u32] {
        &self.best
    }

    /// The share of a name that one clause has, the most of all clauses but `except`.
    pub(super) fn says(&self, name: &[(Term, f32)], except: Option<usize>) -> f32 {
        let known: Vec<(u32, f32)> =
            name.iter().filter_map(|(term, rarity)| Some((*self.words.get(term)?, *rarity))).collect();
        let all = known.iter().fold(0, |all, (clauses, _)| all | clauses);
        if all == 0 {
            return 0.0;
        }
        let of_clause = |clause: usize| {
            let said = known.iter().filter(|(clauses, _)| clauses >> clause & 1 == 1);
            said.map(|(_, rarity)| rarity).sum::<f32>()
        };
        // The clause that has most of it says it; where that is the argument's own, nothing else does.
        let mut most = (0.0, None);
        for clause in (0..self.clauses.len()).filter(|clause| all >> clause & 1 == 1) {
            let said = of_clause(clause);
            if said > most.0 {
                most = (said, Some(clause));
            }
        }
        if most.1 == except { 0.0 } else { most.0 / sum(name) }
    }

    /// The share of a name that a clause has.
    pub(super) fn says_in(&self, name: &[(Term, f32)], clause: usize) -> f32 {
        let all = sum(name);
        let said = self.clauses.get(clause).map_or(0.0, |clause| shared(name, clause));
        if all > 0.0 { said / all } else { 0.0 }
    }
}

/// The tools that a clause clearly asks for. Values that no tool has a word of ask for none: "for Jack from 9 to 10" says nothing about which tool
/// books a room. (They count where tools are compared: there they tell clauses apart that say more or less.)
fn foremost_of(
    segment: &Segment,
    clause: &[(Term, f32)],
    values: &[Term],
    vector: Option<&Vector>,
    fits: &HashMap<u32, f32>,
) -> Vec<(f32, u32)> {
    let asks = |(term, _): &&(Term, f32)| values.binary_search(term).is_err() || !segment.with_word(*term).is_empty();
    let asking: Vec<(Term, f32)> = clause.iter().filter(asks).copied().collect();
    if asking.len() == clause.len() {
        return if most_of(fits) >= CLEAR { best_of(fits) } else { Vec::new() };
    }
    let fits = fits_of(segment, &asking, vector);
    if most_of(&fits) >= CLEAR { best_of(&fits) } else { Vec::new() }
}

/// How well a clause asks for each tool, by its words and what it means.
fn fits_of(segment: &Segment, clause: &[(Term, f32)], vector: Option<&Vector>) -> HashMap<u32, f32> {
    let mut fits = fits(segment, clause);
    if let Some(vector) = vector {
        add_meaning(segment, vector, &mut fits);
    }
    fits
}

fn most_of(fits: &HashMap<u32, f32>) -> f32 {
    fits.values().copied().fold(0.0, f32::max)
}

fn best_of(fits: &HashMap<u32, f32>) -> Vec<(f32, u32)> {
    let mut best: Vec<(f32, u32)> = fits.iter().map(|(tool, fit)| (*fit, *tool)).collect();
    best.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    best.truncate(FOREMOST);
    best
}

/// Adds how close in meaning each tool is to a clause, as far as it is closer than most: the vectors of any two texts have something in common.
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

/// How well a clause asks for each tool with which it has words in common: the geometric mean of the share of the tool's text that it has
/// and of the share of itself that the tool has. The one alone would favour tools with short texts, the other those with long ones.
fn fits(segment: &Segment, clause: &[(Term, f32)]) -> HashMap<u32, f32> {
    let mut found: HashMap<u32, (f32, f32)> = HashMap::new();
    for (term, rarity) in clause {
        for (tool, weight) in segment.with_word(*term) {
            let both = found.entry(*tool).or_default();
            both.0 += weight;
            both.1 += rarity;
        }
    }
    let asked = sum(clause);
    let fit = |(tool, (of_tool, of_clause)): (u32, (f32, f32))| {
        let text = segment.tool(tool as usize).map_or(0.0, |tool| tool.text_sum);
        let fit = if text > 0.0 && asked > 0.0 { (of_tool / text * (of_clause / asked)).sqrt() } else { 0.0 };
        (tool, fit)
    };
    found.into_iter().map(fit).filter(|(_, fit)| *fit > 0.0).collect()
}
