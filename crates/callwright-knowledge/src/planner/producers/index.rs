//! Index of the producers of all arguments of all tools.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::affinity::{ConsumerArgument, add_answer_evidence, add_field_evidence, add_tool_evidence, is_possible};
use super::candidate::{Candidate, Evidence, EvidenceScore};
use super::edges::Edges;
use super::profile::Profile;
use super::request::{ClauseValues, Request};
use super::segment::Segment;
use super::segment_scores::{SegmentScores, ToolRequestScore};
use super::shape::ToolShape;
use super::tool::{OutputFeatures, ToolFeatures};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::Term;

/// Maximum number of tools considered because of their score for the request: of the argument's own toolset, and of all
/// toolsets together.
const MAX_REQUEST_TOOLS: usize = 24;
const MAX_REQUEST_TOOLS_OVERALL: usize = 12;

/// Weight of evidence from the request. It counts twice, because other evidence is not specific to the request.
const REQUEST_WEIGHT: f32 = 2.0;

/// Maximum number of tools per key. Keys of more tools do not discriminate.
const MAX_TOOLS_PER_KEY: usize = 16;

/// Minimum score of a candidate, absolute and relative to the best one. Below it, only type and position speak for the
/// tool.
const LEAST_SCORE: f32 = 1.0;
const FLOOR: f32 = 0.25;

/// Minimum lead of a tool in a clause at which the request confirms its call: a tool that changes something supplies
/// values only if its call is confirmed.
const CLEARLY_REQUESTED: f32 = 0.9;

/// Weight of a confirmed edge; more than the sum of all other evidence.
const CONFIRMED: f32 = 100.0;

/// Weight of a tool that the caller declares as used.
const USED: f32 = 3.0;

/// Immutable index of the producers of each argument over all toolsets; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Producers {
    pub(super) parts: Arc<[SegmentPart]>,
    operator_edges: Arc<OperatorEdges>,
    /// Tools whose answers contain the key of a thing, for lookups across toolsets. Unlike other names, names of keys
    /// have the same meaning in all toolsets.
    keys: Arc<Keys>,
    /// Positions of tools that may not be called.
    barred: Vec<Arc<HashSet<usize>>>,
}

type Keys = HashMap<Term, Vec<usize>>;

/// Tool and, if specified, the location of the value in its answer.
type Source = (usize, Option<Box<str>>);

/// Edges of the operator's file, with resolved tool positions.
#[derive(Debug, Default)]
struct OperatorEdges {
    /// Confirmed sources by consuming tool and argument.
    confirmed: HashMap<(usize, Box<str>), Vec<Source>>,
    /// Forbidden pairs of producer and consumer, for one argument or for all.
    forbidden: HashSet<(usize, usize, Option<Box<str>>)>,
}

#[derive(Debug, Clone)]
pub(super) struct SegmentPart {
    /// Position of its first tool.
    pub(super) first: usize,
    segment: Arc<Segment>,
}

/// Scores of a request, computed once for all arguments.
#[derive(Debug, Clone, Default)]
pub struct RequestScores {
    pub(super) segments: Vec<SegmentScores>,
    /// Positions of the tools with the highest scores, best first.
    best: Vec<usize>,
    /// Positions of the tools declared as used, in ascending order.
    used: Vec<usize>,
    /// Positions of the tools whose calls are requested, in ascending order.
    requested: Vec<usize>,
    /// Values in each clause.
    pub(super) values: Vec<ClauseValues>,
}

impl Producers {
    /// Builds the producers of one toolset.
    pub fn from_tools(tools: &[ToolShape<'_>]) -> Self {
        Self::new([Arc::new(Segment::build(tools))])
    }

    /// Combines several segments. Positions are counted across all segments in order.
    pub fn new(segments: impl IntoIterator<Item = Arc<Segment>>) -> Self {
        let mut first = 0;
        let (mut parts, mut keys) = (Vec::new(), Keys::new());
        for segment in segments {
            let part = SegmentPart { first, segment };
            first += part.segment.len();
            part.add_keys(&mut keys);
            parts.push(part);
        }
        Self { parts: parts.into(), operator_edges: Arc::default(), keys: Arc::new(keys), barred: Vec::new() }
    }

    /// Appends a toolset; this is cheap if its tools have no documented outputs. The operator's edges have to be
    /// applied again.
    #[must_use]
    pub fn with_segment(&self, segment: Arc<Segment>) -> Self {
        let part = SegmentPart { first: self.len(), segment };
        let mut keys = Arc::clone(&self.keys);
        if part.segment.keys().next().is_some() {
            part.add_keys(Arc::make_mut(&mut keys));
        }
        let parts = self.parts.iter().cloned().chain([part]).collect();
        Self { parts, operator_edges: Arc::default(), keys, barred: self.barred.clone() }
    }

    /// Excludes tools that may not be called. They supply no values and their names do not resolve.
    #[must_use]
    pub fn without(mut self, positions: HashSet<usize>) -> Self {
        if !positions.is_empty() {
            self.barred.push(Arc::new(positions));
        }
        self
    }

    /// Whether any segment has embeddings, so that the request's vectors are useful.
    pub fn has_vectors(&self) -> bool {
        self.parts.iter().any(|part| part.segment.has_vectors())
    }

    /// Whether the tool at a position may not be called.
    pub fn is_barred(&self, position: usize) -> bool {
        self.barred.iter().any(|barred| barred.contains(&position))
    }

    /// Applies the operator's edges. Edges that name unknown tools are ignored.
    #[must_use]
    pub fn with_edges(mut self, edges: &Edges) -> Self {
        let mut resolved = OperatorEdges::default();
        for edge in &edges.confirmed {
            let (Some(argument), Some(from), Some(to)) =
                (edge.argument.as_deref(), self.position(&edge.from), self.position(&edge.to))
            else {
                continue;
            };
            let output = edge.output.as_deref().map(Box::from);
            resolved.confirmed.entry((to, argument.into())).or_default().push((from, output));
        }
        for edge in &edges.forbidden {
            if let (Some(from), Some(to)) = (self.position(&edge.from), self.position(&edge.to)) {
                resolved.forbidden.insert((from, to, edge.argument.as_deref().map(Box::from)));
            }
        }
        self.operator_edges = Arc::new(resolved);
        self
    }

    /// Returns the position of the first tool with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        let mut positions = self.parts.iter().filter_map(|part| Some(part.first + part.segment.position(name)?));
        positions.find(|position| !self.is_barred(*position))
    }

    /// Returns the distinct names in an operator's file that match no tool.
    pub fn unknown<'a>(&self, edges: &'a Edges) -> BTreeSet<&'a str> {
        let names = edges.confirmed.iter().chain(&edges.forbidden).flat_map(|edge| [&edge.from, &edge.to]);
        names.map(String::as_str).filter(|name| self.position(name).is_none()).collect()
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |part| part.first + part.segment.len())
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Scores the tools and their order in a request. `vectors` are the embeddings of [`Request::texts`] by the
    /// embedder of the tools' vectors. Without any, only words are compared.
    pub fn score(&self, request: &Request, vectors: &[Vector]) -> RequestScores {
        let segments: Vec<SegmentScores> = self
            .parts
            .iter()
            .map(|part| SegmentScores::new(&part.segment, request, vectors, MAX_REQUEST_TOOLS))
            .collect();
        let mut best: Vec<(f32, usize)> = Vec::new();
        for (part, scores) in self.parts.iter().zip(&segments) {
            best.extend(scores.best().iter().filter_map(|tool| {
                let score = scores.tool(*tool)?;
                Some((score.fit + score.lead, part.first + *tool as usize))
            }));
        }
        best.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        best.truncate(MAX_REQUEST_TOOLS_OVERALL);
        let best = best.into_iter().map(|(_, tool)| tool).collect();
        let values = request.clause_values().collect();
        RequestScores { segments, best, used: Vec::new(), requested: Vec::new(), values }
    }

    /// Returns the arguments of a tool in the order of its schema.
    pub fn arguments(&self, tool: usize) -> impl Iterator<Item = &str> {
        let features = self.part_of(tool).and_then(|(_, part)| part.segment.tool(tool - part.first));
        features.into_iter().flat_map(|features| &features.inputs).map(|input| &*input.name)
    }

    /// Returns the tools whose answers can supply an argument, best first. Each tool occurs once, with its best field.
    /// Unknown tools and arguments have none. Ties keep the order of the tools.
    pub fn candidates(&self, tool: usize, argument: &str, scores: &RequestScores, at_most: usize) -> Vec<Candidate> {
        let Some(search) = ProducerSearch::new(self, tool, argument, scores) else { return Vec::new() };
        let mut found: Vec<(f32, usize, Option<usize>)> =
            search.positions().into_iter().filter_map(|producer| search.best_field(producer)).collect();
        found.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        let best = found.first().map_or(0.0, |(score, ..)| *score);
        let floor = (FLOOR * best).max(LEAST_SCORE);
        found.retain(|(score, producer, _)| *score >= floor || search.is_confirmed(*producer));
        found.truncate(at_most);
        found.into_iter().filter_map(|(_, producer, field)| search.candidate(producer, field)).collect()
    }

    fn part_of(&self, tool: usize) -> Option<(usize, &SegmentPart)> {
        let at = self.parts.partition_point(|part| part.first <= tool).checked_sub(1)?;
        let part = self.parts.get(at)?;
        (tool < part.first + part.segment.len()).then_some((at, part))
    }
}

impl SegmentPart {
    fn add_keys(&self, keys: &mut Keys) {
        for (key, tool) in self.segment.keys() {
            let tools = keys.entry(key).or_default();
            if tools.len() < MAX_TOOLS_PER_KEY {
                tools.push(self.first + tool as usize);
            }
        }
    }
}

impl RequestScores {
    /// Declares the tools that are used; they are ranked first.
    #[must_use]
    pub fn using(self, tools: impl IntoIterator<Item = usize>) -> Self {
        Self { used: sorted(tools), ..self }
    }

    /// Declares the tools whose calls are requested, so that they may supply values even if they change something.
    #[must_use]
    pub fn requesting(self, tools: impl IntoIterator<Item = usize>) -> Self {
        Self { requested: sorted(tools), ..self }
    }
}

fn sorted(tools: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut tools: Vec<usize> = tools.into_iter().collect();
    tools.sort_unstable();
    tools.dedup();
    tools
}

/// Search for the producers of one argument.
struct ProducerSearch<'a> {
    producers: &'a Producers,
    scores: &'a RequestScores,
    position: usize,
    part: &'a SegmentPart,
    consumer: ConsumerArgument<'a>,
    /// Scores of the request in the consumer's toolset.
    own: Option<&'a SegmentScores>,
    /// Score of the request for the consumer.
    request_score: Option<&'a ToolRequestScore>,
    /// Confirmed sources of the argument.
    confirmed: &'a [Source],
}

impl<'a> ProducerSearch<'a> {
    fn new(producers: &'a Producers, tool: usize, argument: &str, scores: &'a RequestScores) -> Option<Self> {
        let (at, part) = producers.part_of(tool)?;
        let features = part.segment.tool(tool - part.first)?;
        let input = features.input(argument)?;
        let profile = part.segment.profile(input.profile)?;
        let consumer = ConsumerArgument { segment: &part.segment, tool: features, input, profile };
        let position = u32::try_from(tool - part.first).ok()?;
        let own = scores.segments.get(at);
        let request_score = own.and_then(|scores| scores.tool(position));
        let confirmed =
            producers.operator_edges.confirmed.get(&(tool, argument.into())).map_or(&[] as &[_], Vec::as_slice);
        Some(Self { producers, scores, position: tool, part, consumer, own, request_score, confirmed })
    }

    /// Returns the positions of the tools to consider, in ascending order.
    fn positions(&self) -> Vec<usize> {
        let likely = self.part.segment.likely(self.consumer.input).iter().map(|at| self.part.first + *at as usize);
        let own = self.own.into_iter().flat_map(SegmentScores::best).map(|at| self.part.first + *at as usize);
        let requested = self.scores.best.iter().chain(&self.scores.used).copied().chain(own);
        let key = self.consumer.profile.key.filter(|_| self.producers.parts.len() > 1);
        let elsewhere = key.and_then(|key| self.producers.keys.get(&key)).into_iter().flatten().copied();
        let mut positions: Vec<usize> =
            likely.chain(elsewhere).chain(requested).chain(self.confirmed.iter().map(|(from, _)| *from)).collect();
        positions.sort_unstable();
        positions.dedup();
        positions
            .retain(|from| !self.is_forbidden(*from) && !self.producers.is_barred(*from) && self.may_supply(*from));
        positions
    }

    /// Whether a tool may be called for the sake of the argument: it changes nothing, or the operator, the caller or the
    /// request confirms its call.
    fn may_supply(&self, from: usize) -> bool {
        let Some(producer) = self.producer(from).filter(|producer| producer.features.writes) else { return true };
        let is_requested = producer.request_score.is_some_and(|score| score.lead >= CLEARLY_REQUESTED);
        self.is_confirmed(from)
            || [&self.scores.used, &self.scores.requested].iter().any(|tools| tools.binary_search(&from).is_ok())
            || is_requested && from != self.position
    }

    fn is_confirmed(&self, from: usize) -> bool {
        self.confirmed.iter().any(|(confirmed, _)| *confirmed == from)
    }

    fn is_forbidden(&self, from: usize) -> bool {
        let forbidden = &self.producers.operator_edges.forbidden;
        !forbidden.is_empty()
            && (forbidden.contains(&(from, self.position, None))
                || forbidden.contains(&(from, self.position, Some(self.consumer.input.name.clone()))))
    }

    /// Returns the score and best output field of a tool; no field if its outputs are not documented.
    fn best_field(&self, producer: usize) -> Option<(f32, usize, Option<usize>)> {
        let producer = self.producer(producer)?;
        let mut tool_evidence = EvidenceScore::default();
        self.weigh_tool(&producer, &mut tool_evidence);
        let mut best: Option<(f32, usize)> = None;
        for (at, output) in producer.features.outputs.iter().enumerate() {
            let field = producer.part.segment.profile(output.profile);
            let Some(field) = field.filter(|field| is_possible(field, self.consumer.profile)) else { continue };
            let mut evidence = EvidenceScore::default();
            self.weigh_field(&producer, output, field, &mut evidence);
            if best.is_none_or(|(score, _)| evidence.score > score) {
                best = Some((evidence.score, at));
            }
        }
        if let Some((score, at)) = best {
            return Some((tool_evidence.score + score, producer.position, Some(at)));
        }
        // The whole answer is a candidate only if its outputs are unknown or the operator confirmed it. Otherwise no
        // field fits.
        let is_open = producer.features.outputs.is_empty() || self.is_confirmed(producer.position);
        add_answer_evidence(&self.consumer, producer.features, &mut tool_evidence);
        is_open.then_some((tool_evidence.score, producer.position, None))
    }

    fn candidate(&self, producer: usize, field: Option<usize>) -> Option<Candidate> {
        let producer = self.producer(producer)?;
        let mut evidence = EvidenceScore::explained();
        self.weigh_tool(&producer, &mut evidence);
        let (mut pointer, mut in_list) = (String::new(), false);
        match field.and_then(|field| producer.features.outputs.get(field)) {
            None => add_answer_evidence(&self.consumer, producer.features, &mut evidence),
            Some(output) => {
                self.weigh_field(&producer, output, producer.part.segment.profile(output.profile)?, &mut evidence);
                (pointer, in_list) = (output.pointer.to_string(), output.in_list);
            }
        }
        // A confirmed location overrides the documented schema.
        let confirmed = self.confirmed.iter().find(|(from, _)| *from == producer.position);
        if let Some(location) = confirmed.and_then(|(_, output)| output.as_deref()) {
            (pointer, in_list) = (location.to_owned(), location.split('/').any(|token| token == "0"));
        }
        Some(Candidate {
            tool: producer.position,
            output: pointer,
            in_list,
            score: evidence.score,
            reasons: evidence.into_reasons(),
        })
    }

    fn producer(&self, position: usize) -> Option<ProducerTool<'a>> {
        let (at, part) = self.producers.part_of(position)?;
        let features = part.segment.tool(position - part.first)?;
        let scores = self.scores.segments.get(at);
        let request_score = scores.and_then(|scores| scores.tool(u32::try_from(position - part.first).ok()?));
        Some(ProducerTool { position, part, features, scores, request_score })
    }

    fn weigh_tool(&self, producer: &ProducerTool<'_>, evidence: &mut EvidenceScore) {
        add_tool_evidence(&self.consumer, producer.features, producer.position == self.position, evidence);
        if self.is_confirmed(producer.position) {
            evidence.add(Evidence::Confirmed, CONFIRMED);
        }
        if producer.part.first != self.part.first {
            evidence.add(Evidence::Elsewhere, -1.0);
        }
        if self.scores.used.binary_search(&producer.position).is_ok() {
            evidence.add(Evidence::Used, USED);
        }
        let Some(score) = producer.request_score else { return };
        evidence.add(Evidence::RequestMatch, score.fit + REQUEST_WEIGHT * score.lead);
        let Some(own) = self.request_score else { return };
        // The direct predecessor counts twice.
        let order = match (score.clause, own.clause) {
            (producer, consumer) if producer + 1 == consumer => 2.0,
            (producer, consumer) if producer < consumer => 1.0,
            (producer, consumer) if producer > consumer => -1.0,
            _ => 0.0,
        };
        evidence.add(Evidence::Order, order * score.lead);
    }

    fn weigh_field(
        &self,
        producer: &ProducerTool<'_>,
        output: &OutputFeatures,
        field: &Profile,
        evidence: &mut EvidenceScore,
    ) {
        let bearers = producer.part.segment.bearers(field.whole);
        add_field_evidence(&self.consumer, producer.features, output, field, bearers, evidence);
        let Some(scores) = producer.scores else { return };
        let own = self.request_score.map(|score| score.clause);
        evidence.add(Evidence::FieldInRequest, REQUEST_WEIGHT * scores.best_clause_share(&field.words, own));
        if let Some(own) = own.filter(|_| producer.position != self.position) {
            evidence.add(Evidence::FieldInConsumerClause, REQUEST_WEIGHT * scores.clause_share(&field.words, own));
        }
    }
}

/// Tool that may supply the argument.
struct ProducerTool<'a> {
    position: usize,
    part: &'a SegmentPart,
    features: &'a ToolFeatures,
    scores: Option<&'a SegmentScores>,
    request_score: Option<&'a ToolRequestScore>,
}
