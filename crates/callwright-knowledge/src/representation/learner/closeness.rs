//! What every sample's score for every tool is made of, in columns: a change of one tool concerns its own columns alone.

use callwright_search::embedding::Vector;
use callwright_search::retrieval::{
    CollectionStatistics, FieldWeights, Fusion, QueryTerms, ToolDocument, ToolText, soft_sum,
};
use callwright_types::representation::Pattern;

/// The tools with their patterns, against all samples.
#[derive(Debug, Clone)]
pub(super) struct Closeness {
    /// How scores are made of what is here.
    pub(super) fusion: Fusion,
    columns: Vec<ToolColumns>,
    texts: Vec<ToolText>,
}

/// A tool against all samples.
#[derive(Debug, Clone, Default)]
struct ToolColumns {
    /// BM25 of the tool's document.
    words: Vec<f32>,
    /// The cosines of its description; empty where there are no vectors.
    own: Vec<f32>,
    /// The cosines of its patterns.
    patterns: Vec<Vec<f32>>,
}

/// What a pattern is found by.
#[derive(Debug, Clone)]
pub(super) struct Grown {
    pub(super) pattern: Pattern,
    /// `None` where there are no vectors.
    pub(super) vector: Option<Vector>,
}

/// What does not change: the samples.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The requests.
    pub(super) queries: Vec<String>,
    /// Their vectors; none without an embedder.
    pub(super) vectors: Vec<Vector>,
}

impl Closeness {
    /// The tools with no pattern yet, each with the vector of its description. What words say is looked up when all patterns are there.
    pub(super) fn new(tools: &[ToolText], own: &[Vector], asked: &Asked, fusion: Fusion) -> Self {
        let bare = |tool: &ToolText| ToolText { patterns: Vec::new(), ..tool.clone() };
        let column = |at: usize| ToolColumns {
            own: own.get(at).map_or_else(Vec::new, |vector| cosines(vector, asked)),
            ..ToolColumns::default()
        };
        Self { fusion, columns: (0..tools.len()).map(column).collect(), texts: tools.iter().map(bare).collect() }
    }

    /// How many tools there are.
    pub(super) fn tools(&self) -> usize {
        self.texts.len()
    }

    /// A tool's texts, its patterns among them.
    pub(super) fn text(&self, tool: usize) -> Option<&ToolText> {
        self.texts.get(tool)
    }

    /// A tool's patterns.
    pub(super) fn patterns(&self, tool: usize) -> &[Pattern] {
        self.texts.get(tool).map_or(&[], |text| &text.patterns)
    }

    /// Adds patterns to a tool. What words say is looked up later, for all tools at once ([`Closeness::look_up_words`]).
    pub(super) fn add(&mut self, tool: usize, grown: &[Grown], asked: &Asked) {
        let (Some(text), Some(columns)) = (self.texts.get_mut(tool), self.columns.get_mut(tool)) else { return };
        for Grown { pattern, vector } in grown {
            text.patterns.push(pattern.clone());
            columns.patterns.push(vector.as_ref().map_or_else(Vec::new, |vector| cosines(vector, asked)));
        }
    }

    /// One tool alone, at position 0: to change it without touching the others.
    pub(super) fn clone_of(&self, tool: usize) -> Self {
        Self {
            fusion: self.fusion,
            columns: self.columns.get(tool).cloned().into_iter().collect(),
            texts: self.texts.get(tool).cloned().into_iter().collect(),
        }
    }

    /// Takes a tool over from [`Closeness::clone_of`].
    pub(super) fn put_from(&mut self, tool: usize, mut one: Self) {
        if let (Some(text), Some(columns)) = (self.texts.get_mut(tool), self.columns.get_mut(tool))
            && let (Some(new_text), Some(new_columns)) = (one.texts.pop(), one.columns.pop())
        {
            (*text, *columns) = (new_text, new_columns);
        }
    }

    /// Leaves a tool its first `count` patterns.
    pub(super) fn shorten(&mut self, tool: usize, count: usize) {
        if let (Some(text), Some(columns)) = (self.texts.get_mut(tool), self.columns.get_mut(tool)) {
            text.patterns.truncate(count);
            columns.patterns.truncate(count);
        }
    }

    /// Gives the patterns of all tools their weights, in the order of tools and patterns.
    pub(super) fn weigh(&mut self, weights: impl IntoIterator<Item = f32>) {
        let patterns = self.texts.iter_mut().flat_map(|text| &mut text.patterns);
        patterns.zip(weights).for_each(|(pattern, weight)| pattern.weight = weight);
    }

    /// The weights of all patterns, in the order of tools and patterns.
    pub(super) fn weights(&self) -> impl Iterator<Item = f32> {
        self.texts.iter().flat_map(|text| &text.patterns).map(|pattern| pattern.weight)
    }

    /// Looks up again what words say for each tool, with the patterns that it has now.
    pub(super) fn look_up_words(&mut self, asked: &Asked) {
        let documents = self.documents();
        let (statistics, queries) = statistics(&documents, asked);
        for (columns, document) in self.columns.iter_mut().zip(&documents) {
            columns.words = queries.iter().map(|query| statistics.score(query, document)).collect();
        }
    }

    /// Looks up again what words say for one tool, as if the other tools' words were no others than before.
    pub(super) fn look_up_words_of(&mut self, tool: usize, queries: &[QueryTerms], statistics: &CollectionStatistics) {
        if let (Some(text), Some(columns)) = (self.texts.get(tool), self.columns.get_mut(tool)) {
            let document = document(text);
            columns.words = queries.iter().map(|query| statistics.score(query, &document)).collect();
        }
    }

    /// How common words are among the tools as they are now, and the samples' words by it.
    pub(super) fn statistics(&self, asked: &Asked) -> (CollectionStatistics, Vec<QueryTerms>) {
        statistics(&self.documents(), asked)
    }

    fn documents(&self) -> Vec<ToolDocument> {
        self.texts.iter().map(document).collect()
    }

    /// The scores of a tool for some samples.
    pub(super) fn scores(&self, tool: usize, among: &[usize]) -> Vec<f32> {
        let meanings = self.meanings(tool, among).into_iter();
        meanings.zip(self.words(tool, among)).map(|(meaning, words)| self.fusion.score(meaning, words)).collect()
    }

    /// What meaning says of some samples for a tool.
    pub(super) fn meanings(&self, tool: usize, among: &[usize]) -> Vec<f32> {
        let (Some(columns), Some(text)) = (self.columns.get(tool), self.texts.get(tool)) else { return Vec::new() };
        let mut sums = likeness(&columns.own, self.fusion.sharpness, among);
        for (pattern, cosines) in text.patterns.iter().zip(&columns.patterns) {
            let likeness = likeness(cosines, self.fusion.sharpness, among);
            sums.iter_mut().zip(likeness).for_each(|(sum, likeness)| *sum += pattern.weight * likeness);
        }
        let weights = std::iter::once(1.0).chain(text.patterns.iter().map(|pattern| pattern.weight));
        let number = soft_sum(0.0, weights.map(|weight| (0.0, weight)));
        sums.into_iter().map(|sum| sum.max(f32::MIN_POSITIVE).ln() - number).collect()
    }

    /// exp(sharpness · cosine) of some samples with a tool's description.
    pub(super) fn own_likeness(&self, tool: usize, among: &[usize]) -> Vec<f32> {
        self.columns.get(tool).map_or_else(Vec::new, |columns| likeness(&columns.own, self.fusion.sharpness, among))
    }

    /// BM25 of some samples for a tool.
    pub(super) fn words(&self, tool: usize, among: &[usize]) -> Vec<f32> {
        let Some(columns) = self.columns.get(tool) else { return Vec::new() };
        among.iter().map(|sample| columns.words.get(*sample).copied().unwrap_or_default()).collect()
    }

    /// For each pattern of all tools, in their order: its tool, and exp(sharpness · cosine) of some samples.
    pub(super) fn pattern_likeness(&self, among: &[usize]) -> Vec<(usize, Vec<f32>)> {
        let all = self.columns.iter().enumerate();
        let all = all.flat_map(|(tool, columns)| columns.patterns.iter().map(move |cosines| (tool, cosines)));
        all.map(|(tool, cosines)| (tool, likeness(cosines, self.fusion.sharpness, among))).collect()
    }
}

/// A tool's words. A pattern's words count whole, whatever its weight is: that says what its likeness in meaning is worth.
fn document(text: &ToolText) -> ToolDocument {
    ToolDocument::of(text, &FieldWeights::default())
}

fn statistics(documents: &[ToolDocument], asked: &Asked) -> (CollectionStatistics, Vec<QueryTerms>) {
    let statistics = CollectionStatistics::of(documents);
    let queries = asked.queries.iter().map(|query| statistics.query(query)).collect();
    (statistics, queries)
}

fn cosines(vector: &Vector, asked: &Asked) -> Vec<f32> {
    asked.vectors.iter().map(|query| query.cosine(vector)).collect()
}

/// Without vectors nothing is known, and everything is as close as anything: 1.
fn likeness(cosines: &[f32], sharpness: f32, among: &[usize]) -> Vec<f32> {
    let likeness = |sample: &usize| cosines.get(*sample).map_or(1.0, |cosine| (sharpness * cosine).exp());
    among.iter().map(likeness).collect()
}
