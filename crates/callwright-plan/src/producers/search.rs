//! Finds the tools that can supply an argument.

use super::affinity::{
    ConsumerArgument, DECLARED, ValueScores, add_answer_evidence, add_field_evidence, add_tool_evidence, is_possible,
};
use super::candidate::{Candidate, Evidence, EvidenceScore};
use super::index::{Producers, SegmentPart, Source};
use super::profile::Profile;
use super::request::RequestScores;
use super::segment_scores::{SegmentScores, ToolRequestScore};
use super::tool::OutputFeatures;
use super::tool::{PositionMap, ToolFeatures, position_map};

/// Weight of evidence from the request. It counts twice, because other evidence is not specific to the request.
const REQUEST_WEIGHT: f32 = 2.0;

/// Minimum score of a candidate relative to the best one.
const FLOOR: f32 = 0.25;

/// Minimum lead of a tool in a clause at which the request confirms its call: a tool that changes something supplies
/// values only if its call is confirmed.
const CLEARLY_REQUESTED: f32 = 0.9;

/// Weight of a confirmed edge; more than the sum of all other evidence.
const CONFIRMED: f32 = 100.0;

impl Producers {
    /// Returns the tools whose answers can supply an argument, best first. Each tool occurs once, with its best field.
    /// Unknown tools and arguments have none. Ties keep the order of the tools.
    pub fn candidates(&self, tool: usize, argument: &str, scores: &RequestScores, at_most: usize) -> Vec<Candidate> {
        let Some(search) = ProducerSearch::new(self, tool, argument, scores) else { return Vec::new() };
        let mut fields = FieldScores::new(self.parts.len());
        let positions = search.positions().into_iter();
        let mut found: Vec<(f32, usize, Option<usize>)> =
            positions.filter_map(|producer| search.best_field(producer, &mut fields)).collect();
        found.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        let best = found.first().map_or(0.0, |(score, ..)| *score);
        // Below 1, only type and position speak for the tool.
        let floor = (FLOOR * best).max(1.0);
        found.retain(|(score, producer, _)| *score >= floor || search.is_confirmed(*producer));
        found.truncate(at_most);
        found.into_iter().filter_map(|(_, producer, field)| search.candidate(producer, field)).collect()
    }
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
    request_score: Option<ToolRequestScore>,
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
        let request_score = own.and_then(|scores| scores.tool(&part.segment, position));
        let confirmed =
            producers.operator_edges.confirmed.get(&(tool, argument.into())).map_or(&[] as &[_], Vec::as_slice);
        Some(Self { producers, scores, position: tool, part, consumer, own, request_score, confirmed })
    }

    /// Returns the positions of the tools to consider, in ascending order.
    fn positions(&self) -> Vec<usize> {
        let likely = self.part.segment.likely(self.consumer.input).iter().map(|at| self.part.first + *at as usize);
        let own = self.own.into_iter().flat_map(|scores| &scores.best).map(|(_, at)| self.part.first + *at as usize);
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
    fn best_field(&self, producer: usize, fields: &mut FieldScores) -> Option<(f32, usize, Option<usize>)> {
        let producer = self.producer(producer)?;
        let mut tool_evidence = EvidenceScore::default();
        self.weigh_tool(&producer, &mut tool_evidence);
        let mut best: Option<(f32, usize)> = None;
        for (at, output) in producer.features.outputs().iter().enumerate() {
            let field = producer.part.segment.profile(output.profile);
            let Some(field) = field.filter(|field| is_possible(field, self.consumer.profile)) else { continue };
            let score = self.field_score(&producer, output, field, fields);
            if best.is_none_or(|(most, _)| score > most) {
                best = Some((score, at));
            }
        }
        if let Some((score, at)) = best {
            return Some((tool_evidence.score + score, producer.position, Some(at)));
        }
        // The whole answer is a candidate only if its outputs are unknown or the operator confirmed it. Otherwise no
        // field fits.
        let is_open = producer.features.outputs().is_empty() || self.is_confirmed(producer.position);
        add_answer_evidence(&self.consumer, producer.features, &mut tool_evidence);
        is_open.then_some((tool_evidence.score, producer.position, None))
    }

    fn candidate(&self, producer: usize, field: Option<usize>) -> Option<Candidate> {
        let producer = self.producer(producer)?;
        let mut evidence = EvidenceScore::explained();
        self.weigh_tool(&producer, &mut evidence);
        let (mut pointer, mut in_list) = (String::new(), false);
        match field.and_then(|field| producer.features.outputs().get(field)) {
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
        let (number, part) = self.producers.part_of(position)?;
        let features = part.segment.tool(position - part.first)?;
        let scores = self.scores.segments.get(number);
        let at = u32::try_from(position - part.first).ok()?;
        let request_score = scores.and_then(|scores| scores.tool(&part.segment, at));
        Some(ProducerTool { position, part_number: number, part, features, scores, request_score })
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
            evidence.add(Evidence::Used, DECLARED);
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
        self.add_request_evidence(producer, self.request_shares(producer, field), evidence);
    }

    /// Returns the score of [`Self::weigh_field`]. The parts that depend on the field's profile are computed once.
    fn field_score(
        &self,
        producer: &ProducerTool<'_>,
        output: &OutputFeatures,
        field: &Profile,
        fields: &mut FieldScores,
    ) -> f32 {
        let Some(FieldScoresOfPart { values, shares }) = fields.of_parts.get_mut(producer.part_number) else {
            return 0.0;
        };
        let bearers = producer.part.segment.bearers(field.whole);
        let mut evidence = values.field(&self.consumer, producer.features, output, field, bearers);
        let shares = shares.entry(output.profile).or_insert_with(|| self.request_shares(producer, field));
        self.add_request_evidence(producer, *shares, &mut evidence);
        evidence.score
    }

    /// Returns the share of a field's name in its best clause of the request, and in the consumer's clause.
    fn request_shares(&self, producer: &ProducerTool<'_>, field: &Profile) -> (f32, f32) {
        let Some(scores) = producer.scores else { return (0.0, 0.0) };
        let own = self.request_score.map(|score| score.clause);
        let in_own = own.map_or(0.0, |own| scores.clause_share(&field.words, own));
        (scores.best_clause_share(&field.words, own), in_own)
    }

    fn add_request_evidence(
        &self,
        producer: &ProducerTool<'_>,
        (in_request, in_own): (f32, f32),
        evidence: &mut EvidenceScore,
    ) {
        evidence.add(Evidence::FieldInRequest, REQUEST_WEIGHT * in_request);
        if producer.position != self.position {
            evidence.add(Evidence::FieldInConsumerClause, REQUEST_WEIGHT * in_own);
        }
    }
}

/// Scores of fields for one argument, computed once per profile of a segment.
struct FieldScores {
    of_parts: Vec<FieldScoresOfPart>,
}

struct FieldScoresOfPart {
    values: ValueScores,
    /// Shares of the field's name in the request.
    shares: PositionMap<(f32, f32)>,
}

impl FieldScores {
    fn new(parts: usize) -> Self {
        let of_part = || FieldScoresOfPart { values: ValueScores::new(), shares: position_map() };
        Self { of_parts: std::iter::repeat_with(of_part).take(parts).collect() }
    }
}

/// Tool that may supply the argument.
struct ProducerTool<'a> {
    position: usize,
    part_number: usize,
    part: &'a SegmentPart,
    features: &'a ToolFeatures,
    scores: Option<&'a SegmentScores>,
    request_score: Option<ToolRequestScore>,
}
