//! Parameters and body of an operation → one argument object, and the bindings that lead back.

use std::collections::HashSet;

use serde_json::json;

use super::binding::{Binding, BodyBinding, BodyShape, Location};
use super::body::{Body, BodyProperty};
use super::document::Document;
use super::example;
use super::media_type::BodyFormat;
use super::notes::Notes;
use super::parameter::Parameter;
use super::schema::{Argument, ArgumentSchema, Empty, Part};

/// The argument that holds a whole body.
const BODY_ARGUMENT: &str = "body";

/// The arguments of an operation and where they go.
pub(super) struct Joined<'d> {
    pub(super) arguments: Vec<Argument<'d>>,
    pub(super) bindings: Vec<Binding>,
    pub(super) body: Option<BodyBinding>,
}

/// Joins parameters and body without collisions. Parameters come in the order of the document, the body behind them.
pub(super) fn join<'d>(
    document: &'d Document,
    parameters: Vec<Parameter<'d>>,
    body: Option<Body<'d>>,
    notes: &mut Notes,
) -> Joined<'d> {
    let names = argument_names(&parameters);
    let mut joined = Joined { arguments: Vec::new(), bindings: Vec::new(), body: None };
    for (parameter, name) in parameters.into_iter().zip(names) {
        joined.arguments.push(argument(document, &parameter, &name));
        joined.bindings.push(binding(parameter, name));
    }
    if let Some(body) = body {
        joined.add_body(document, body, notes);
    }
    joined
}

impl<'d> Joined<'d> {
    /// Properties become arguments where none of them bears a parameter's name; else the body is one argument.
    fn add_body(&mut self, document: &'d Document, body: Body<'d>, notes: &mut Notes) {
        let taken: HashSet<String> = self.arguments.iter().map(|argument| argument.name.clone()).collect();
        let properties = body.plain_properties(document);
        let shape = match properties.filter(|all| all.iter().all(|property| !taken.contains(property.name))) {
            Some(properties) => {
                let names = properties.iter().map(|property| property.name.to_owned()).collect();
                let examples = example::of_body(document, body.at.as_ref(), body.schema.as_ref());
                let argument = |property: BodyProperty<'d>| Argument {
                    examples: examples.iter().filter_map(|example| example.get(property.name)).collect(),
                    ..property_argument(property)
                };
                self.arguments.extend(properties.into_iter().map(argument));
                BodyShape::Properties(names)
            }
            None => {
                let name = free_name(BODY_ARGUMENT, &taken);
                self.arguments.push(whole_body(document, &body, name.clone(), notes));
                BodyShape::Argument(name)
            }
        };
        let Body { media_type, required, encoding, .. } = body;
        self.body = Some(BodyBinding { media_type, required, shape, encoding });
    }
}

/// Where two locations have a parameter of one name, the first of path, query, header and cookie keeps it; the others are told
/// apart by their location.
fn argument_names(parameters: &[Parameter<'_>]) -> Vec<String> {
    let mut names: Vec<String> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let mut taken: HashSet<String> = HashSet::new();
    let mut later: Vec<(Location, usize)> = Vec::new();
    let mut order: Vec<(Location, usize)> =
        parameters.iter().enumerate().map(|(index, parameter)| (parameter.location, index)).collect();
    order.sort_unstable();
    for (location, index) in order {
        if names.get(index).is_some_and(|name| !taken.insert(name.clone())) {
            later.push((location, index));
        }
    }
    for (location, index) in later {
        if let Some(name) = names.get_mut(index) {
            *name = free_name(&format!("{name}_{}", location.as_str()), &taken);
            taken.insert(name.clone());
        }
    }
    names
}

fn free_name(wish: &str, taken: &HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{wish}_{number}"));
    std::iter::once(wish.to_owned()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or_default()
}

fn argument<'d>(document: &'d Document, parameter: &Parameter<'d>, name: &str) -> Argument<'d> {
    Argument {
        name: name.to_owned(),
        schema: parameter.schema.clone().map_or_else(|| undescribed(parameter.location), ArgumentSchema::Document),
        part: if parameter.location == Location::Path { Part::Path } else { Part::Parameter },
        description: parameter.description,
        examples: example::of_parameter(document, &parameter.at),
        required: parameter.required,
        empty: match parameter.location {
            Location::Path => Empty::OtherPath,
            Location::Query if parameter.allows_empty => Empty::Allowed,
            Location::Query => Empty::NoParameter,
            Location::Header | Location::Cookie => Empty::AsDescribed,
        },
        deprecated: parameter.deprecated,
    }
}

/// Nothing but a text can be meant by a place in the path that nobody describes.
fn undescribed<'d>(location: Location) -> ArgumentSchema<'d> {
    ArgumentSchema::Own(if location == Location::Path { json!({"type": "string"}) } else { json!({}) })
}

fn binding(parameter: Parameter<'_>, argument: String) -> Binding {
    let Parameter { name, slot, location, required, style, explode, allow_reserved, media_type, nested, .. } =
        parameter;
    let name = slot.unwrap_or(name);
    Binding { argument, name, location, required, style, explode, allow_reserved, media_type, nested }
}

fn property_argument(property: BodyProperty<'_>) -> Argument<'_> {
    Argument {
        name: property.name.to_owned(),
        schema: property.schema.map_or_else(|| ArgumentSchema::Own(json!({})), ArgumentSchema::Document),
        part: Part::Body,
        description: None,
        examples: Vec::new(),
        required: property.required,
        empty: Empty::AsDescribed,
        deprecated: false,
    }
}

/// A body of a media type that is not written from JSON values is asked for as the text that is sent.
fn whole_body<'d>(document: &'d Document, body: &Body<'d>, name: String, notes: &mut Notes) -> Argument<'d> {
    let is_string = |schema: &&super::document::Located<'d>| {
        document
            .follow((*schema).clone())
            .is_ok_and(|schema| schema.value.get("type").is_some_and(|name| name == "string"))
    };
    let schema = match &body.schema {
        Some(schema) if body.format != BodyFormat::Text || is_string(&schema) => {
            ArgumentSchema::Document(schema.clone())
        }
        None if !body.fields.is_empty() => {
            ArgumentSchema::Object(body.fields.iter().cloned().map(property_argument).collect())
        }
        None if body.format != BodyFormat::Text => ArgumentSchema::Own(json!({})),
        _ => {
            let text = format!("The request body as {} text", body.media_type);
            notes.remark(format!("the request body is asked for as {} text", body.media_type));
            ArgumentSchema::Own(json!({"type": "string", "description": text}))
        }
    };
    Argument {
        name,
        schema,
        part: Part::Body,
        description: body.description,
        examples: example::of_body(document, body.at.as_ref(), None),
        required: body.required,
        empty: Empty::AsDescribed,
        deprecated: false,
    }
}
