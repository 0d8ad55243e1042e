//! Examples of parameters and bodies that are outside their schemas.

use serde_json::Value;

use super::document::{ApiDocument, LocatedValue};

/// Extension for the example of a parameter, for which Swagger 2.0 has no keyword.
const EXTENSION: &str = "x-example";

/// Returns the examples of a Parameter Object, in the order of the document.
pub(super) fn of_parameter<'d>(document: &'d ApiDocument, parameter: &LocatedValue<'d>) -> Vec<&'d Value> {
    let mut examples = beside(document, parameter);
    for (_, media) in parameter.member("content").iter().flat_map(LocatedValue::members) {
        examples.extend(beside(document, &media));
    }
    examples
}

/// Returns the examples of a body from its Request Body Object and its schema.
pub(super) fn of_body<'d>(
    document: &'d ApiDocument,
    body: Option<&LocatedValue<'d>>,
    schema: Option<&LocatedValue<'d>>,
) -> Vec<&'d Value> {
    let media = body.and_then(|body| body.member("content"));
    let mut examples: Vec<&Value> =
        media.iter().flat_map(LocatedValue::members).flat_map(|(_, media)| beside(document, &media)).collect();
    let schema = schema.and_then(|schema| document.follow(schema.clone()).ok());
    examples.extend(schema.and_then(|schema| schema.value.get("example")));
    examples
}

/// Returns `example` and the values of `examples`, which may be `$ref`s.
fn beside<'d>(document: &'d ApiDocument, holder: &LocatedValue<'d>) -> Vec<&'d Value> {
    let own = holder.value.get("example").or_else(|| holder.value.get(EXTENSION));
    let named = holder.member("examples");
    let named = named.iter().flat_map(LocatedValue::members).filter_map(|(_, example)| document.follow(example).ok());
    own.into_iter().chain(named.filter_map(|example| example.value.get("value"))).collect()
}
