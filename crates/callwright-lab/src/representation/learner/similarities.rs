//! Similarities of all samples and tools, stored in columns so that a change of one tool affects its own columns only.

use callwright_search::embedding::Vector;
use callwright_search::retrieval::{
    CollectionStatistics, FieldWeights, Fusion, QueryTerms, ToolDocument, ToolText, soft_sum,
};
use callwright_types::representation::Pattern;

/// Tools with their patterns and their similarities to all samples.
#[derive(Debug, Clone)]
pub(super) struct SampleSimilarities {
    /// Parameters that combine similarities to scores.
    pub(super) fusion: Fusion,
    columns: Vec<ToolColumns>,
    texts: Vec<ToolText>,
}

/// Similarities of a tool to all samples.
#[derive(Debug, Clone, Default)]
struct ToolColumns {
    /// BM25 scores of the tool's document.
    words: Vec<f32>,
    /// Cosine similarities of its description; empty without embeddings.
    own: Vec<f32>,
    /// Cosine similarities of its patterns.
    patterns: Vec<Vec<f32>>,
}

#[derive(Debug, Clone)]
pub(super) struct EmbeddedPattern {
    pub(super) pattern: Pattern,
    /// `None` without embeddings.
    pub(super) vector: Option<Vector>,
}

/// Samples, which do not change.
#[derive(Debug, Clone, Default)]
pub(super) struct SampleQueries {
    /// Texts of the requests.
    pub(super) queries: Vec<String>,
    /// Their embeddings; empty without an embedder.
    pub(super) vectors: Vec<Vector>,
}

impl SampleSimilarities {
    /// Creates the similarities of tools without patterns, from the embeddings of their descriptions. Word scores are
    /// computed once all patterns are added.
    pub(super) fn new(tools: &[ToolText], own: &[Vector], samples: &SampleQueries, fusion: Fusion) -> Self {
        let texts = tools.iter().map(|tool| ToolText { patterns: Vec::new(), ..tool.clone() });
        let columns = (0..tools.len()).map(|at| ToolColumns {
            own: own.get(at).map_or_else(Vec::new, |vector| cosines(vector, samples)),
            ..ToolColumns::default()
        });
        Self { fusion, columns: columns.collect(), texts: texts.collect() }
    }

    pub(super) fn tools(&self) -> usize {
        self.texts.len()
    }

    /// Returns a tool's texts, patterns included.
    pub(super) fn text(&self, tool: usize) -> Option<&ToolText> {
        self.texts.get(tool)
    }

    pub(super) fn patterns(&self, tool: usize) -> &[Pattern] {
        self.texts.get(tool).map_or(&[], |text| &text.patterns)
    }

    /// Adds patterns to a tool. Word scores are updated later for all tools ([`SampleSimilarities::update_word_scores`]).
    pub(super) fn add(&mut self, tool: usize, added: &[EmbeddedPattern], samples: &SampleQueries) {
        let (Some(text), Some(columns)) = (self.texts.get_mut(tool), self.columns.get_mut(tool)) else { return };
        for EmbeddedPattern { pattern, vector } in added {
            text.patterns.push(pattern.clone());
            columns.patterns.push(vector.as_ref().map_or_else(Vec::new, |vector| cosines(vector, samples)));
        }
    }

    /// Returns a copy of one tool at position 0, for changes that do not affect the others.
    pub(super) fn clone_tool(&self, tool: usize) -> Self {
        Self {
            fusion: self.fusion,
            columns: self.columns.get(tool).cloned().into_iter().collect(),
            texts: self.texts.get(tool).cloned().into_iter().collect(),
        }
    }

    /// Replaces a tool by a copy from [`SampleSimilarities::clone_tool`].
    pub(super) fn replace_tool(&mut self, tool: usize, mut one: Self) {
        if let (Some(text), Some(columns)) = (self.texts.get_mut(tool), self.columns.get_mut(tool))
            && let (Some(new_text), Some(new_columns)) = (one.texts.pop(), one.columns.pop())
        {
            (*text, *columns) = (new_text, new_columns);
        }
    }

    /// Keeps the first `count` patterns of a tool.
    pub(super) fn truncate_patterns(&mut self, tool: usize, count: usize) {
        if let (Some(text), Some(columns)) = (self.texts.get_mut(tool), self.columns.get_mut(tool)) {
            text.patterns.truncate(count);
            columns.patterns.truncate(count);
        }
    }

    /// Sets the weights of all patterns, in the order of tools and patterns.
    pub(super) fn set_weights(&mut self, weights: impl IntoIterator<Item = f32>) {
        let patterns = self.texts.iter_mut().flat_map(|text| &mut text.patterns);
        patterns.zip(weights).for_each(|(pattern, weight)| pattern.weight = weight);
    }

    /// Returns the weights of all patterns, in the order of tools and patterns.
    pub(super) fn weights(&self) -> impl Iterator<Item = f32> {
        self.texts.iter().flat_map(|text| &text.patterns).map(|pattern| pattern.weight)
    }

    /// Recomputes the word scores of all tools with their current patterns.
    pub(super) fn update_word_scores(&mut self, samples: &SampleQueries) {
        let documents = self.documents();
        let (statistics, queries) = statistics(&documents, samples);
        for (columns, document) in self.columns.iter_mut().zip(&documents) {
            columns.words = queries.iter().map(|query| statistics.score(query, document)).collect();
        }
    }

    /// Recomputes the word scores of one tool with the given collection statistics.
    pub(super) fn update_word_scores_of(
        &mut self,
        tool: usize,
        queries: &[QueryTerms],
        statistics: &CollectionStatistics,
    ) {
        if let (Some(text), Some(columns)) = (self.texts.get(tool), self.columns.get_mut(tool)) {
            let document = document(text);
            columns.words = queries.iter().map(|query| statistics.score(query, &document)).collect();
        }
    }

    /// Returns the collection statistics of the current tools and the samples' query terms.
    pub(super) fn statistics(&self, samples: &SampleQueries) -> (CollectionStatistics, Vec<QueryTerms>) {
        statistics(&self.documents(), samples)
    }

    fn documents(&self) -> Vec<ToolDocument> {
        self.texts.iter().map(document).collect()
    }

    /// Returns the scores of a tool for some samples.
    pub(super) fn scores(&self, tool: usize, subset: &[usize]) -> Vec<f32> {
        let meanings = self.meanings(tool, subset).into_iter();
        meanings.zip(self.words(tool, subset)).map(|(meaning, words)| self.fusion.score(meaning, words)).collect()
    }

    /// Returns the semantic scores of a tool for some samples.
    pub(super) fn meanings(&self, tool: usize, subset: &[usize]) -> Vec<f32> {
        let (Some(columns), Some(text)) = (self.columns.get(tool), self.texts.get(tool)) else { return Vec::new() };
        let mut sums = exp_similarities(&columns.own, self.fusion.sharpness, subset);
        for (pattern, cosines) in text.patterns.iter().zip(&columns.patterns) {
            let similarities = exp_similarities(cosines, self.fusion.sharpness, subset);
            sums.iter_mut().zip(similarities).for_each(|(sum, similarity)| *sum += pattern.weight * similarity);
        }
        let weights = std::iter::once(1.0).chain(text.patterns.iter().map(|pattern| pattern.weight));
        let normaliser = soft_sum(0.0, weights.map(|weight| (0.0, weight)));
        sums.into_iter().map(|sum| sum.max(f32::MIN_POSITIVE).ln() - normaliser).collect()
    }

    /// Returns `exp(sharpness · cosine)` of some samples and a tool's description.
    pub(super) fn own_similarity(&self, tool: usize, subset: &[usize]) -> Vec<f32> {
        self.columns
            .get(tool)
            .map_or_else(Vec::new, |columns| exp_similarities(&columns.own, self.fusion.sharpness, subset))
    }

    /// Returns the BM25 scores of a tool for some samples.
    pub(super) fn words(&self, tool: usize, subset: &[usize]) -> Vec<f32> {
        let Some(columns) = self.columns.get(tool) else { return Vec::new() };
        subset.iter().map(|sample| columns.words.get(*sample).copied().unwrap_or_default()).collect()
    }

    /// Returns, for each pattern of all tools in order, its tool and `exp(sharpness · cosine)` of some samples.
    pub(super) fn pattern_similarities(&self, subset: &[usize]) -> Vec<(usize, Vec<f32>)> {
        let columns = self.columns.iter().enumerate();
        let all = columns.flat_map(|(tool, columns)| columns.patterns.iter().map(move |cosines| (tool, cosines)));
        all.map(|(tool, cosines)| (tool, exp_similarities(cosines, self.fusion.sharpness, subset))).collect()
    }
}

/// Returns a tool's document for BM25. Words of patterns count fully, because a pattern's weight only applies to
/// semantic similarity.
fn document(text: &ToolText) -> ToolDocument {
    ToolDocument::new(text, &FieldWeights::default())
}

fn statistics(documents: &[ToolDocument], samples: &SampleQueries) -> (CollectionStatistics, Vec<QueryTerms>) {
    let statistics = CollectionStatistics::new(documents);
    let queries = samples.queries.iter().map(|query| statistics.query(query)).collect();
    (statistics, queries)
}

fn cosines(vector: &Vector, samples: &SampleQueries) -> Vec<f32> {
    samples.vectors.iter().map(|query| query.cosine(vector)).collect()
}

/// Returns `exp(sharpness · cosine)` of some samples; 1 without embeddings.
fn exp_similarities(cosines: &[f32], sharpness: f32, subset: &[usize]) -> Vec<f32> {
    subset.iter().map(|sample| cosines.get(*sample).map_or(1.0, |cosine| (sharpness * cosine).exp())).collect()
}
