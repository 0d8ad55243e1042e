//! Scores how well an output field of one tool fits an argument of another, independent of the request.

use super::candidate::{Evidence, EvidenceScore};
use super::profile::Profile;
use super::segment::Segment;
use super::tool::{InputFeatures, OutputFeatures, ToolFeatures};
use super::vocabulary::{share, shared, sum};
use callwright_search::retrieval::Term;
use callwright_types::ValueKind;

/// Weight of a documented link; more than names and types together.
const LINK: f32 = 3.0;

/// Penalty for a value that has to be selected from a list first; less than the penalty for a write.
const IN_LIST: f32 = 0.5;

/// Weight of the key of a thing; as much as a name that no other field has.
const KEY: f32 = 2.0;

/// Penalty per nesting level of an output field.
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
pub(super) fn of_tool(taker: &ConsumerArgument<'_>, maker: &ToolFeatures, is_itself: bool, tally: &mut EvidenceScore) {
    tally.add(Evidence::Named, share(&maker.subject, &taker.profile.said));
    tally.add(Evidence::SameSubject, share(&taker.tool.subject, &maker.subject));
    if maker.writes {
        tally.add(Evidence::Writes, -1.0);
    }
    if maker.ready {
        tally.add(Evidence::Ready, 1.0);
    }
    if taker.input.collection.is_some() && taker.input.collection == maker.path {
        tally.add(Evidence::Collection, 1.0);
    }
    if is_itself {
        tally.add(Evidence::Itself, -ITSELF);
    }
    if needs_value(taker, maker) {
        tally.add(Evidence::Needs, -NEEDS);
    }
}

/// Whether a tool requires the value that it would supply: an argument of the same name that identifies a thing.
fn needs_value(taker: &ConsumerArgument<'_>, maker: &ToolFeatures) -> bool {
    let argument = taker.profile;
    argument.stands_for_thing() && !argument.is_bare() && maker.needed.binary_search(&argument.whole).is_ok()
}

/// Adds the evidence for a tool without documented outputs: the words that its name shares with the argument. A tool
/// about the thing that the argument identifies most likely returns its key.
pub(super) fn of_answer(taker: &ConsumerArgument<'_>, maker: &ToolFeatures, tally: &mut EvidenceScore) {
    tally.add(Evidence::SharedWords, share(&taker.profile.words, &maker.subject));
    let things = &taker.input.things;
    if taker.profile.stands_for_thing() && !things.is_empty() {
        let known = things.iter().filter(|thing| maker.things.binary_search(thing).is_ok()).count();
        tally.add(Evidence::Key, known as f32 / things.len() as f32);
    }
}

/// Adds the evidence for an output field. `bearers` is the number of tools in its segment with a field of this name.
pub(super) fn of_field(
    taker: &ConsumerArgument<'_>,
    maker: &ToolFeatures,
    output: &OutputFeatures,
    field: &Profile,
    bearers: u32,
    tally: &mut EvidenceScore,
) {
    let argument = taker.profile;
    by_name(taker, maker, field, bearers, tally);
    let told = shared(&argument.said, &field.told);
    if told > 0.0 {
        tally.add(Evidence::Description, told / sum(&argument.said));
    }
    tally.add(Evidence::Type, fit(field.kind, argument.kind));
    by_values(argument, field, tally);
    if is_of_other_thing(taker, field) {
        tally.add(Evidence::Identifies, -1.0);
    } else if argument.stands_for_thing() && field.stands_for_thing() {
        tally.add(Evidence::Identifies, 1.0);
    } else if argument.stands_for_thing() || field.identifies {
        tally.add(Evidence::Identifies, -1.0);
    }
    if output.in_list {
        tally.add(Evidence::InList, -IN_LIST);
    }
    tally.add(Evidence::Nested, -(LEVEL * f32::from(output.depth)).min(MAX_LEVELS));
    if maker.needed.binary_search(&field.whole).is_ok() {
        tally.add(Evidence::Echo, -1.0);
    }
    if taker.segment.links(maker, output, taker) {
        tally.add(Evidence::Linked, LINK);
    }
}

/// Whether the field identifies another thing than the argument does, by their names: `review_id` for `product_id`.
fn is_of_other_thing(taker: &ConsumerArgument<'_>, field: &Profile) -> bool {
    let argument = taker.profile;
    let both = argument.identifies && field.identifies && !argument.things.is_empty() && !field.things.is_empty();
    both && !argument
        .things
        .iter()
        .any(|thing| [&field.things, &field.holders].iter().any(|things| things.binary_search(thing).is_ok()))
}

fn by_name(
    taker: &ConsumerArgument<'_>,
    maker: &ToolFeatures,
    field: &Profile,
    bearers: u32,
    tally: &mut EvidenceScore,
) {
    let argument = taker.profile;
    // Names such as `id` are the same for all things.
    if argument.whole == field.whole && !argument.is_bare() {
        tally.add(Evidence::SameName, 1.0 + 1.0 / (1.0 + (bearers.max(1) as f32).ln()));
    }
    // Two bare keys share no meaningful words; the things they identify are compared below.
    if !field.is_bare() {
        tally.add(Evidence::SharedWords, share(&field.words, &argument.words));
    }
    if !taker.input.things.is_empty() && field.identifies && (argument.whole != field.whole || argument.is_bare()) {
        let known = taker.input.things.iter().filter(|thing| {
            [&maker.things, &field.holders, &field.things].iter().any(|things| things.binary_search(thing).is_ok())
        });
        let known = known.count();
        tally.add(Evidence::Key, KEY * known as f32 / taker.input.things.len() as f32);
    }
    if argument.schema.is_some() && argument.schema == field.schema {
        tally.add(Evidence::SameSchema, 1.0);
    }
}

fn by_values(argument: &Profile, field: &Profile, tally: &mut EvidenceScore) {
    if let (Some(wanted), Some(given)) = (argument.format, field.format) {
        tally.add(Evidence::Format, if wanted == given { 1.0 } else { -0.5 });
    }
    if !argument.values.is_empty() {
        tally.add(
            Evidence::Values,
            match field.values.is_empty() {
                true => -0.5,
                false if have_common(&argument.values, &field.values) => 1.0,
                false => -1.0,
            },
        );
    }
    if have_common(&argument.examples, &field.examples) {
        tally.add(Evidence::Example, 1.0);
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
fn fit(given: Option<ValueKind>, wanted: Option<ValueKind>) -> f32 {
    use ValueKind::{Array, Boolean, Integer, Number, Object, String};
    let (Some(given), Some(wanted)) = (given, wanted) else { return 0.0 };
    match (given, wanted) {
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
    fn what_can_be_written_or_chosen_fits_better_than_what_cannot() {
        use ValueKind::{Array, Boolean, Integer, Number, Object, String};
        let fit = |given, wanted| fit(Some(given), Some(wanted));
        assert!(fit(String, String) > fit(Integer, Number) && fit(Integer, Number) > fit(Integer, String));
        assert!(fit(Integer, String) > fit(Array, String) && fit(Array, String) > fit(Object, String));
        assert!(fit(Boolean, Number) < fit(Object, Number));
        assert!(super::fit(None, Some(String)).abs() < f32::EPSILON);
    }
}
