//! Documentation texts of bodies and responses in Swagger 2.0.

use super::super::body::OperationBody;
use super::super::document::LocatedValue;
use super::super::documentation::{DocTextCollector, describe_content, describe_schema, is_error, show_example};

/// Adds the texts of `body`: its own, or those of its fields.
pub(in super::super) fn describe_body<'d>(texts: &mut DocTextCollector<'d>, body: &OperationBody<'d>) {
    if body.fields.is_empty() {
        body.at.iter().for_each(|at| texts.member(at, "description", "Request body"));
        body.schema.iter().for_each(|schema| describe_schema(texts, schema, ""));
    }
    for field in &body.fields {
        let Some(schema) = &field.schema else { continue };
        describe_schema(texts, schema, field.name);
    }
}

/// Adds the texts of `response` other than its description. Schema and examples are members of the response itself
/// (Swagger 2.0, Response Object).
pub(in super::super) fn describe_response<'d>(
    texts: &mut DocTextCollector<'d>,
    status: &str,
    response: &LocatedValue<'d>,
) {
    describe_content(texts, status, response);
    if !is_error(status) {
        return;
    }
    for (_, example) in response.member("examples").iter().flat_map(LocatedValue::members) {
        show_example(texts, status, &example);
    }
}
