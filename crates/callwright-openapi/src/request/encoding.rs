//! Parses the serialisation of properties in form and multipart bodies (OpenAPI 3.0.4, Encoding Object).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::request::content::{content, media_type_of};
use crate::request::parameter::query_style;
use crate::request::xml::branches;
use crate::{BodyFormat, Content, Encoding, LoadNotes, LocatedValue};
use callwright_common::json::scalar_text;

/// Returns the properties of a body's schema, including those of its `allOf` parts and alternatives.
pub(crate) fn properties<'d>(schema: Option<&LocatedValue<'d>>) -> BTreeMap<&'d str, LocatedValue<'d>> {
    let mut properties = BTreeMap::new();
    for branch in schema.into_iter().flat_map(|schema| branches(schema)) {
        for (name, schema) in branch.members_of("properties") {
            properties.entry(name.as_str()).or_insert(schema);
        }
    }
    properties
}

/// Returns the encodings of the properties that have an Encoding Object or are not plain values, such as files.
pub(crate) fn encodings<'d>(
    media: &LocatedValue<'d>,
    schema: Option<&LocatedValue<'d>>,
    format: BodyFormat,
    notes: &mut LoadNotes,
) -> BTreeMap<String, Encoding> {
    if !matches!(format, BodyFormat::Form | BodyFormat::Multipart) {
        return BTreeMap::new();
    }
    let mut encodings: BTreeMap<String, Encoding> = BTreeMap::new();
    for (name, entry) in media.members_of("encoding") {
        encodings.insert(name.clone(), encoding(&entry, notes));
    }
    for (name, schema) in properties(schema) {
        let given = encodings.get(name).and_then(|encoding| encoding.content_type.clone());
        let content = content(Some(&schema), given.as_deref());
        if content == Content::Value {
            continue;
        }
        let encoding = encodings.entry(name.to_owned()).or_default();
        encoding.content = content;
        if encoding.content_type.is_none() {
            encoding.content_type = media_type_of(&schema).map(str::to_owned);
        }
    }
    encodings
}

fn encoding<'d>(entry: &LocatedValue<'d>, notes: &mut LoadNotes) -> Encoding {
    let mut headers = BTreeMap::new();
    for (name, header) in entry.members_of("headers") {
        if name.eq_ignore_ascii_case("content-type") {
            continue;
        }
        match fixed_value(&header) {
            Some(value) => drop(headers.insert(name.clone(), value)),
            None => notes.remark_at(&header.at, "the header of a part has no fixed value; it is not sent"),
        }
    }
    Encoding {
        content_type: entry.text("contentType").map(str::to_owned),
        content: Content::Value,
        headers,
        style: entry.text("style").and_then(query_style),
        explode: entry.flag("explode"),
        allow_reserved: entry.flag("allowReserved"),
        nested: Vec::new(),
    }
}

/// Returns the fixed value of a Header Object: its only allowed value or its default. Header values cannot be set by
/// an argument.
fn fixed_value<'d>(header: &LocatedValue<'d>) -> Option<String> {
    let header = header.follow().ok()?;
    let schema = header.member("schema")?.follow().ok()?;
    let only = schema.value.get("enum").and_then(Value::as_array).filter(|values| values.len() == 1);
    let value = schema.value.get("const").or_else(|| only?.first()).or_else(|| schema.value.get("default"));
    scalar_text(value?)
}
