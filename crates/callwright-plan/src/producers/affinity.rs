//! Scores how well an output field of one tool fits an argument of another, independent of the request.

use super::candidate::{Evidence, EvidenceScore};
use super::profile::Profile;
use super::segment::Segment;
use super::tool::OutputFeatures;
use super::tool::{InputFeatures, PositionMap, ToolFeatures, position_map};
use super::vocabulary::{share, shared, sum};
use callwright_search::retrieval::Term;
use callwright_types::ValueKind;

/// Weight of what is declared: a documented link, or a tool that the caller declares as used. More than names and types
/// together.
pub(super) const DECLARED: f32 = 3.0;

/// Weight of the key of a thing; as much as a name that no other field has.
pub(crate) const KEY: f32 = 2.0;

/// Penalty per nesting level of an output field, and for a value that has to be selected from a list first; less than
/// the penalty for a write.
const LEVEL: f32 = 0.5;
const MAX_LEVELS: f32 = 2.0;

/// Type compatibility at or below which a value can never be the argument.
const IMPOSSIBLE: f32 = -0.5;

/// Penalty for a tool as its own producer. This is not impossible: sums can be computed from sums.
const ITSELF: f32 = 2.0;

/// Penalty for a tool that needs the value itself; more than a request can add, so that it ranks behind others.
const NEEDS: f32 = 5.0;

/// Argument and the tool that takes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConsumerArgument<'a> {
    pub(super) segment: &'a Segment,
    pub(super) tool: &'a ToolFeatures,
    pub(super) input: &'a InputFeatures,
    pub(super) profile: &'a Profile,
}

/// Adds the evidence for a producing tool that does not depend on the output field.
pub(super) fn add_tool_evidence(
    consumer: &ConsumerArgument<'_>,
    producer: &ToolFeatures,
    is_itself: bool,
    evidence: &mut EvidenceScore,
) {
    evidence.add(Evidence::Named, share(&producer.subject, &consumer.profile.description_words));
    evidence.add(Evidence::SameSubject, share(&consumer.tool.subject, &producer.subject));
    if producer.writes {
        evidence.add(Evidence::Writes, -1.0);
    }
    if producer.ready {
        evidence.add(Evidence::Ready, 1.0);
    }
    if consumer.input.collection.is_some() && consumer.input.collection == producer.path {
        evidence.add(Evidence::Collection, 1.0);
    }
    if is_itself {
        evidence.add(Evidence::Itself, -ITSELF);
    }
    if needs_value(consumer, producer) {
        evidence.add(Evidence::Needs, -NEEDS);
    }
}

/// Whether a tool requires the value that it would supply: an argument of the same name that identifies a thing.
fn needs_value(consumer: &ConsumerArgument<'_>, producer: &ToolFeatures) -> bool {
    let argument = consumer.profile;
    argument.is_identifying() && !argument.is_bare() && producer.needed.binary_search(&argument.whole).is_ok()
}

/// Adds the evidence for a tool without documented outputs: the words that its name shares with the argument. A tool
/// about the thing that the argument identifies most likely returns its key.
pub(super) fn add_answer_evidence(
    consumer: &ConsumerArgument<'_>,
    producer: &ToolFeatures,
    evidence: &mut EvidenceScore,
) {
    evidence.add(Evidence::SharedWords, share(&consumer.profile.words, &producer.subject));
    let things = &consumer.input.things;
    if consumer.profile.is_identifying() && !things.is_empty() {
        let common = things.iter().filter(|thing| producer.things.binary_search(thing).is_ok()).count();
        evidence.add(Evidence::Key, common as f32 / things.len() as f32);
    }
}

/// Adds the evidence for an output field. `bearers` is the number of tools in its segment with a field of this name.
pub(super) fn add_field_evidence(
    consumer: &ConsumerArgument<'_>,
    producer: &ToolFeatures,
    output: &OutputFeatures,
    field: &Profile,
    bearers: u32,
    evidence: &mut EvidenceScore,
) {
    add_value_evidence(consumer, producer, field, bearers, evidence);
    add_place_evidence(consumer, producer, output, field, evidence);
}

/// Adds the evidence for the value of a field.
fn add_value_evidence(
    consumer: &ConsumerArgument<'_>,
    producer: &ToolFeatures,
    field: &Profile,
    bearers: u32,
    evidence: &mut EvidenceScore,
) {
    let argument = consumer.profile;
    by_name(consumer, producer, field, bearers, evidence);
    let common = shared(&argument.description_words, &field.all_words);
    if common > 0.0 {
        evidence.add(Evidence::Description, common / sum(&argument.description_words));
    }
    evidence.add(Evidence::Type, fit(field.kind, argument.kind));
    by_values(argument, field, evidence);
    if is_of_other_thing(consumer, field) {
        evidence.add(Evidence::Identifies, -1.0);
    } else if argument.is_identifying() && field.is_identifying() {
        evidence.add(Evidence::Identifies, 1.0);
    } else if argument.is_identifying() || field.identifies {
        evidence.add(Evidence::Identifies, -1.0);
    }
}

/// Adds the evidence for the location of a field in the answer of a tool.
fn add_place_evidence(
    consumer: &ConsumerArgument<'_>,
    producer: &ToolFeatures,
    output: &OutputFeatures,
    field: &Profile,
    evidence: &mut EvidenceScore,
) {
    if output.in_list {
        evidence.add(Evidence::InList, -LEVEL);
    }
    evidence.add(Evidence::Nested, -(LEVEL * f32::from(output.depth)).min(MAX_LEVELS));
    if producer.needed.binary_search(&field.whole).is_ok() {
        evidence.add(Evidence::Echo, -1.0);
    }
    if consumer.segment.links(producer, output, consumer) {
        evidence.add(Evidence::Linked, DECLARED);
    }
}

/// Scores of the values of a segment's fields for one argument. Many tools answer with the same fields, so the score of
/// a profile is computed once.
#[derive(Debug)]
pub(super) struct ValueScores {
    by_profile: PositionMap<f32>,
}

impl ValueScores {
    pub(super) fn new() -> Self {
        Self { by_profile: position_map() }
    }

    /// Returns the sum of the evidence that [`add_field_evidence`] adds.
    pub(super) fn field(
        &mut self,
        consumer: &ConsumerArgument<'_>,
        producer: &ToolFeatures,
        output: &OutputFeatures,
        field: &Profile,
        bearers: u32,
    ) -> EvidenceScore {
        let compute = || {
            let mut evidence = EvidenceScore::default();
            add_value_evidence(consumer, producer, field, bearers, &mut evidence);
            evidence.score
        };
        let score = if may_be_key(consumer, field) {
            // It depends on the things that the tool is about.
            compute()
        } else {
            *self.by_profile.entry(output.profile).or_insert_with(compute)
        };
        let mut evidence = EvidenceScore::from_sum(score);
        add_place_evidence(consumer, producer, output, field, &mut evidence);
        evidence
    }
}

/// Whether the field can be the key of the thing that the argument's name contains, by another name.
fn may_be_key(consumer: &ConsumerArgument<'_>, field: &Profile) -> bool {
    let argument = consumer.profile;
    !consumer.input.things.is_empty() && field.identifies && (argument.whole != field.whole || argument.is_bare())
}

/// Whether the field identifies another thing than the argument does, by their names: `review_id` for `product_id`.
fn is_of_other_thing(consumer: &ConsumerArgument<'_>, field: &Profile) -> bool {
    let argument = consumer.profile;
    let both = argument.identifies && field.identifies && !argument.things.is_empty() && !field.things.is_empty();
    both && !argument
        .things
        .iter()
        .any(|thing| [&field.things, &field.holders].iter().any(|things| things.binary_search(thing).is_ok()))
}

fn by_name(
    consumer: &ConsumerArgument<'_>,
    producer: &ToolFeatures,
    field: &Profile,
    bearers: u32,
    evidence: &mut EvidenceScore,
) {
    let argument = consumer.profile;
    // Names such as `id` are the same for all things.
    if argument.whole == field.whole && !argument.is_bare() {
        evidence.add(Evidence::SameName, 1.0 + 1.0 / (1.0 + (bearers.max(1) as f32).ln()));
    }
    // Two bare keys share no meaningful words; the things they identify are compared below.
    if !field.is_bare() {
        evidence.add(Evidence::SharedWords, share(&field.words, &argument.words));
    }
    if may_be_key(consumer, field) {
        let common = consumer.input.things.iter().filter(|thing| {
            [&producer.things, &field.holders, &field.things].iter().any(|things| things.binary_search(thing).is_ok())
        });
        let common = common.count();
        evidence.add(Evidence::Key, KEY * common as f32 / consumer.input.things.len() as f32);
    }
    if argument.schema.is_some() && argument.schema == field.schema {
        evidence.add(Evidence::SameSchema, 1.0);
    }
}

fn by_values(argument: &Profile, field: &Profile, evidence: &mut EvidenceScore) {
    if let (Some(required), Some(given)) = (argument.format, field.format) {
        evidence.add(Evidence::Format, if required == given { 1.0 } else { -0.5 });
    }
    if !argument.values.is_empty() {
        evidence.add(
            Evidence::Values,
            match field.values.is_empty() {
                true => -0.5,
                false if have_common(&argument.values, &field.values) => 1.0,
                false => -1.0,
            },
        );
    }
    if have_common(&argument.examples, &field.examples) {
        evidence.add(Evidence::Example, 1.0);
    }
}

/// Whether a term occurs in both lists, of which the second is sorted.
fn have_common(left: &[Term], right: &[Term]) -> bool {
    left.iter().any(|term| right.binary_search(term).is_ok())
}

/// Whether a value of this kind can be converted to the argument: as it is, as a string, or as an item of a list.
pub(super) fn is_possible(field: &Profile, argument: &Profile) -> bool {
    fit(field.kind, argument.kind) > IMPOSSIBLE
}

/// Returns the compatibility of two kinds: 1 for equal, -1 for incompatible, 0 if either is unknown.
fn fit(given: Option<ValueKind>, required: Option<ValueKind>) -> f32 {
    use ValueKind::{Array, Boolean, Integer, Number, Object, String};
    let (Some(given), Some(required)) = (given, required) else { return 0.0 };
    match (given, required) {
        (Boolean, Boolean) | (Array, Array) | (Object, Object) => 1.0,
        (Integer, Number) | (Number, Integer) => 0.9,
        (Boolean, _) | (_, Boolean) => -1.0,
        // Numbers can be written as strings.
        (Integer | Number, String) => 0.3,
        (String, Integer | Number) => -0.2,
        // An item can be selected from a list, and a single value can be wrapped in one.
        (Array, Object) => -0.5,
        (Array, _) => 0.0,
        (_, Array) => -0.2,
        (Object, _) => -0.7,
        (_, Object) => -0.5,
        (String, String) | (Integer, Integer) | (Number, Number) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn convertible_kinds_fit_better_than_incompatible_ones() {
        use ValueKind::{Array, Boolean, Integer, Number, Object, String};
        let fit = |given, required| fit(Some(given), Some(required));
        assert!(fit(String, String) > fit(Integer, Number) && fit(Integer, Number) > fit(Integer, String));
        assert!(fit(Integer, String) > fit(Array, String) && fit(Array, String) > fit(Object, String));
        assert!(fit(Boolean, Number) < fit(Object, Number));
        assert!(super::fit(None, Some(String)).abs() < f32::EPSILON);
    }
}
