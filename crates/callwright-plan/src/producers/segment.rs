//! Index of the tools of one toolset.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::affinity::{ConsumerArgument, ValueScores, add_answer_evidence, add_tool_evidence};
use super::candidate::EvidenceScore;
use super::feature_index::FeatureIndex;
use super::profile::Profile;
use super::tool::OutputFeatures;
use super::tool::ToolShape;
use super::tool::{InputFeatures, Profiles, ToolFeatures, text_terms};
use super::vocabulary::ToolTermCounts;
use callwright_search::embedding::Vector;
use callwright_search::retrieval::Term;
use callwright_types::OutputLink;

/// Maximum number of producers considered within a toolset: for an argument independent of the request, and for the
/// request.
pub(super) const LIKELY: usize = 24;

/// Maximum number of tools that are compared in detail for it, preselected by common features.
const COMPARED: usize = 96;

/// Index of the tools of one toolset. It is immutable except for vectors, which may be added later, and is shared by
/// all snapshots with the unchanged toolset.
#[derive(Debug, Clone, Default)]
pub struct Segment {
    tools: Vec<ToolFeatures>,
    profiles: Vec<Profile>,
    pub(super) vocabulary: ToolTermCounts,
    /// Tools with a word in their name or description, with its weight.
    by_word: HashMap<Term, Vec<(u32, f32)>>,
    /// Number of tools with a field of this name.
    bearers: HashMap<Term, u32>,
    /// Likely producers per argument, independent of the request; equal arguments share a list.
    likely: Vec<LikelyProducers>,
    features: FeatureIndex,
    /// OpenAPI links by the tool that answers.
    links: HashMap<Box<str>, Box<[OutputLink]>>,
    positions: HashMap<Box<str>, u32>,
    /// Embeddings of the tools, once computed.
    vectors: OnceLock<Arc<[Vector]>>,
}

impl Segment {
    /// Indexes the tools of one toolset. Of tools with the same name, the first is used.
    pub fn build(tools: &[ToolShape<'_>]) -> Self {
        let texts: Vec<Vec<Term>> = tools.iter().map(text_terms).collect();
        let vocabulary = ToolTermCounts::new(texts.iter().map(Vec::as_slice));
        let mut profiles = Profiles::default();
        let features: Vec<ToolFeatures> = tools
            .iter()
            .zip(&texts)
            .map(|(tool, text)| ToolFeatures::new(tool, text, &vocabulary, &mut profiles))
            .collect();
        let mut segment = Self { tools: features, profiles: profiles.into_all(), vocabulary, ..Self::default() };
        for (at, tool) in (0_u32..).zip(tools) {
            segment.positions.entry(tool.name.into()).or_insert(at);
            if !tool.links.is_empty() {
                segment.links.insert(tool.name.into(), tool.links.into());
            }
        }
        segment.index();
        segment.features = FeatureIndex::new(&segment.tools, &segment.links);
        segment.list_arguments();
        segment
    }

    /// Adds embeddings: the vectors of [`ToolShape::embedded`], in the order of the tools. If their number differs from
    /// the number of tools, they are ignored.
    #[must_use]
    pub fn with_vectors(self, vectors: Vec<Vector>) -> Self {
        self.take_vectors(&vectors.into());
        self
    }

    /// Sets the embeddings if there are none yet, like [`Segment::with_vectors`]. They may be computed in the
    /// background and arrive later.
    pub fn take_vectors(&self, vectors: &Arc<[Vector]>) {
        if vectors.len() == self.tools.len() {
            // A concurrent caller has set the same vectors, because they are of the same texts.
            let _ = self.vectors.set(Arc::clone(vectors));
        }
    }

    /// Whether the segment has embeddings.
    pub fn has_vectors(&self) -> bool {
        self.vectors.get().is_some()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the position of the tool with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).map(|at| *at as usize)
    }

    pub(super) fn tool(&self, at: usize) -> Option<&ToolFeatures> {
        self.tools.get(at)
    }

    pub(super) fn profile(&self, at: u32) -> Option<&Profile> {
        self.profiles.get(at as usize)
    }

    /// Returns the distinct keys in the answers of each tool.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Term, u32)> {
        (0_u32..).zip(&self.tools).flat_map(|(at, tool)| tool.answer.keys.iter().map(move |key| (*key, at)))
    }

    /// Returns the embeddings of the tools; empty if unknown.
    pub(super) fn vectors(&self) -> &[Vector] {
        self.vectors.get().map_or(&[], |vectors| vectors)
    }

    /// Returns the tools with a word in their name or description.
    pub(super) fn with_word(&self, term: Term) -> &[(u32, f32)] {
        self.by_word.get(&term).map_or(&[], Vec::as_slice)
    }

    /// Returns the likely producers of an argument, independent of the request. They are found when they are needed
    /// first, because most arguments of a large catalog are never looked up.
    pub(super) fn likely(&self, input: &InputFeatures) -> &[u32] {
        let likely = self.likely.get(input.likely as usize);
        likely.map_or(&[], |likely| likely.found.get_or_init(|| self.find_likely(likely).unwrap_or_default()))
    }

    /// Returns the number of tools with a field of this name.
    pub(super) fn bearers(&self, name: Term) -> u32 {
        self.bearers.get(&name).copied().unwrap_or_default()
    }

    /// Whether an OpenAPI link connects an output to an argument.
    pub(super) fn links(
        &self,
        producer: &ToolFeatures,
        output: &OutputFeatures,
        consumer: &ConsumerArgument<'_>,
    ) -> bool {
        if self.links.is_empty() {
            return false;
        }
        let links = self.links.get(&producer.name).map_or(&[] as &[OutputLink], |links| links);
        links.iter().any(|link| {
            *link.tool == *consumer.tool.name
                && *link.argument == *consumer.input.name
                && *link.pointer == *output.pointer
        })
    }

    fn index(&mut self) {
        for (at, tool) in (0_u32..).zip(&self.tools) {
            for (term, weight) in &tool.text {
                self.by_word.entry(*term).or_default().push((at, *weight));
            }
            for name in &tool.answer.names {
                *self.bearers.entry(*name).or_default() += 1;
            }
        }
    }

    /// Finds equal arguments, which share a list of likely producers.
    fn list_arguments(&mut self) {
        let mut list_of_key: HashMap<LikelyKey, u32> = HashMap::new();
        for (at, tool) in (0_u32..).zip(&mut self.tools) {
            for (number, input) in (0_u32..).zip(&mut tool.inputs) {
                let key = (input.profile, input.things.clone(), input.collection.clone());
                input.likely = *list_of_key.entry(key).or_insert_with(|| {
                    self.likely.push(LikelyProducers { tool: at, input: number, found: OnceLock::new() });
                    u32::try_from(self.likely.len() - 1).unwrap_or(u32::MAX)
                });
            }
        }
    }

    /// Returns the best of the tools that have features in common with an argument.
    fn find_likely(&self, of: &LikelyProducers) -> Option<Box<[u32]>> {
        let tool = self.tool(of.tool as usize)?;
        let input = tool.inputs.get(of.input as usize)?;
        let profile = self.profile(input.profile)?;
        let consumer = ConsumerArgument { segment: self, tool, input, profile };
        let in_common = self.features.in_common(tool, input, profile).into_iter();
        let mut found: Vec<(f32, u32)> = in_common.map(|(at, weight)| (weight, at)).collect();
        keep_best(&mut found, COMPARED);
        let mut values = ValueScores::new();
        let mut scored: Vec<(f32, u32)> = found
            .into_iter()
            .filter_map(|(_, at)| Some((self.best_score(&consumer, self.tool(at as usize)?, &mut values), at)))
            .collect();
        keep_best(&mut scored, LIKELY);
        Some(scored.into_iter().map(|(_, at)| at).collect())
    }

    fn best_score(&self, consumer: &ConsumerArgument<'_>, producer: &ToolFeatures, values: &mut ValueScores) -> f32 {
        let mut tool_evidence = EvidenceScore::default();
        add_tool_evidence(consumer, producer, false, &mut tool_evidence);
        let scores = producer.outputs().iter().filter_map(|output| {
            let field = self.profile(output.profile)?;
            Some(values.field(consumer, producer, output, field, self.bearers(field.whole)).score)
        });
        let best = scores.reduce(f32::max);
        if producer.outputs().is_empty() {
            add_answer_evidence(consumer, producer, &mut tool_evidence);
        }
        tool_evidence.score + best.unwrap_or_default()
    }
}

/// Likely producers of an argument and of all equal ones.
#[derive(Debug, Clone)]
struct LikelyProducers {
    /// First tool with the argument.
    tool: u32,
    /// Number of the argument of that tool.
    input: u32,
    found: OnceLock<Box<[u32]>>,
}

/// Key of a list of likely producers; equal arguments share one list.
type LikelyKey = (u32, Box<[Term]>, Option<Box<str>>);

/// Keeps the best entries in descending order; ties keep the lower position.
pub(super) fn keep_best(scored: &mut Vec<(f32, u32)>, count: usize) {
    if count < scored.len() {
        scored.select_nth_unstable_by(count, best_first);
        scored.truncate(count);
    }
    scored.sort_unstable_by(best_first);
}

/// Compares scores with positions: higher scores first, ties by position.
fn best_first(left: &(f32, u32), right: &(f32, u32)) -> Ordering {
    right.0.total_cmp(&left.0).then(left.1.cmp(&right.1))
}
