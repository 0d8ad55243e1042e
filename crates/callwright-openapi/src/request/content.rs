//! Media types of bodies, the kind of a value in a body or part (text, a file, or a value that is serialised as XML),
//! and the serialisation of properties in form and multipart bodies (OpenAPI 3.0.4, Encoding Object).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::request::xml::branches;
use crate::tool::text::is_among;
use crate::{BodyFormat, Content, Encoding, LoadNotes, LocatedValue, Style, XmlShape};
use callwright_common::json::scalar_text;

/// Hint for the model about an argument that is a file.
pub(crate) const FILE_HINT: &str = "A file: its text as it is, or for other content a data URL, `data:image/png;base64,...`; `;name=photo.png` \
                                    behind the type names the file.";

/// Returns the kind of the values of `schema` (for arrays: of their items) when sent as `media_type`.
///
/// A file is (OpenAPI 3.0.4 and 3.1.1, Considerations for File Uploads; Swagger 2.0, Parameter Object) one of:
/// `format: binary`, `type: file`, a `contentMediaType` that is binary, or a value that may be a string and is sent
/// as a binary media type.
pub(crate) fn content(schema: Option<&LocatedValue<'_>>, media_type: Option<&str>) -> Content {
    let is_sent_as_bytes =
        media_type.is_some_and(|list| list.split(',').all(|media_type| is_binary(media_type.trim())));
    let Some(schema) = schema else {
        return if is_sent_as_bytes { Content::File } else { Content::Value };
    };
    let parts = branches(schema);
    if any_has(&parts, "type", &["array"]) || parts.iter().any(|part| part.member("items").is_some()) {
        let items = parts.iter().find_map(|part| part.member("items"));
        // Items that are arrays are not files: a part of a body cannot represent them.
        return match items.filter(|items| !is_array(items)) {
            Some(items) => content(Some(&items), media_type),
            None => Content::Value,
        };
    }
    let is_text = may_be_text(schema);
    if any_has(&parts, "format", &["binary"]) || any_has(&parts, "type", &["file"]) {
        return Content::File;
    }
    let is_base64 =
        any_has(&parts, "format", &["byte", "base64"]) || any_has(&parts, "contentEncoding", &["base64", "base64url"]);
    if is_text && is_base64 {
        return Content::Base64;
    }
    if media_type.is_some_and(is_xml) {
        return Content::Xml(XmlShape::new(schema));
    }
    let media = parts.iter().find_map(|part| part.text("contentMediaType"));
    let is_file = is_text && (is_sent_as_bytes || media.is_some_and(is_binary));
    if is_file { Content::File } else { Content::Value }
}

/// Whether one of the schemas has a `keyword` with one of the `values`.
fn any_has(parts: &[LocatedValue<'_>], keyword: &str, values: &[&str]) -> bool {
    parts.iter().any(|part| part.text(keyword).is_some_and(|text| values.contains(&text)))
}

/// Returns the media type of the schema's content (JSON Schema 2020-12 validation, section 8.4), or of its items'
/// content.
pub(crate) fn media_type_of<'d>(schema: &LocatedValue<'d>) -> Option<&'d str> {
    let parts = branches(schema);
    let own = parts.iter().find_map(|part| part.text("contentMediaType"));
    own.or_else(|| {
        let items = parts.iter().find_map(|part| part.member("items"))?;
        branches(&items).iter().find_map(|part| part.text("contentMediaType"))
    })
}

/// Whether the schema's types allow a string.
fn may_be_text(schema: &LocatedValue<'_>) -> bool {
    let mut types = Vec::new();
    for part in branches(schema) {
        match part.value.get("type") {
            Some(Value::String(name)) => types.push(name.as_str()),
            Some(Value::Array(names)) => types.extend(names.iter().filter_map(Value::as_str)),
            _ if part.member("properties").is_some() => types.push("object"),
            _ => {}
        }
    }
    types.is_empty() || types.iter().any(|name| matches!(*name, "string" | "file"))
}

fn is_array(schema: &LocatedValue<'_>) -> bool {
    branches(schema).iter().any(|part| part.text("type") == Some("array"))
}

/// Sequences of JSON texts: one per line, or (RFC 7464) each preceded by a record separator.
const JSON_SEQUENCES: &str = "application/json-seq application/jsonl application/jsonlines application/ndjson \
    application/x-jsonlines application/x-ndjson";

/// YAML (RFC 9512) and its earlier names.
const YAML: &str = "application/yaml application/x-yaml text/yaml text/x-yaml";

/// Text formats outside `text/*`.
const TEXTS: &str = "application/graphql application/javascript application/sparql-query application/sparql-update \
    application/sql image/svg+xml";

/// A media type of a `content` map that can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SendableMediaType {
    /// The concrete media type. Ranges of binary content stay, because the content determines the type.
    pub(crate) media_type: String,
    pub(crate) format: BodyFormat,
}

impl SendableMediaType {
    /// Returns the media type to send for a key of a `content` map, which may be a range such as `application/*`.
    pub(crate) fn new(key: &str) -> Self {
        let media_type = match key.trim() {
            "" | "*/*" | "application/*" => "application/json",
            "text/*" => "text/plain",
            "application/*+json" => "application/json",
            "multipart/*" => "multipart/form-data",
            concrete => concrete,
        };
        Self { media_type: media_type.to_owned(), format: format(media_type) }
    }

    /// Returns the sort key of the media type; lower is better. Formats that models write well and APIs support
    /// widely come first; types with parameters such as a charset come last.
    pub(crate) fn rank(&self) -> (BodyFormat, bool, bool) {
        let is_plain = matches!(essence(&self.media_type).as_str(), "application/json" | "multipart/form-data");
        (self.format, !is_plain, self.media_type.contains(';'))
    }
}

fn format(media_type: &str) -> BodyFormat {
    let essence = essence(media_type);
    match essence.as_str() {
        "application/x-www-form-urlencoded" => BodyFormat::Form,
        "application/json" | "text/json" => BodyFormat::Json,
        "application/xml" | "text/xml" => BodyFormat::Xml,
        other if is_among(JSON_SEQUENCES, other) => BodyFormat::JsonSequence,
        other if is_among(YAML, other) => BodyFormat::Yaml,
        other if is_among(TEXTS, other) => BodyFormat::Text,
        other if other.starts_with("multipart/") => BodyFormat::Multipart,
        other if other.ends_with("+json") => BodyFormat::Json,
        other if other.ends_with("+json-seq") => BodyFormat::JsonSequence,
        other if other.ends_with("+yaml") => BodyFormat::Yaml,
        other if other.ends_with("+xml") => BodyFormat::Xml,
        other if other.starts_with("text/") => BodyFormat::Text,
        _ => BodyFormat::Bytes,
    }
}

/// Whether the media type belongs to a family with binary content.
pub(crate) fn is_binary(media_type: &str) -> bool {
    let essence = essence(media_type);
    let families = ["image/", "audio/", "video/", "font/"];
    format(media_type) == BodyFormat::Bytes
        && (families.iter().any(|family| essence.starts_with(family)) || essence.starts_with("application/"))
}

pub(crate) fn is_xml(media_type: &str) -> bool {
    format(media_type) == BodyFormat::Xml
}

/// Returns the media type without its parameters, in lower case.
fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

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
        style: entry.text("style").and_then(Style::of_query),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::document::ApiDocument;

    fn of(schema: Value, media_type: Option<&str>) -> Content {
        let root = json!({"openapi": "3.1.0", "start": schema, "file": {"type": "string", "format": "binary"}});
        let document = ApiDocument::new(root, Path::new("api.json")).unwrap();
        content(document.member("start").as_ref(), media_type)
    }

    #[test]
    fn files_are_recognised_in_every_version() {
        let files = [
            (json!({"type": "string", "format": "binary"}), None),
            (json!({"type": "file"}), None),
            (json!({"$ref": "#/file"}), None),
            (json!({"allOf": [{"$ref": "#/file"}], "nullable": true}), None),
            (json!({"type": "array", "items": {"type": "string", "format": "binary"}}), None),
            (json!({"type": "string", "contentMediaType": "application/octet-stream"}), None),
            (json!({"contentMediaType": "image/png"}), None),
            (json!({}), Some("image/png, image/jpeg")),
            (json!({"type": "string"}), Some("application/octet-stream")),
        ];
        for (schema, media_type) in files {
            assert_eq!(of(schema.clone(), media_type), Content::File, "{schema}");
        }
    }

    #[test]
    fn non_files_keep_their_schema() {
        let values = [
            (json!({"type": "string"}), None),
            (json!({"type": "string", "format": "uuid"}), None),
            (json!({"type": "string", "contentMediaType": "application/json"}), None),
            (json!({"type": "string", "contentMediaType": "text/html"}), None),
            (json!({"type": "object", "properties": {}}), Some("application/octet-stream")),
            (json!({"type": "integer"}), Some("image/png")),
            (json!({}), None),
            (json!({"type": "array", "items": {"type": "array", "items": {"format": "binary"}}}), None),
        ];
        for (schema, media_type) in values {
            assert_eq!(of(schema.clone(), media_type), Content::Value, "{schema}");
        }
        for schema in [
            json!({"type": "string", "format": "byte"}),
            json!({"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}),
        ] {
            assert_eq!(of(schema.clone(), None), Content::Base64, "{schema}");
        }
        for schema in [json!({"type": "object"}), json!({"type": "array", "items": {}}), json!({"type": "string"})] {
            assert!(matches!(of(schema, Some("application/xml; charset=utf-8")), Content::Xml(_)));
        }
    }

    #[test]
    fn the_format_follows_from_the_media_type() {
        let cases = [
            ("application/json; charset=utf-8", BodyFormat::Json),
            ("application/merge-patch+json", BodyFormat::Json),
            ("application/x-ndjson", BodyFormat::JsonSequence),
            ("application/geo+json-seq", BodyFormat::JsonSequence),
            ("application/X-WWW-form-urlencoded", BodyFormat::Form),
            ("multipart/form-data", BodyFormat::Multipart),
            ("multipart/related; boundary=x", BodyFormat::Multipart),
            ("multipart/*", BodyFormat::Multipart),
            ("application/x-yaml", BodyFormat::Yaml),
            ("application/xml", BodyFormat::Xml),
            ("application/atom+xml", BodyFormat::Xml),
            ("image/svg+xml", BodyFormat::Text),
            ("text/csv", BodyFormat::Text),
            ("application/graphql", BodyFormat::Text),
            ("*/*", BodyFormat::Json),
            ("image/*", BodyFormat::Bytes),
            ("application/octet-stream", BodyFormat::Bytes),
            ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", BodyFormat::Bytes),
            ("nonsense", BodyFormat::Bytes),
        ];
        for (key, format) in cases {
            assert_eq!(SendableMediaType::new(key).format, format, "{key}");
        }
    }

    #[test]
    fn plain_json_ranks_before_every_other_media_type() {
        let best_first = [
            "application/json", "application/json;v=1", "application/vnd.api+json",
            "application/x-www-form-urlencoded", "multipart/form-data", "multipart/mixed", "text/xml", "text/plain",
            "image/png",
        ];
        let mut keys = best_first;
        keys.reverse();
        keys.sort_by_key(|key| SendableMediaType::new(key).rank());
        assert_eq!(keys, best_first);
    }
}
