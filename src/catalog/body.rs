//! The request body of an operation: which media type is sent, and whether its properties can be arguments of their own.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::binding::Encoding;
use super::document::{Document, Located};
use super::media_type::{BodyFormat, Sendable};
use super::notes::Notes;
use super::parameter::query_style;
use super::schema::read_only_names;

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
    let required = body.flag("required") == Some(true);
    let content = body.member("content");
    let best = content
        .iter()
        .flat_map(Located::members)
        .map(|(key, media)| (Sendable::of(key), document.follow(media.clone()).unwrap_or(media)))
        .min_by_key(|(sendable, _)| sendable.rank());
    let Some((sendable, media)) = best else {
        notes.place(&place, "the request body names no media type; it is sent as JSON");
        return Ok(Some(Body {
            media_type: "application/json".to_owned(),
            format: BodyFormat::Json,
            required,
            schema: None,
            fields: Vec::new(),
            description: body.text("description"),
            encoding: BTreeMap::new(),
            at: Some(body),
        }));
    };
    let schema = media.member("schema");
    if let Some(schema) = &schema {
        document
            .follow(schema.clone())
            .map_err(|error| format!("schema of the request body {}: {error}", schema.at))?;
    }
    Ok(Some(Body {
        media_type: sendable.media_type,
        format: sendable.format,
        required,
        schema,
        fields: Vec::new(),
        description: body.text("description"),
        encoding: encoding(&media),
        at: Some(body),
    }))
}

impl<'d> Body<'d> {
    /// The properties, where every one of them may become an argument and nothing else can be said about the body: a plain,
    /// closed-by-default object. An optional body with required properties is no such thing, because either all of them are
    /// given or none.
    pub(super) fn plain_properties(&self, document: &'d Document) -> Option<Vec<BodyProperty<'d>>> {
        if self.format == BodyFormat::Text {
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

fn encoding(media: &Located<'_>) -> BTreeMap<String, Encoding> {
    let entries = media.member("encoding");
    let read = |(name, entry): (&String, Located<'_>)| {
        let encoding = Encoding {
            content_type: entry.text("contentType").map(str::to_owned),
            style: entry.text("style").and_then(query_style),
            explode: entry.flag("explode"),
            allow_reserved: entry.flag("allowReserved") == Some(true),
            nested: Vec::new(),
        };
        (name.clone(), encoding)
    };
    entries.iter().flat_map(Located::members).map(read).collect()
}
