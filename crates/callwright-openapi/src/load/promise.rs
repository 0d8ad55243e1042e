//! Extracts the documented guarantees of successful response bodies: the minimal constraints of their schemas, in
//! compact form.
//!
//! Response schemas are less reliable than request schemas. Therefore only simple constraints are used: a single
//! schema without alternatives and its required members. Nothing is extracted if a parameter lets the caller select
//! the fields of the response.

use std::ops::RangeInclusive;

use http::Method;
use serde_json::Value;

use crate::request::content::SendableMediaType;
use crate::tool::text::{is_among, shorten};
use crate::{Binding, BodyFormat, LocatedValue, Version, swagger};
use callwright_common::limits::LINE_CHARS;
use callwright_common::schema::Views;
use callwright_common::text::letters;
use callwright_types::promise::{Promise, PromisedShape, PromisedValue};

/// Maximum number of required members stored per object. That suffices to distinguish a response that has none of
/// them from one that has some.
const MAX_REQUIRED: usize = 32;

/// Names of members that wrap a result.
const WRAPPERS: &str = "data result results response payload content items value";

/// Parameters that select the fields of the response (names in lower case, without separators).
const CHOOSERS: &str = "fields field select exclude omit only include prefer fieldmask attributes props view";

/// Statuses whose response body describes the result of the call. Other 2xx responses have no body, a partial one, or
/// the same one for every call.
const STATUSES: RangeInclusive<u16> = 200..=203;

/// Returns the documented guarantees of an operation's successful responses, responses with a single status first.
pub(crate) fn promises<'d>(operation: &LocatedValue<'d>, method: &Method, bindings: &[Binding]) -> Vec<Promise> {
    if *method == Method::HEAD {
        return Vec::new();
    }
    let is_chosen = bindings.iter().any(|binding| is_among(CHOOSERS, &letters(&binding.name)));
    let mut promises: Vec<Promise> = Vec::new();
    for (status, response) in operation.members_of("responses") {
        let Some(statuses) = statuses_of(status) else { continue };
        let Ok(response) = response.follow() else { continue };
        let Some(mut promise) = of_response(operation, &response, statuses) else { continue };
        promise.value = promise.value.filter(|_| !is_chosen);
        promises.push(promise);
    }
    promises.sort_by_key(|promise| promise.statuses.end() - promise.statuses.start());
    promises
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
    operation: &LocatedValue<'d>,
    response: &LocatedValue<'d>,
    statuses: RangeInclusive<u16>,
) -> Option<Promise> {
    let (only_json, schemas) = match response.document.version {
        Version::V2_0 => in_swagger(operation, response)?,
        _ => in_content(response)?,
    };
    let mut values = schemas.iter().map(|schema| value_of(schema.as_ref()?, true));
    let first = values.next().flatten();
    // Several JSON media types describe variants of the response; the server may send any of them.
    let value = first.filter(|first| values.all(|other| other.as_ref() == Some(first)));
    let description = shorten(response.text("description").unwrap_or_default(), LINE_CHARS);
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

fn in_swagger<'d>(operation: &LocatedValue<'d>, response: &LocatedValue<'d>) -> Option<(bool, Schemas<'d>)> {
    let schema = response.member("schema")?;
    let produced = swagger::media_types(operation, "produces");
    let json = produced.iter().filter(|media_type| is_json(media_type)).count();
    (json > 0).then(|| (json == produced.len(), vec![Some(schema)]))
}

/// Whether the media type is JSON. A range such as `*/*` guarantees nothing.
fn is_json(media_type: &str) -> bool {
    !media_type.contains('*') && SendableMediaType::new(media_type).format == BodyFormat::Json
}

fn value_of<'d>(schema: &LocatedValue<'d>, may_wrap: bool) -> Option<PromisedValue> {
    let views = Views::new(schema.clone());
    let has_alternatives = ["oneOf", "anyOf", "if", "not"].iter().any(|keyword| views.values(keyword).next().is_some());
    if has_alternatives || !views.is_complete() {
        return None;
    }
    let views = views.certain();
    let has_members = ["required", "properties"].iter().any(|keyword| views.values(keyword).any(is_filled));
    let types: Vec<&str> = views.types().filter(|name| *name != "null").collect();
    let kind = match (types.split_first(), has_members) {
        // Types that differ are several permitted ones, or contradict each other.
        (Some((kind, others)), _) => others.iter().all(|other| other == kind).then_some(*kind)?,
        (None, true) => "object",
        (None, false) => return None,
    };
    let least = |keyword: &str| views.values(keyword).filter_map(Value::as_u64).max().unwrap_or_default();
    let shape = match kind {
        "array" => PromisedShape::Array { least: least("minItems") },
        "object" => {
            let required = required(&views);
            let mut wrapped = None;
            if let Some(name) = required.iter().find(|name| may_wrap && is_among(WRAPPERS, &letters(name))) {
                let property = views.properties().find(|(property, _)| property == name);
                let held = property.and_then(|(_, node)| value_of(&node, false));
                wrapped = held.filter(PromisedValue::demands_content).map(|held| (name.clone(), Box::new(held)));
            }
            PromisedShape::Object { required, least: least("minProperties"), wrapped }
        }
        _ => return None,
    };
    let is_flagged =
        views.iter().any(|(node, _)| ["nullable", "x-nullable"].iter().any(|keyword| node.flag(keyword) == Some(true)));
    let nullable = is_flagged || views.types().any(|name| name == "null");
    Some(PromisedValue { nullable, shape })
}

fn is_filled(value: &Value) -> bool {
    value.as_array().is_some_and(|names| !names.is_empty()) || value.as_object().is_some_and(|names| !names.is_empty())
}

/// Returns the members that a response must have, without those for requests only (OpenAPI 3.0.4, Schema Object,
/// `writeOnly`).
fn required(views: &Views<'_, LocatedValue<'_>>) -> Vec<String> {
    let mut required: Vec<String> = Vec::new();
    for name in views.required() {
        let schema = views.member(name);
        let is_sent_only =
            schema.is_some_and(|schema| schema.iter().any(|(node, _)| node.flag("writeOnly") == Some(true)));
        if !is_sent_only && required.len() < MAX_REQUIRED && !required.iter().any(|added| added == name) {
            required.push(name.to_owned());
        }
    }
    required
}
