//! Parses the request body of an operation: selects the media type and decides whether its properties become
//! arguments.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::request::content::{SendableMediaType, content};
use crate::request::content::{encodings, properties};
use crate::schema::subtypes::Variants;
use crate::schema::{is_annotation, read_only_names};
use crate::tool::text::{distinct, is_among, strings};
use crate::{BodyFormat, Content, Encoding, LoadNotes, LocatedValue, Subtypes, XmlShape};

/// Keywords of an object schema that separate arguments preserve.
pub(crate) const PLAIN_OBJECT: &str = "type properties required title description example examples default \
    deprecated nullable xml externalDocs discriminator $comment";

/// A request body as described by the document.
pub(crate) struct OperationBody<'d> {
    pub(crate) media_type: String,
    pub(crate) format: BodyFormat,
    pub(crate) required: bool,
    /// Schema of the body; `None` if the document gives none.
    pub(crate) schema: Option<LocatedValue<'d>>,
    /// Properties that the document describes one by one instead of in a schema, such as the form fields of Swagger
    /// 2.0.
    pub(crate) fields: Vec<BodyProperty<'d>>,
    pub(crate) description: Option<&'d str>,
    pub(crate) encoding: BTreeMap<String, Encoding>,
    /// The object that describes the body; `None` for a body made of fields.
    pub(crate) at: Option<LocatedValue<'d>>,
}

/// A property of a body that is a plain object.
#[derive(Clone)]
pub(crate) struct BodyProperty<'d> {
    pub(crate) name: &'d str,
    /// Schemas of the property, of which one applies: several if variants of the body describe it differently, none if
    /// the property is listed as required but not described.
    pub(crate) schemas: Vec<LocatedValue<'d>>,
    pub(crate) required: bool,
}

/// The properties of a body that become arguments.
pub(crate) struct PlainBody<'d> {
    pub(crate) properties: Vec<BodyProperty<'d>>,
    /// Variants of the body, whose properties are among them.
    pub(crate) variants: Option<Variants<'d>>,
}

/// Returns the body of `operation`; `None` if it takes none.
///
/// # Errors
///
/// Returns an error text if the Request Body Object cannot be resolved or is not an object.
pub(crate) fn body<'d>(
    operation: &LocatedValue<'d>,
    notes: &mut LoadNotes,
) -> Result<Option<OperationBody<'d>>, String> {
    let Some(body) = operation.member("requestBody").filter(|body| !body.value.is_null()) else { return Ok(None) };
    let position = body.at.clone();
    let body = body.follow().map_err(|error| format!("request body {position}: {error}"))?;
    if !body.value.is_object() {
        return Err(format!("request body {position} is not an object"));
    }
    let (sendable, media) = best_media(&body).unwrap_or_else(|| {
        notes.remark_at(&position, "the request body has no media type; it is sent as JSON");
        (SendableMediaType::new("application/json"), body.clone())
    });
    let schema = schema(&media);
    let schema = schema.filter(|schema| match schema.follow() {
        Ok(_) => true,
        Err(error) => {
            notes.remark(format!("schema of the request body {}: {error}; any value is accepted", schema.at));
            false
        }
    });
    let encoding = encodings(&media, schema.as_ref(), sendable.format, notes);
    Ok(Some(OperationBody {
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

/// Returns the preferred Media Type Object with its encoding. Tolerates documents that omit the media type level, or
/// the type before the slash.
fn best_media<'d>(body: &LocatedValue<'d>) -> Option<(SendableMediaType, LocatedValue<'d>)> {
    let content = body.member("content")?;
    let best = content
        .members()
        .filter(|(key, _)| key.contains('/'))
        .map(|(key, media)| (SendableMediaType::new(key), media.follow().unwrap_or(media)))
        .min_by_key(|(sendable, media)| (loses_files(&content, sendable, media), sendable.rank()));
    best.or_else(|| {
        content.value.as_object().filter(|members| !members.is_empty())?;
        let named = content.members().find(|(key, media)| media.value.is_object() && *key != "schema");
        Some(match named {
            Some((key, media)) if !is_schema(&content) => {
                (SendableMediaType::new(&format!("application/{key}")), media)
            }
            _ => (SendableMediaType::new("application/json"), content),
        })
    })
}

/// Returns the schema of `media`, or `media` itself if it is a schema.
fn schema<'d>(media: &LocatedValue<'d>) -> Option<LocatedValue<'d>> {
    let schema = media.member("schema").filter(|schema| !schema.value.is_null());
    schema.or_else(|| is_schema(media).then(|| media.clone()))
}

fn is_schema(value: &LocatedValue<'_>) -> bool {
    let is_typed = value.member("type").is_some_and(|name| name.value.is_string());
    is_typed
        || ["$ref", "schema", "properties", "allOf", "oneOf", "anyOf", "items"]
            .iter()
            .any(|key| value.member(key).is_some())
}

impl<'d> OperationBody<'d> {
    /// Returns the kind of the value for XML and binary bodies.
    pub(crate) fn content(&self) -> Content {
        match (self.format, &self.schema) {
            (BodyFormat::Xml, Some(schema)) => Content::Xml(XmlShape::new(schema)),
            (BodyFormat::Bytes, schema) => match content(schema.as_ref(), None) {
                Content::Base64 => Content::Base64,
                _ => Content::File,
            },
            _ => Content::Value,
        }
    }

    /// Returns the properties if each of them can be an argument and the schema has no other constraint on the body:
    /// an object without `additionalProperties`. An optional body with required properties does not qualify, because
    /// its properties must be given all together or not at all.
    pub(crate) fn plain_properties(&self, subtypes: &Subtypes<'d>) -> Option<PlainBody<'d>> {
        if !self.format.has_members() {
            return None;
        }
        if !self.fields.is_empty() {
            return Some(PlainBody { properties: self.fields.clone(), variants: None });
        }
        let schema = self.schema.clone()?.follow().ok()?;
        let (schema, variants) = match polymorphic(subtypes, &schema) {
            Some((schema, variants)) => (schema, Some(variants)),
            None => (schema, None),
        };
        let members = schema.value.as_object()?;
        let is_plain = match &variants {
            Some(variants) => {
                let selector = members.get("properties").and_then(|properties| properties.get(variants.selector));
                selector.is_some() && variants.are_plain() && is_plain_object(members, &variants.alternatives)
            }
            None => is_plain_object(members, &[]),
        };
        if !is_plain {
            return None;
        }
        let required = distinct(strings(members.get("required")));
        let hidden = read_only_names(schema.document, schema.value, schema.at.file());
        let described = schema.member("properties")?;
        let described = described.members().map(|(name, schema)| BodyProperty {
            name,
            required: required.contains(&name.as_str()),
            schemas: vec![schema],
        });
        let all = members.get("properties");
        let added: Vec<_> = variants.iter().flat_map(Variants::added).cloned().collect();
        let undescribed = required.iter().filter(|name| {
            all.is_some_and(|all| all.get(**name).is_none()) && added.iter().all(|(added, _)| added != *name)
        });
        let only_required = undescribed.map(|name| BodyProperty { name, required: true, schemas: Vec::new() });
        let of_variants = added.iter().map(|(name, schemas)| BodyProperty {
            name,
            required: required.contains(name),
            schemas: schemas.clone(),
        });
        let properties: Vec<BodyProperty<'d>> = described
            .chain(of_variants)
            .chain(only_required)
            .filter(|property| !hidden.contains(property.name))
            .collect();
        let is_all_or_none = !self.required && properties.iter().any(|property| property.required);
        (!properties.is_empty() && !is_all_or_none).then_some(PlainBody { properties, variants })
    }
}

/// Returns the schema with variants that `schema` is, or that it alone refers to in `allOf`.
fn polymorphic<'d>(subtypes: &Subtypes<'d>, schema: &LocatedValue<'d>) -> Option<(LocatedValue<'d>, Variants<'d>)> {
    if let Some(variants) = subtypes.variants(schema) {
        return Some((schema.clone(), variants));
    }
    let branches: Vec<LocatedValue<'d>> = schema.member("allOf")?.items().collect();
    let ([only], false) =
        (branches.as_slice(), schema.value.as_object()?.keys().any(|key| key != "allOf" && !is_annotation(key)))
    else {
        return None;
    };
    let only = only.follow().ok()?;
    subtypes.variants(&only).map(|variants| (only, variants))
}

/// Whether the schema describes nothing but properties. `alternatives` are keywords that list the variants of the
/// schema, which are known.
pub(crate) fn is_plain_object(members: &Map<String, Value>, alternatives: &[&str]) -> bool {
    let is_object = members.get("type").is_none_or(|name| name == "object");
    let is_closed = members.get("additionalProperties").is_none_or(|more| more == &Value::Bool(false));
    is_object
        && is_closed
        && members.keys().map(String::as_str).all(|key| {
            is_among(PLAIN_OBJECT, key)
                || key == "additionalProperties"
                || key.starts_with("x-")
                || alternatives.contains(&key)
        })
}

/// Whether the media type would write files of the body as text although the document also offers a multipart type.
fn loses_files(offered: &LocatedValue<'_>, sendable: &SendableMediaType, media: &LocatedValue<'_>) -> bool {
    offered.members().any(|(key, _)| SendableMediaType::new(key).format == BodyFormat::Multipart)
        && sendable.format.has_members()
        && sendable.format != BodyFormat::Multipart
        && properties(schema(media).as_ref()).values().any(|schema| content(Some(schema), None) == Content::File)
}
