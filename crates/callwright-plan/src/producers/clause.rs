//! Scores how well a clause of a request fits the tools of a segment.

use super::segment::{Segment, keep_best};
use super::vocabulary::{WeightedTerms, sum};
use callwright_search::embedding::{Vector, dot};
use callwright_search::retrieval::Term;

/// Number of tools whose cosines represent those of all tools of a segment that is not scored entirely. The standard
/// error of their standard deviation is 6 %.
const SAMPLED_TOOLS: usize = 128;

/// Clause with the weights that its words have in a segment.
#[derive(Debug, Clone, Default)]
pub(super) struct ClauseQuery {
    /// Terms with their weights, in ascending order.
    pub(super) terms: WeightedTerms,
    sum: f32,
    /// Cosine above which a tool is semantically similar; `None` without vectors.
    similar: Option<f32>,
}

/// Tools of a segment that are scored for a clause.
#[derive(Debug)]
pub(super) enum ScoredTools {
    /// All, with their cosines; no cosines without vectors.
    All(Vec<f32>),
    /// Only these, in ascending order.
    Only(Vec<u32>),
}

/// Limits of the work for a clause in a segment that is not scored entirely.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClauseLimits<'a> {
    /// Maximum number of entries that are read from the lists of tools per word.
    pub(super) postings: usize,
    /// Maximum number of tools that are selected by words.
    pub(super) tools: usize,
    /// Tools that are scored in any case, in ascending order.
    pub(super) offered: &'a [u32],
}

impl ClauseQuery {
    /// Weighs the words of a clause, and selects the tools to score: all without `limits`.
    pub(super) fn new(
        segment: &Segment,
        terms: &[Term],
        vector: Option<&Vector>,
        limits: Option<ClauseLimits<'_>>,
    ) -> (Self, ScoredTools) {
        let terms = segment.vocabulary.weigh(terms);
        let mut query = Self { sum: sum(&terms), terms, similar: None };
        let Some(limits) = limits else {
            let cosines = vector.map(|vector| cosines(segment.vectors().iter(), vector)).unwrap_or_default();
            query.similar = similar(&cosines);
            return (query, ScoredTools::All(cosines));
        };
        let step = segment.len().div_ceil(SAMPLED_TOOLS).max(1);
        query.similar = vector.and_then(|vector| similar(&cosines(segment.vectors().iter().step_by(step), vector)));
        let mut tools = query.tools_by_words(segment, limits);
        tools.extend(limits.offered);
        tools.sort_unstable();
        tools.dedup();
        (query, ScoredTools::Only(tools))
    }

    /// Returns the clause without those `values` that occur in no tool's text; `None` if it has no such values.
    pub(super) fn without_unknown_values(&self, segment: &Segment, values: &[Term]) -> Option<Self> {
        let mut terms = self.terms.to_vec();
        terms.retain(|(term, _)| values.binary_search(term).is_err() || !segment.with_word(*term).is_empty());
        (terms.len() < self.terms.len()).then(|| Self { sum: sum(&terms), terms: terms.into(), similar: self.similar })
    }

    /// Returns the positive scores of tools, in ascending order of the tools.
    pub(super) fn fits(&self, segment: &Segment, vector: Option<&Vector>, scored: &ScoredTools) -> Vec<(f32, u32)> {
        let mut fits: Vec<(f32, u32)> = match scored {
            ScoredTools::All(cosines) => self.fits_of_all(segment, cosines),
            ScoredTools::Only(tools) => tools.iter().map(|tool| (self.fit(segment, vector, *tool), *tool)).collect(),
        };
        fits.retain(|(fit, _)| *fit > 0.0);
        fits
    }

    /// Returns the score of a tool, by words and semantic similarity.
    pub(super) fn fit(&self, segment: &Segment, vector: Option<&Vector>, tool: u32) -> f32 {
        let meaning = vector.filter(|_| self.similar.is_some()).and_then(|vector| {
            let of_tool = segment.vectors().get(tool as usize)?;
            Some(self.meaning(dot(of_tool.components(), vector.components())))
        });
        self.words_fit(segment, tool) + meaning.unwrap_or_default()
    }

    fn fits_of_all(&self, segment: &Segment, cosines: &[f32]) -> Vec<(f32, u32)> {
        let mut weights = vec![(0.0, 0.0); segment.len()];
        for (term, rarity) in &self.terms {
            for (tool, weight) in segment.with_word(*term) {
                if let Some((of_tool, of_clause)) = weights.get_mut(*tool as usize) {
                    *of_tool += weight;
                    *of_clause += rarity;
                }
            }
        }
        let fits = (0_u32..).zip(weights).map(|(tool, (of_tool, of_clause))| {
            let words = if of_clause > 0.0 { self.share(segment, tool, of_tool, of_clause) } else { 0.0 };
            let meaning = cosines.get(tool as usize).map_or(0.0, |cosine| self.meaning(*cosine));
            (words + meaning, tool)
        });
        fits.collect()
    }

    fn words_fit(&self, segment: &Segment, tool: u32) -> f32 {
        let Some(features) = segment.tool(tool as usize) else { return 0.0 };
        let (mut of_tool, mut of_clause) = (0.0, 0.0);
        for (term, rarity) in &self.terms {
            if let Ok(at) = features.text.binary_search_by_key(term, |(term, _)| *term) {
                of_tool += features.text.get(at).map_or(0.0, |(_, weight)| *weight);
                of_clause += rarity;
            }
        }
        self.share(segment, tool, of_tool, of_clause)
    }

    /// Returns the geometric mean of the covered share of the tool's text and the covered share of the clause. Either
    /// share alone would favour short or long descriptions.
    fn share(&self, segment: &Segment, tool: u32, of_tool: f32, of_clause: f32) -> f32 {
        let text = segment.tool(tool as usize).map_or(0.0, |tool| tool.text_sum);
        if text > 0.0 && self.sum > 0.0 { (of_tool / text * (of_clause / self.sum)).sqrt() } else { 0.0 }
    }

    /// Returns the semantic similarity as far as it exceeds the average, because any two embeddings have some
    /// similarity.
    fn meaning(&self, cosine: f32) -> f32 {
        self.similar.filter(|similar| cosine > *similar).map_or(0.0, |similar| cosine - similar)
    }

    /// Returns the best tools among those that share a rare word with the clause. The lists of the rarest words are read
    /// first. A list that exceeds the limit contributes its first tools if no shorter one has any.
    fn tools_by_words(&self, segment: &Segment, limits: ClauseLimits<'_>) -> Vec<u32> {
        let mut lists: Vec<&[(u32, f32)]> = self.terms.iter().map(|(term, _)| segment.with_word(*term)).collect();
        lists.sort_by_key(|list| list.len());
        let mut tools: Vec<u32> = Vec::new();
        for list in lists {
            let left = limits.postings.saturating_sub(tools.len());
            if list.len() > left && !tools.is_empty() {
                break;
            }
            tools.extend(list.iter().take(left).map(|(tool, _)| *tool));
        }
        tools.sort_unstable();
        tools.dedup();
        let mut fits: Vec<(f32, u32)> = tools.into_iter().map(|tool| (self.words_fit(segment, tool), tool)).collect();
        keep_best(&mut fits, limits.tools);
        fits.into_iter().map(|(_, tool)| tool).collect()
    }
}

fn cosines<'a>(tools: impl Iterator<Item = &'a Vector>, clause: &Vector) -> Vec<f32> {
    tools.map(|tool| dot(tool.components(), clause.components())).collect()
}

/// Returns the cosine from which on a tool is semantically similar; `None` if no tool has a vector.
fn similar(cosines: &[f32]) -> Option<f32> {
    if cosines.is_empty() {
        return None;
    }
    let count = cosines.len() as f32;
    let usual = cosines.iter().sum::<f32>() / count;
    let spread = cosines.iter().map(|cosine| (cosine - usual).powi(2)).sum::<f32>() / count;
    Some(usual + spread.sqrt())
}
