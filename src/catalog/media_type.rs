//! Media types of request bodies: which one to send, and what it is made from.

/// How a body's value becomes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum BodyFormat {
    /// The value as JSON (RFC 8259).
    Json,
    /// An object's members as `application/x-www-form-urlencoded`.
    Form,
    /// An object's members as parts of `multipart/form-data` (RFC 7578).
    Multipart,
    /// The value is a text that is sent as it is.
    Text,
}

/// A media type of a `content` map that can be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sendable {
    /// The concrete media type: ranges are narrowed.
    pub(super) media_type: String,
    pub(super) format: BodyFormat,
}

impl Sendable {
    /// What to send for a key of a `content` map, which may be a range such as `application/*`.
    pub(super) fn of(key: &str) -> Self {
        let media_type = match key.trim() {
            "" | "*/*" | "application/*" => "application/json",
            "text/*" => "text/plain",
            "application/*+json" => "application/json",
            "multipart/*" => "multipart/form-data",
            range if range.ends_with("/*") => "application/octet-stream",
            concrete => concrete,
        };
        Self { media_type: media_type.to_owned(), format: format(media_type) }
    }

    /// Lower is better: what models write best and APIs understand most, first; parameters such as a charset go after none.
    pub(super) fn rank(&self) -> (BodyFormat, bool, bool) {
        (self.format, essence(&self.media_type) != "application/json", self.media_type.contains(';'))
    }
}

fn format(media_type: &str) -> BodyFormat {
    let essence = essence(media_type);
    match essence.as_str() {
        "application/x-www-form-urlencoded" => BodyFormat::Form,
        "multipart/form-data" => BodyFormat::Multipart,
        "application/json" | "text/json" => BodyFormat::Json,
        other if other.ends_with("+json") => BodyFormat::Json,
        _ => BodyFormat::Text,
    }
}

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
            ("application/X-WWW-form-urlencoded", BodyFormat::Form),
            ("multipart/form-data", BodyFormat::Multipart),
            ("application/xml", BodyFormat::Text),
            ("*/*", BodyFormat::Json),
            ("image/*", BodyFormat::Text),
        ];
        for (key, format) in cases {
            assert_eq!(Sendable::of(key).format, format, "{key}");
        }
    }

    #[test]
    fn plain_json_ranks_before_every_other_media_type() {
        let mut keys =
            ["text/xml", "multipart/form-data", "application/vnd.api+json", "application/json;v=1", "application/json"];
        keys.sort_by_key(|key| Sendable::of(key).rank());
        assert_eq!(
            keys,
            ["application/json", "application/json;v=1", "application/vnd.api+json", "multipart/form-data", "text/xml"]
        );
    }
}
