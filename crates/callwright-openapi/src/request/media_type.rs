//! Media types of request bodies: selection and format.

use crate::request::binding::BodyFormat;
use crate::tool::text::is_among;

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

#[cfg(test)]
mod tests {
    use super::*;

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
            "application/json",
            "application/json;v=1",
            "application/vnd.api+json",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "multipart/mixed",
            "text/xml",
            "text/plain",
            "image/png",
        ];
        let mut keys = best_first;
        keys.reverse();
        keys.sort_by_key(|key| SendableMediaType::new(key).rank());
        assert_eq!(keys, best_first);
    }
}
