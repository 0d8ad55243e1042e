//! Joins the parameters and the body of an operation into one argument object, and builds the bindings that map it
//! back.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::request::body::{BodyProperty, PlainBody};
use crate::request::content::FILE_HINT;
use crate::schema::{
    ArgumentSchema, ArgumentVariants, EmptyValueRule, ObjectArgument, RequestPart, owners_note, report_variants,
};
use crate::tool::naming::{free_name, offered_names};
use crate::{
    Binding, BodyBinding, BodyFormat, BodyMember, BodyShape, Content, LoadNotes, LocatedValue, Location, OperationBody,
    OperationParameter, Subtypes,
};

/// Name of the argument that holds a whole body.
const BODY_ARGUMENT: &str = "body";

/// Beginning of the hint with a parameter's name in the API.
const SENT_AS: &str = "The API calls it `";

/// Extension for the example of a parameter, for which Swagger 2.0 has no keyword.
const EXAMPLE_EXTENSION: &str = "x-example";

/// The arguments of an operation and their bindings.
pub(crate) struct JoinedArguments<'d> {
    pub(crate) arguments: Vec<ObjectArgument<'d>>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) body: Option<BodyBinding>,
    /// Variants of the body, if their properties are arguments.
    pub(crate) variants: Option<ArgumentVariants<'d>>,
}

/// Joins parameters and body without name collisions: parameters in the order of the document, then the body.
pub(crate) fn join<'d>(
    subtypes: &Subtypes<'d>,
    parameters: Vec<OperationParameter<'d>>,
    body: Option<OperationBody<'d>>,
    notes: &mut LoadNotes,
) -> JoinedArguments<'d> {
    let names = argument_names(&parameters);
    let mut joined = JoinedArguments { arguments: Vec::new(), bindings: Vec::new(), body: None, variants: None };
    for (parameter, name) in parameters.into_iter().zip(names) {
        joined.arguments.push(argument(&parameter, &name));
        joined.bindings.push(binding(parameter, name));
    }
    if let Some(body) = body {
        joined.add_body(subtypes, body, notes);
    }
    joined
}

impl<'d> JoinedArguments<'d> {
    /// Returns the name and the location of an argument in the request.
    pub(crate) fn wire_name<'a>(&'a self, argument: &'a str) -> (&'a str, &'static str) {
        if let Some(binding) = self.bindings.iter().find(|binding| binding.argument == argument) {
            return (&binding.name, binding.location.as_str());
        }
        let members = match self.body.as_ref().map(|body| &body.shape) {
            Some(BodyShape::Properties(members)) => members.as_slice(),
            _ => &[],
        };
        let member = members.iter().find(|member| member.argument == argument);
        (member.map_or(argument, |member| &member.name), "body")
    }

    /// Makes each property of the body an argument if no property has a parameter's name; otherwise the whole body is
    /// one argument.
    fn add_body(&mut self, subtypes: &Subtypes<'d>, body: OperationBody<'d>, notes: &mut LoadNotes) {
        let taken: HashSet<String> = self.arguments.iter().map(|argument| argument.name.clone()).collect();
        let plain = body.plain_properties(subtypes);
        let content = body.content();
        let is_free =
            plain.as_ref().is_some_and(|plain| plain.properties.iter().all(|property| !taken.contains(property.name)));
        let shape = match plain.filter(|_| is_free) {
            Some(PlainBody { properties, variants }) => {
                if let (Some(variants), Some(schema)) = (&variants, &body.schema) {
                    report_variants(notes, &schema.at, variants);
                }
                let names: Vec<&'d str> = properties.iter().map(|property| property.name).collect();
                let members = members(&properties, &taken);
                let examples = examples_of_body(body.at.as_ref(), body.schema.as_ref());
                for (property, member) in properties.into_iter().zip(&members) {
                    let hints = [
                        file_hint(&body, property.name),
                        sent_as(&member.argument, &member.name),
                        variants.as_ref().and_then(|variants| owners_note(variants, property.name)),
                    ];
                    self.arguments.push(ObjectArgument {
                        name: member.argument.clone(),
                        examples: examples.iter().filter_map(|example| example.get(property.name)).collect(),
                        hint: joined_hint(hints),
                        empty: empty_member(body.format),
                        ..property_argument(property)
                    });
                }
                self.variants = variants.map(|variants| {
                    let offered = members.iter().map(|member| member.argument.clone());
                    ArgumentVariants { variants, names: names.into_iter().zip(offered).collect() }
                });
                BodyShape::Properties(members)
            }
            None => {
                let name = free_name(BODY_ARGUMENT, &taken);
                self.arguments.push(whole_body(&body, &content, name.clone(), notes));
                BodyShape::Argument(name)
            }
        };
        let OperationBody { media_type, format, required, encoding, .. } = body;
        self.body = Some(BodyBinding { media_type, format, required, shape, content, encoding });
    }
}

/// Maps body properties to argument names ([`offered_names`]). Names that every provider accepts are assigned first
/// and kept.
fn members(properties: &[BodyProperty<'_>], taken: &HashSet<String>) -> Vec<BodyMember> {
    let names: Vec<&str> = properties.iter().map(|property| property.name).collect();
    let offered = offered_names(&names, taken);
    names.into_iter().zip(offered).map(|(name, argument)| BodyMember { argument, name: name.to_owned() }).collect()
}

/// A form encodes an empty list or object as no field at all, so a required one needs a value.
fn empty_member(format: BodyFormat) -> EmptyValueRule {
    match format {
        BodyFormat::Form | BodyFormat::Multipart => EmptyValueRule::NoParameter,
        _ => EmptyValueRule::AsDescribed,
    }
}

fn file_hint(body: &OperationBody<'_>, property: &str) -> Option<String> {
    let encoding = body.encoding.get(property)?;
    (encoding.content == Content::File).then(|| FILE_HINT.to_owned())
}

/// Returns a hint with the parameter's name in the API if the argument's name differs: the API's error messages use
/// that name.
fn sent_as(argument: &str, name: &str) -> Option<String> {
    (argument != name).then(|| format!("{SENT_AS}{name}`."))
}

fn joined_hint(hints: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let hints: Vec<String> = hints.into_iter().flatten().collect();
    (!hints.is_empty()).then(|| hints.join(" "))
}

/// Names the arguments. If parameters of several locations share a name, the first of path, query, header and cookie
/// keeps it, and the location is appended to the other names. Names that a provider would refuse are changed last.
fn argument_names(parameters: &[OperationParameter<'_>]) -> Vec<String> {
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
    offered_names(&names.iter().map(String::as_str).collect::<Vec<_>>(), &HashSet::new())
}

fn argument<'d>(parameter: &OperationParameter<'d>, name: &str) -> ObjectArgument<'d> {
    ObjectArgument {
        name: name.to_owned(),
        schema: parameter.schema.clone().map_or_else(|| undescribed(parameter.location), ArgumentSchema::Document),
        part: if parameter.location == Location::Path { RequestPart::Path } else { RequestPart::Parameter },
        description: parameter.description,
        examples: examples_of_parameter(&parameter.at),
        hint: sent_as(name, &parameter.name),
        required: parameter.required,
        empty: match parameter.location {
            Location::Path => EmptyValueRule::OtherPath,
            Location::Query if parameter.allows_empty => EmptyValueRule::Allowed,
            Location::Query => EmptyValueRule::NoText,
            Location::Header | Location::Cookie => EmptyValueRule::NoParameter,
        },
        deprecated: parameter.deprecated,
    }
}

/// Returns the schema of an undescribed parameter: a string in the path, any value elsewhere.
fn undescribed<'d>(location: Location) -> ArgumentSchema<'d> {
    ArgumentSchema::Own(if location == Location::Path { json!({"type": "string"}) } else { json!({}) })
}

fn binding(parameter: OperationParameter<'_>, argument: String) -> Binding {
    let OperationParameter {
        name, slot, location, required, style, explode, allow_reserved, media_type, nested, ..
    } = parameter;
    let name = slot.unwrap_or(name);
    Binding { argument, name, location, required, style, explode, allow_reserved, media_type, nested }
}

fn property_argument(property: BodyProperty<'_>) -> ObjectArgument<'_> {
    ObjectArgument {
        name: property.name.to_owned(),
        schema: match property.schemas.as_slice() {
            [] => ArgumentSchema::Own(json!({})),
            [only] => ArgumentSchema::Document(only.clone()),
            _ => ArgumentSchema::Alternatives(property.schemas),
        },
        part: RequestPart::Body,
        description: None,
        examples: Vec::new(),
        hint: None,
        required: property.required,
        empty: EmptyValueRule::AsDescribed,
        deprecated: false,
    }
}

/// Returns the argument for a whole body. If its media type has no JSON representation, the argument is the text or
/// the file to send.
fn whole_body<'d>(
    body: &OperationBody<'d>,
    content: &Content,
    name: String,
    notes: &mut LoadNotes,
) -> ObjectArgument<'d> {
    ObjectArgument {
        name,
        schema: whole_schema(body, content, notes),
        part: RequestPart::Body,
        description: body.description,
        examples: examples_of_body(body.at.as_ref(), None),
        hint: whole_hint(body, content),
        required: body.required,
        empty: EmptyValueRule::AsDescribed,
        deprecated: false,
    }
}

fn whole_schema<'d>(body: &OperationBody<'d>, content: &Content, notes: &mut LoadNotes) -> ArgumentSchema<'d> {
    let is_structured = match body.format {
        BodyFormat::Xml | BodyFormat::Yaml => body.schema.is_some(),
        BodyFormat::Text | BodyFormat::Bytes => body.schema.as_ref().is_some_and(|schema| is_scalar(schema)),
        _ => true,
    };
    match &body.schema {
        _ if !body.fields.is_empty() => {
            let arguments = body.fields.iter().map(|property| ObjectArgument {
                hint: file_hint(body, property.name),
                ..property_argument(property.clone())
            });
            ArgumentSchema::Object(arguments.collect())
        }
        Some(schema) if is_structured => ArgumentSchema::Document(schema.clone()),
        None if matches!(body.format, BodyFormat::Form | BodyFormat::Multipart) => {
            ArgumentSchema::Own(json!({"type": "object"}))
        }
        None if is_structured => ArgumentSchema::Own(json!({})),
        _ if *content == Content::File => ArgumentSchema::Own(
            json!({"type": "string", "description": format!("The request body, {}", body.media_type)}),
        ),
        _ => {
            let text = format!("The request body as {} text", body.media_type);
            notes.remark(format!("the request body is accepted as {} text", body.media_type));
            ArgumentSchema::Own(json!({"type": "string", "description": text}))
        }
    }
}

/// Returns the hint that names the file properties of a body that is one argument.
fn whole_hint(body: &OperationBody<'_>, content: &Content) -> Option<String> {
    if *content == Content::File {
        return Some(FILE_HINT.to_owned());
    }
    let files: Vec<String> = body
        .encoding
        .iter()
        .filter(|(_, encoding)| encoding.content == Content::File)
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    (!files.is_empty() && body.fields.is_empty()).then(|| format!("{}: {FILE_HINT}", files.join(", ")))
}

/// Whether each value of the schema is a scalar, which has one text form.
fn is_scalar(schema: &LocatedValue<'_>) -> bool {
    let Ok(schema) = schema.follow() else { return false };
    schema.text("type").is_some_and(|name| matches!(name, "string" | "number" | "integer" | "boolean" | "file"))
}

/// Returns the examples of a Parameter Object, in the order of the document.
fn examples_of_parameter<'d>(parameter: &LocatedValue<'d>) -> Vec<&'d Value> {
    let mut examples = examples_beside(parameter);
    for (_, media) in parameter.members_of("content") {
        examples.extend(examples_beside(&media));
    }
    examples
}

/// Returns the examples of a body from its Request Body Object and its schema.
fn examples_of_body<'d>(body: Option<&LocatedValue<'d>>, schema: Option<&LocatedValue<'d>>) -> Vec<&'d Value> {
    let media = body.and_then(|body| body.member("content"));
    let mut examples: Vec<&Value> =
        media.iter().flat_map(LocatedValue::members).flat_map(|(_, media)| examples_beside(&media)).collect();
    let schema = schema.and_then(|schema| schema.follow().ok());
    examples.extend(schema.and_then(|schema| schema.value.get("example")));
    examples
}

/// Returns `example` and the values of `examples`, which may be `$ref`s.
fn examples_beside<'d>(holder: &LocatedValue<'d>) -> Vec<&'d Value> {
    let own = holder.value.get("example").or_else(|| holder.value.get(EXAMPLE_EXTENSION));
    let named = holder.member("examples");
    let named = named.iter().flat_map(LocatedValue::members).filter_map(|(_, example)| example.follow().ok());
    own.into_iter().chain(named.filter_map(|example| example.value.get("value"))).collect()
}
