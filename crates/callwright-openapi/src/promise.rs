//! Extracts the documented guarantees of successful response bodies: the minimal constraints of their schemas, in
//! compact form.
//!
//! Response schemas are less reliable than request schemas. Therefore only simple constraints are used: a single
//! schema without alternatives and its required members. Nothing is extracted if a parameter lets the caller select
//! the fields of the response.

use std::ops::RangeInclusive;

use http::Method;
use serde_json::Value;

use super::binding::{Binding, BodyFormat};
use super::document::{ApiDocument, LocatedValue, Version};
use super::media_type::SendableMediaType;
use super::shorten::shorten;
use super::swagger;
use callwright_types::promise::{Promise, PromisedShape, PromisedValue};

/// Maximum length of a stored response description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 200;

/// Maximum number of required members stored per object. That suffices to distinguish a response that has none of
/// them from one that has some.
const MAX_REQUIRED: usize = 32;

/// Maximum nesting of `allOf` and `$ref` that is followed.
const MAX_PARTS_DEPTH: usize = 8;

/// Names of members that wrap a result.
const WRAPPERS: [&str; 8] = ["data", "result", "results", "response", "payload", "content", "items", "value"];

/// Parameters that select the fields of the response (names in lower case, without separators).
const CHOOSERS: [&str; 12] = [
    "fields",
    "field",
    "select",
    "exclude",
    "omit",
    "only",
    "include",
    "prefer",
    "fieldmask",
    "attributes",
    "props",
    "view",
];

/// Statuses whose response body describes the result of the call. Other 2xx responses have no body, a partial one, or
/// the same one for every call.
const STATUSES: RangeInclusive<u16> = 200..=203;

/// Returns the documented guarantees of an operation's successful responses, responses with a single status first.
pub(super) fn promises<'d>(
    document: &'d ApiDocument,
    operation: &LocatedValue<'d>,
    method: &Method,
    bindings: &[Binding],
) -> Vec<Promise> {
    if *method == Method::HEAD {
        return Vec::new();
    }
    let is_chosen = bindings.iter().any(|binding| CHOOSERS.contains(&folded(&binding.name).as_str()));
    let mut promises: Vec<Promise> = Vec::new();
    for (status, response) in operation.member("responses").iter().flat_map(LocatedValue::members) {
        let Some(statuses) = statuses_of(status) else { continue };
        let Ok(response) = document.follow(response) else { continue };
        let Some(mut promise) = of_response(document, operation, &response, statuses) else { continue };
        promise.value = promise.value.filter(|_| !is_chosen);
        promises.push(promise);
    }
    promises.sort_by_key(|promise| promise.statuses.end() - promise.statuses.start());
    promises
}

fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn statuses_of(status: &str) -> Option<RangeInclusive<u16>> {
    if status.eq_ignore_ascii_case("2xx") {
        return Some(STATUSES);
    }
    let status: u16 = status.trim().parse().ok()?;
    STATUSES.contains(&status).then_some(status..=status)
}

/// Returns the guarantees of one response; `None` if there are none.
fn of_response<'d>(
    document: &'d ApiDocument,
    operation: &LocatedValue<'d>,
    response: &LocatedValue<'d>,
    statuses: RangeInclusive<u16>,
) -> Option<Promise> {
    let (only_json, schemas) = match document.version {
        Version::V2_0 => in_swagger(document, operation, response)?,
        _ => in_content(response)?,
    };
    let mut values = schemas.iter().map(|schema| value_of(document, schema.as_ref()?, true));
    let first = values.next().flatten();
    // Several JSON media types describe variants of the response; the server may send any of them.
    let value = first.filter(|first| values.all(|other| other.as_ref() == Some(first)));
    let description = shorten(response.text("description").unwrap_or_default(), MAX_DESCRIPTION_CHARS);
    (only_json || value.is_some()).then_some(Promise { statuses, only_json, value, description })
}

type Schemas<'d> = Vec<Option<LocatedValue<'d>>>;

/// Returns whether all media types are JSON, and the schemas of the JSON media types.
fn in_content<'d>(response: &LocatedValue<'d>) -> Option<(bool, Schemas<'d>)> {
    let content = response.member("content")?;
    let mut only_json = true;
    let mut schemas = Vec::new();
    for (media_type, media) in content.members() {
        if is_json(media_type) {
            schemas.push(media.member("schema"));
        } else {
            only_json = false;
        }
    }
    (!schemas.is_empty()).then_some((only_json, schemas))
}

fn in_swagger<'d>(
    document: &'d ApiDocument,
    operation: &LocatedValue<'d>,
    response: &LocatedValue<'d>,
) -> Option<(bool, Schemas<'d>)> {
    let schema = response.member("schema")?;
    let produced = swagger::media_types(document, operation, "produces");
    let json = produced.iter().filter(|media_type| is_json(media_type)).count();
    (json > 0).then(|| (json == produced.len(), vec![Some(schema)]))
}

/// Whether the media type is JSON. A range such as `*/*` guarantees nothing.
fn is_json(media_type: &str) -> bool {
    !media_type.contains('*') && SendableMediaType::new(media_type).format == BodyFormat::Json
}

fn value_of<'d>(document: &'d ApiDocument, schema: &LocatedValue<'d>, may_wrap: bool) -> Option<PromisedValue> {
    let mut parts = CombinedSchema::default();
    parts.merge(document, schema, MAX_PARTS_DEPTH)?;
    let kind = match (parts.kind.as_deref(), parts.required.is_empty() && parts.properties.is_empty()) {
        (Some(kind), _) => kind,
        (None, false) => "object",
        (None, true) => return None,
    };
    let shape = match kind {
        "array" => PromisedShape::Array { least: parts.min_items },
        "object" => {
            let required = parts.required(document);
            let mut wrapped = None;
            if let Some(name) = required.iter().find(|name| may_wrap && WRAPPERS.contains(&folded(name).as_str())) {
                let held = parts.property(name).and_then(|schema| value_of(document, &schema, false));
                wrapped = held.filter(PromisedValue::demands_content).map(|held| (name.clone(), Box::new(held)));
            }
            PromisedShape::Object { required, least: parts.min_properties, wrapped }
        }
        _ => return None,
    };
    Some(PromisedValue { nullable: parts.nullable, shape })
}

/// Combined constraints of a schema, its `$ref` targets and its `allOf` parts.
#[derive(Default)]
struct CombinedSchema<'d> {
    kind: Option<String>,
    nullable: bool,
    min_items: u64,
    min_properties: u64,
    required: Vec<&'d str>,
    properties: Vec<(&'d str, LocatedValue<'d>)>,
    parts: usize,
}

/// Maximum number of schemas that are combined; nested shared parts multiply quickly.
const MAX_PARTS: usize = 256;

impl<'d> CombinedSchema<'d> {
    /// Adds the constraints of `schema`. Returns `None` if it has alternatives or cannot be resolved.
    fn merge(&mut self, document: &'d ApiDocument, schema: &LocatedValue<'d>, levels: usize) -> Option<()> {
        let levels = levels.checked_sub(1)?;
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return None;
        }
        let members = schema.value.as_object()?;
        if ["oneOf", "anyOf", "if", "not"].iter().any(|keyword| members.contains_key(*keyword)) {
            return None;
        }
        self.nullable |= schema.flag("nullable") == Some(true) || schema.flag("x-nullable") == Some(true);
        if schema.reference().is_some() {
            let target = document.follow(schema.clone()).ok()?;
            self.merge(document, &target, levels)?;
        }
        self.kind(members.get("type"))?;
        let [items, properties] =
            ["minItems", "minProperties"].map(|keyword| members.get(keyword).and_then(Value::as_u64).unwrap_or(0));
        self.min_items = self.min_items.max(items);
        self.min_properties = self.min_properties.max(properties);
        let required = members.get("required").and_then(Value::as_array).into_iter().flatten();
        self.required.extend(required.filter_map(Value::as_str));
        if let Some(properties) = schema.member("properties") {
            self.properties.extend(properties.members().map(|(name, schema)| (name.as_str(), schema)));
        }
        schema
            .member("allOf")
            .iter()
            .flat_map(LocatedValue::items)
            .try_for_each(|part| self.merge(document, &part, levels))
    }

    /// Records the type. Returns `None` if several types are allowed or the type is invalid.
    fn kind(&mut self, kind: Option<&Value>) -> Option<()> {
        let kind = match kind {
            None => return Some(()),
            Some(Value::String(kind)) => kind,
            Some(Value::Array(kinds)) => {
                self.nullable |= kinds.contains(&Value::from("null"));
                let mut others = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
                let (kind, next) = (others.next()?, others.next());
                next.is_none().then_some(kind)?
            }
            Some(_) => return None,
        };
        (self.kind.get_or_insert_with(|| kind.to_owned()) == kind).then_some(())
    }

    fn property(&self, name: &str) -> Option<LocatedValue<'d>> {
        self.properties.iter().find(|(property, _)| *property == name).map(|(_, schema)| schema.clone())
    }

    /// Returns the members that a response must have, without those for requests only (OpenAPI 3.0.4, Schema Object,
    /// `writeOnly`).
    fn required(&self, document: &'d ApiDocument) -> Vec<String> {
        let mut required: Vec<String> = Vec::new();
        for name in &self.required {
            let schema = self.property(name).and_then(|schema| document.follow(schema).ok());
            let is_sent_only = schema.is_some_and(|schema| schema.flag("writeOnly") == Some(true));
            if !is_sent_only && required.len() < MAX_REQUIRED && !required.iter().any(|added| added == name) {
                required.push((*name).to_owned());
            }
        }
        required
    }
}
