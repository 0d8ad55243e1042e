//! The arguments of a tool as a model sees them, each with its position in the document.

use serde_json::Value;

use crate::load::reader::request;
use crate::request::path_template::{TemplateParameters, match_template};
use crate::{Binding, BodyShape, DocumentOperation, LoadNotes, Location, Operation, OperationBody, ValuePosition};

/// Maximum number of schemas that are searched for one argument: its own schema, `$ref` targets, subschemas.
const MAX_LAYERS: usize = 16;

/// One argument of a tool.
pub(super) struct InputArgument<'c> {
    pub(super) argument: &'c str,
    /// Kind of the argument, for messages: `query parameter`.
    pub(super) kind: &'static str,
    /// Position of the argument's description in the document; the operation's position if the argument has none.
    pub(super) at: ValuePosition<'c>,
    /// The argument's schema in the tool, followed by its `$ref` targets and subschemas.
    layers: Vec<&'c Value>,
}

impl<'c> InputArgument<'c> {
    /// Returns the value of `keyword` in the first of the argument's schemas that has it.
    pub(super) fn keyword(&self, keyword: &str) -> Option<&'c Value> {
        self.layers.iter().find_map(|schema| schema.get(keyword))
    }

    /// Returns the first description in the argument's schemas that is not empty.
    pub(super) fn description(&self) -> Option<&'c str> {
        let texts = self.layers.iter().filter_map(|schema| schema.get("description")?.as_str());
        texts.map(str::trim).find(|text| !text.is_empty())
    }

    /// Whether any schema of the argument shows an allowed value (an example, a default, `enum` or `const`).
    pub(super) fn shows_a_value(&self) -> bool {
        ["examples", "default", "enum", "const"].iter().any(|keyword| self.keyword(keyword).is_some())
    }
}

/// Returns the arguments of `operation` in the order of the document. `source` is the operation as written in the
/// document.
pub(super) fn inputs<'c>(source: &DocumentOperation<'c>, operation: &'c Operation) -> Vec<InputArgument<'c>> {
    // Broken parts were reported when the operation was first parsed.
    let mut notes = LoadNotes::default();
    let Ok((written, body)) = request(source, &mut notes) else { return Vec::new() };
    let Ok(TemplateParameters { parameters, .. }) = match_template(source, written, &mut notes) else {
        return Vec::new();
    };
    let root: &Value = &operation.tool.parameters;
    let mut inputs: Vec<InputArgument<'c>> = Vec::new();
    // `operation.bindings` has one binding per parameter, in the same order.
    for (binding, parameter) in operation.bindings.iter().zip(&parameters) {
        inputs.extend(input(root, &binding.argument, kind(binding), parameter.at.at.clone()));
    }
    let Some(shape) = operation.body.as_ref().map(|body| &body.shape) else { return inputs };
    let members: Vec<(&'c str, &'static str, Option<&str>)> = match shape {
        BodyShape::Argument(name) => vec![(name, "request body", None)],
        BodyShape::Properties(members) => members
            .iter()
            .map(|member| (member.argument.as_str(), "body property", Some(member.name.as_str())))
            .collect(),
    };
    for (argument, kind, name) in members {
        let at = body.as_ref().and_then(|body| position_in(body, name));
        inputs.extend(input(root, argument, kind, at.unwrap_or_else(|| source.operation.at.clone())));
    }
    inputs
}

fn input<'c>(
    root: &'c Value,
    argument: &'c str,
    kind: &'static str,
    at: ValuePosition<'c>,
) -> Option<InputArgument<'c>> {
    let layers = layers(root, root.get("properties")?.get(argument)?);
    Some(InputArgument { argument, kind, at, layers })
}

fn kind(binding: &Binding) -> &'static str {
    match binding.location {
        Location::Path => "path parameter",
        Location::Query => "query parameter",
        Location::Header => "header parameter",
        Location::Cookie => "cookie parameter",
    }
}

/// Returns the position of the body, or of its property `name`, in the document.
fn position_in<'c>(body: &OperationBody<'c>, name: Option<&str>) -> Option<ValuePosition<'c>> {
    let whole = body.schema.as_ref().or(body.at.as_ref()).map(|whole| whole.at.clone());
    let Some(name) = name else { return whole };
    let field = body.fields.iter().find(|field| field.name == name).and_then(|field| field.schemas.first());
    if let Some(field) = field {
        return Some(field.at.clone());
    }
    let schema = body.schema.clone().and_then(|schema| schema.follow().ok());
    let property = schema.as_ref().and_then(|schema| schema.member("properties")?.member(name));
    property.map(|property| property.at).or(whole)
}

/// Returns `schema` (a part of the tool's schema `root`), its `$ref` target, the subschemas of its `allOf` and
/// `anyOf`, and its `items`, transitively.
fn layers<'c>(root: &'c Value, schema: &'c Value) -> Vec<&'c Value> {
    let mut layers = vec![schema];
    let mut next = 0;
    while let Some(schema) = layers.get(next).copied() {
        next += 1;
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|text| root.pointer(text.strip_prefix('#')?));
        let parts = ["allOf", "anyOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array()).flatten();
        for layer in target.into_iter().chain(parts).chain(schema.get("items")) {
            if layers.len() < MAX_LAYERS && !layers.iter().any(|other| std::ptr::eq(*other, layer)) {
                layers.push(layer);
            }
        }
    }
    layers
}
