//! Index of the tools of one toolset.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::affinity::{ConsumerArgument, add_answer_evidence, add_field_evidence, add_tool_evidence};
use super::candidate::EvidenceScore;
use super::profile::Profile;
use super::shape::ToolShape;
use super::tool::{InputFeatures, OutputFeatures, Profiles, ToolFeatures, text_terms};
use super::vocabulary::ToolTermCounts;
use callwright_search::embedding::Vector;
use callwright_search::retrieval::Term;
use callwright_types::OutputLink;

/// Maximum number of likely producers kept per argument, independent of the request.
const LIKELY: usize = 24;

/// Maximum number of tools that are compared in detail for it, preselected by common features.
const COMPARED: usize = 96;

/// Maximum number of tools per word. More frequent words do not discriminate.
const COMMON: usize = 512;

/// Index of the tools of one toolset. It is immutable except for vectors, which may be added later, and is shared by
/// all snapshots with the unchanged toolset.
#[derive(Debug, Clone, Default)]
pub struct Segment {
    tools: Vec<ToolFeatures>,
    profiles: Vec<Profile>,
    vocabulary: ToolTermCounts,
    /// Tools with a word in their name or description, with its weight.
    by_word: HashMap<Term, Vec<(u32, f32)>>,
    /// Number of tools with a field of this name.
    bearers: HashMap<Term, u32>,
    /// Likely producers per argument, independent of the request; equal arguments share a list.
    likely: Vec<Box<[u32]>>,
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
        let features: Vec<ToolFeatures> =
            tools.iter().map(|tool| ToolFeatures::new(tool, &vocabulary, &mut profiles)).collect();
        let mut segment = Self { tools: features, profiles: profiles.into_all(), vocabulary, ..Self::default() };
        for (at, tool) in (0_u32..).zip(tools) {
            segment.positions.entry(tool.name.into()).or_insert(at);
            if !tool.links.is_empty() {
                segment.links.insert(tool.name.into(), tool.links.into());
            }
        }
        segment.index();
        segment.find_likely();
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
        (0_u32..).zip(&self.tools).flat_map(|(at, tool)| {
            let profiles = tool.outputs.iter().filter_map(|output| self.profile(output.profile)?.key);
            profiles.collect::<HashSet<Term>>().into_iter().map(move |key| (key, at))
        })
    }

    /// Returns the embeddings of the tools; empty if unknown.
    pub(super) fn vectors(&self) -> &[Vector] {
        self.vectors.get().map_or(&[], |vectors| vectors)
    }

    pub(super) fn vocabulary(&self) -> &ToolTermCounts {
        &self.vocabulary
    }

    /// Returns the tools with a word in their name or description.
    pub(super) fn with_word(&self, term: Term) -> &[(u32, f32)] {
        self.by_word.get(&term).map_or(&[], Vec::as_slice)
    }

    /// Returns the likely producers of an argument, independent of the request.
    pub(super) fn likely(&self, input: &InputFeatures) -> &[u32] {
        self.likely.get(input.likely as usize).map_or(&[], |likely| likely)
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
            let wholes = tool.outputs.iter().filter_map(|output| self.profiles.get(output.profile as usize));
            for whole in wholes.map(|profile| profile.whole).collect::<HashSet<Term>>() {
                *self.bearers.entry(whole).or_default() += 1;
            }
        }
    }

    fn find_likely(&mut self) {
        let index = FeatureIndex::new(self);
        let mut list_of_key: HashMap<LikelyKey, u32> = HashMap::new();
        let mut lists: Vec<Box<[u32]>> = Vec::new();
        let mut positions: Vec<Vec<u32>> = Vec::with_capacity(self.tools.len());
        for tool in &self.tools {
            let mut lists_of_tool = Vec::with_capacity(tool.inputs.len());
            for input in &tool.inputs {
                let key = (input.profile, input.things.clone(), input.collection.clone());
                let list = *list_of_key.entry(key).or_insert_with(|| {
                    lists.push(self.likely_for(tool, input, &index));
                    u32::try_from(lists.len() - 1).unwrap_or(u32::MAX)
                });
                lists_of_tool.push(list);
            }
            positions.push(lists_of_tool);
        }
        for (tool, positions) in self.tools.iter_mut().zip(positions) {
            for (input, position) in tool.inputs.iter_mut().zip(positions) {
                input.likely = position;
            }
        }
        self.likely = lists;
    }

    /// Returns the best of the tools that have features in common with an argument.
    fn likely_for(&self, tool: &ToolFeatures, input: &InputFeatures, index: &FeatureIndex) -> Box<[u32]> {
        let Some(profile) = self.profile(input.profile) else { return Box::default() };
        let consumer = ConsumerArgument { segment: self, tool, input, profile };
        let mut found: Vec<(f32, u32)> =
            index.in_common(&consumer).into_iter().map(|(at, weight)| (weight, at)).collect();
        keep_best(&mut found, COMPARED);
        let mut scored: Vec<(f32, u32)> = found
            .into_iter()
            .filter_map(|(_, at)| Some((self.best_score(&consumer, self.tool(at as usize)?), at)))
            .collect();
        keep_best(&mut scored, LIKELY);
        scored.into_iter().map(|(_, at)| at).collect()
    }

    fn best_score(&self, consumer: &ConsumerArgument<'_>, producer: &ToolFeatures) -> f32 {
        let mut tool_evidence = EvidenceScore::default();
        add_tool_evidence(consumer, producer, false, &mut tool_evidence);
        let scores = producer.outputs.iter().filter_map(|output| {
            let field = self.profile(output.profile)?;
            let mut evidence = EvidenceScore::default();
            add_field_evidence(consumer, producer, output, field, self.bearers(field.whole), &mut evidence);
            Some(evidence.score)
        });
        let best = scores.reduce(f32::max);
        if producer.outputs.is_empty() {
            add_answer_evidence(consumer, producer, &mut tool_evidence);
        }
        tool_evidence.score + best.unwrap_or_default()
    }
}

/// Key of a list of likely producers; equal arguments share one list.
type LikelyKey = (u32, Box<[Term]>, Option<Box<str>>);

/// Keeps the best entries in descending order; ties keep the lower position.
fn keep_best(scored: &mut Vec<(f32, u32)>, count: usize) {
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

/// Inverted indexes of producers, used while a segment is built.
struct FeatureIndex {
    /// Tools with a word in the name of a field.
    by_field_word: HashMap<Term, Vec<u32>>,
    /// Tools with a field of this name.
    by_whole: HashMap<Term, Vec<u32>>,
    /// Tools with an identifying field, by the things that they or the field denote; also tools without documented
    /// outputs.
    by_thing: HashMap<Term, Vec<u32>>,
    by_path: HashMap<Box<str>, Vec<u32>>,
    /// Tools with a word in their name.
    by_subject: HashMap<Term, Vec<u32>>,
    /// Tools that an OpenAPI link connects to an argument, by consuming tool and argument.
    by_link: HashMap<(String, String), Vec<u32>>,
}

impl FeatureIndex {
    fn new(segment: &Segment) -> Self {
        let mut index = Self {
            by_field_word: HashMap::new(),
            by_whole: HashMap::new(),
            by_thing: HashMap::new(),
            by_path: HashMap::new(),
            by_subject: HashMap::new(),
            by_link: HashMap::new(),
        };
        for (at, tool) in (0_u32..).zip(&segment.tools) {
            if tool.outputs.is_empty() {
                // The outputs are not documented, so the name indicates the subject.
                tool.things.iter().for_each(|thing| push(&mut index.by_thing, *thing, at));
                tool.subject.iter().for_each(|(term, _)| push(&mut index.by_subject, *term, at));
                continue;
            }
            let profiles = tool.outputs.iter().filter_map(|output| segment.profile(output.profile));
            for profile in profiles {
                profile.words.iter().for_each(|(term, _)| push(&mut index.by_field_word, *term, at));
                push(&mut index.by_whole, profile.whole, at);
                if profile.identifies {
                    let things = profile.things.iter().chain(&profile.holders).chain(&tool.things);
                    things.for_each(|thing| push(&mut index.by_thing, *thing, at));
                }
            }
            tool.subject.iter().for_each(|(term, _)| push(&mut index.by_subject, *term, at));
            if let Some(path) = &tool.path {
                index.by_path.entry(path.clone()).or_default().push(at);
            }
            for link in segment.links.get(&tool.name).into_iter().flatten() {
                index.by_link.entry((link.tool.clone(), link.argument.clone())).or_default().push(at);
            }
        }
        index
    }

    /// Returns the tools with features in common with an argument and a rough score, as a preselection.
    fn in_common(&self, consumer: &ConsumerArgument<'_>) -> HashMap<u32, f32> {
        let mut found: HashMap<u32, f32> = HashMap::new();
        let mut add = |tools: Option<&Vec<u32>>, weight: f32| {
            for at in tools.into_iter().flatten() {
                *found.entry(*at).or_default() += weight;
            }
        };
        let profile = consumer.profile;
        add(self.by_whole.get(&profile.whole), if profile.is_bare() { 0.1 } else { 2.0 });
        for (term, rarity) in &profile.words {
            add(self.by_field_word.get(term), rarity / 4.0);
        }
        consumer.input.things.iter().for_each(|thing| add(self.by_thing.get(thing), 1.0));
        for (term, rarity) in &profile.description_words {
            add(self.by_subject.get(term), rarity / 8.0);
        }
        add(consumer.input.collection.as_ref().and_then(|path| self.by_path.get(path)), 4.0);
        if !self.by_link.is_empty() {
            add(self.by_link.get(&(consumer.tool.name.to_string(), consumer.input.name.to_string())), 8.0);
        }
        found
    }
}

/// Adds a tool to a list of at most [`COMMON`] tools. Tools arrive in order, so a duplicate can only be the last entry.
fn push(lists: &mut HashMap<Term, Vec<u32>>, term: Term, at: u32) {
    let list = lists.entry(term).or_default();
    if list.len() < COMMON && list.last() != Some(&at) {
        list.push(at);
    }
}
