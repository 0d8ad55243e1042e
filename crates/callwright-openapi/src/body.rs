//! The request body of an operation: which media type is sent, and whether its properties can be arguments of their own.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::binding::{BodyFormat, Content, Encoding};
use super::content::content;
use super::document::{Document, Located};
use super::encoding::{encodings, properties};
use super::media_type::Sendable;
use super::notes::Notes;
use super::schema::read_only_names;
use super::xml::XmlShape;

/// Keywords of an object schema that its properties, as arguments, say as well.
const PLAIN_OBJECT: [&str; 14] = [
    "type",
    "properties",
    "required",
    "title",
    "description",
    "example",
    "examples",
    "default",
    "deprecated",
    "nullable",
    "xml",
    "externalDocs",
    "discriminator",
    "$comment",
];

/// A request body, as the document has it.
pub(super) struct Body<'d> {
    pub(super) media_type: String,
    pub(super) format: BodyFormat,
    pub(super) required: bool,
    /// `None`: the document gives none.
    pub(super) schema: Option<Located<'d>>,
    /// Properties that the document describes one by one instead of in a schema, as the form fields of Swagger 2.0.
    pub(super) fields: Vec<BodyProperty<'d>>,
    pub(super) description: Option<&'d str>,
    pub(super) encoding: BTreeMap<String, Encoding>,
    /// The object that describes the body; `None` for one made of fields.
    pub(super) at: Option<Located<'d>>,
}

/// A property of a body that is a plain object.
#[derive(Clone)]
pub(super) struct BodyProperty<'d> {
    pub(super) name: &'d str,
    /// `None`: the property is required and nothing else is said about it.
    pub(super) schema: Option<Located<'d>>,
    pub(super) required: bool,
}

/// The body of `operation`; `None` where it takes none. An error says why it cannot be understood.
pub(super) fn body<'d>(
    document: &'d Document,
    operation: &Located<'d>,
    notes: &mut Notes,
) -> Result<Option<Body<'d>>, String> {
    let Some(body) = operation.member("requestBody").filter(|body| !body.value.is_null()) else { return Ok(None) };
    let place = body.at.clone();
    let body = document.follow(body).map_err(|error| format!("request body {place}: {error}"))?;
    if !body.value.is_object() {
        return Err(format!("request body {place} is no object"));
    }
    let (sendable, media) = best_media(document, &body).unwrap_or_else(|| {
        notes.place(&place, "the request body names no media type; it is sent as JSON");
        (Sendable::of("application/json"), body.clone())
    });
    let schema = schema(&media);
    let schema = schema.filter(|schema| match document.follow(schema.clone()) {
        Ok(_) => true,
        Err(error) => {
            notes.remark(format!("schema of the request body {}: {error}; any value is accepted", schema.at));
            false
        }
    });
    let encoding = encodings(document, &media, schema.as_ref(), sendable.format, notes);
    Ok(Some(Body {
        media_type: sendable.media_type,
        format: sendable.format,
        required: body.flag("required") == Some(true),
        schema,
        fields: Vec::new(),
        description: body.text("description"),
        encoding,
        at: Some(body),
    }))
}

/// The Media Type Object that is sent best, and how. Some documents leave the level of media types out, or the word before the slash.
fn best_media<'d>(document: &'d Document, body: &Located<'d>) -> Option<(Sendable, Located<'d>)> {
    let content = body.member("content")?;
    let is_media_type = |(key, _): &(&String, Located<'d>)| key.contains('/');
    let best = content
        .members()
        .filter(is_media_type)
        .map(|(key, media)| (Sendable::of(key), document.follow(media.clone()).unwrap_or(media)))
        .min_by_key(|(sendable, media)| (loses_files(document, &content, sendable, media), sendable.rank()));
    best.or_else(|| {
        content.value.as_object().filter(|members| !members.is_empty())?;
        let named = content.members().find(|(key, media)| media.value.is_object() && *key != "schema");
        Some(match named {
            Some((key, media)) if !is_schema(&content) => (Sendable::of(&format!("application/{key}")), media),
            _ => (Sendable::of("application/json"), content),
        })
    })
}

/// The schema of `media`; `media` itself where it is one.
fn schema<'d>(media: &Located<'d>) -> Option<Located<'d>> {
    let schema = media.member("schema").filter(|schema| !schema.value.is_null());
    schema.or_else(|| is_schema(media).then(|| media.clone()))
}

fn is_schema(value: &Located<'_>) -> bool {
    let is_typed = value.member("type").is_some_and(|name| name.value.is_string());
    is_typed
        || ["$ref", "schema", "properties", "allOf", "oneOf", "anyOf", "items"]
            .iter()
            .any(|key| value.member(key).is_some())
}

impl<'d> Body<'d> {
    /// What the value is, where it is sent as it is or as XML.
    pub(super) fn content(&self, document: &Document) -> Content {
        match (self.format, &self.schema) {
            (BodyFormat::Xml, Some(schema)) => Content::Xml(XmlShape::of(document, schema)),
            (BodyFormat::Bytes, schema) => match content(document, schema.as_ref(), None) {
                Content::Base64 => Content::Base64,
                _ => Content::File,
            },
            _ => Content::Value,
        }
    }

    /// The properties, where every one of them may become an argument and nothing else can be said about the body: a plain,
    /// closed-by-default object. An optional body with required properties is no such thing, because either all of them are
    /// given or none.
    pub(super) fn plain_properties(&self, document: &'d Document) -> Option<Vec<BodyProperty<'d>>> {
        if !self.format.has_members() {
            return None;
        }
        if !self.fields.is_empty() {
            return Some(self.fields.clone());
        }
        let schema = document.follow(self.schema.clone()?).ok()?;
        let members = schema.value.as_object()?;
        if !is_plain_object(members) {
            return None;
        }
        let required: Vec<&str> = names(members, "required");
        let hidden = read_only_names(document, members, schema.at.file());
        let described = schema.member("properties")?;
        let described = described.members().map(|(name, schema)| BodyProperty {
            name,
            required: required.contains(&name.as_str()),
            schema: Some(schema),
        });
        let is_undescribed = |name: &&&str| members.get("properties").is_some_and(|all| all.get(**name).is_none());
        let only_required =
            required.iter().filter(is_undescribed).map(|name| BodyProperty { name, required: true, schema: None });
        let properties: Vec<BodyProperty<'d>> =
            described.chain(only_required).filter(|property| !hidden.contains(property.name)).collect();
        let is_all_or_none = !self.required && properties.iter().any(|property| property.required);
        (!properties.is_empty() && !is_all_or_none).then_some(properties)
    }
}

/// The names that the array `keyword` lists, each once.
fn names<'d>(members: &'d Map<String, Value>, keyword: &str) -> Vec<&'d str> {
    let mut names = Vec::new();
    for name in members.get(keyword).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn is_plain_object(members: &Map<String, Value>) -> bool {
    let is_object = members.get("type").is_none_or(|name| name == "object");
    let is_closed = members.get("additionalProperties").is_none_or(|more| more == &Value::Bool(false));
    let is_plain =
        |key: &String| PLAIN_OBJECT.contains(&key.as_str()) || key == "additionalProperties" || key.starts_with("x-");
    is_object && is_closed && members.keys().all(is_plain)
}

/// Would files of the body have to be written into a text, although it could have parts?
fn loses_files(document: &Document, offered: &Located<'_>, sendable: &Sendable, media: &Located<'_>) -> bool {
    let is_multipart = |key: &str| Sendable::of(key).format == BodyFormat::Multipart;
    let has_parts = offered.members().any(|(key, _)| is_multipart(key));
    let is_file = |schema: &Located<'_>| content(document, Some(schema), None) == Content::File;
    has_parts
        && sendable.format.has_members()
        && sendable.format != BodyFormat::Multipart
        && properties(document, schema(media).as_ref()).values().any(is_file)
}
