//! The mapping from a tool's arguments to the parts of an HTTP request, as data.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::XmlShape;

/// Destination of one argument in the request (OpenAPI 3.0.4, Parameter Object).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// The argument's name in the tool's argument object.
    pub argument: String,
    /// The parameter's name on the wire; for a path parameter, the text between the braces of the template.
    pub name: String,
    /// The part of the request.
    pub location: Location,
    /// Whether every request must have the parameter.
    pub required: bool,
    /// Serialisation style of arrays and objects.
    pub style: Style,
    /// Whether each item or member becomes a parameter (or part) of its own.
    pub explode: bool,
    /// Whether reserved characters (RFC 3986 section 2.2) stay unencoded. Applies to query parameters, and to
    /// templates such as `{+name}` and `{key+}`, whose values may contain slashes.
    pub allow_reserved: bool,
    /// Media type of a parameter described by `content`, in which its value is serialised; `style` does not apply.
    pub media_type: Option<String>,
    /// Styles of nested arrays, outermost first (Swagger 2.0, Items Object). Deeper arrays are written as JSON.
    pub nested: Vec<Style>,
}

/// The part of the request that a parameter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    /// A segment of the path template.
    Path,
    /// The query string.
    Query,
    /// A header field.
    Header,
    /// The `Cookie` header field.
    Cookie,
}

/// Serialisation style of a parameter's value (OpenAPI 3.0.4, Style Values).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    /// `;color=blue` (RFC 6570 section 3.2.7); path only.
    Matrix,
    /// `.blue` (RFC 6570 section 3.2.5); path only.
    Label,
    /// `blue,black` (RFC 6570 section 3.2.2); path and header.
    Simple,
    /// `color=blue` (RFC 6570 section 3.2.8); query and cookie.
    Form,
    /// `blue%20black`; query only, in Swagger 2.0 all locations.
    SpaceDelimited,
    /// `blue%09black`; Swagger 2.0 only (`collectionFormat: tsv`).
    TabDelimited,
    /// `blue|black`; query only, in Swagger 2.0 all locations.
    PipeDelimited,
    /// `color[R]=100`; query only.
    DeepObject,
}

/// Construction of the request body from arguments (OpenAPI 3.0.4, Request Body Object).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BodyBinding {
    /// The media type to send, from the document. Media type ranges are replaced by a concrete type, except ranges of
    /// binary content (`image/*`), for which the content determines the type.
    pub media_type: String,
    /// Encoding of the value as bytes.
    pub format: BodyFormat,
    /// Whether every request must have a body.
    pub required: bool,
    /// The arguments that form the body.
    pub shape: BodyShape,
    /// Kind of the value, for text, binary and XML bodies.
    pub content: Content,
    /// Encoding of each property, for form and multipart bodies (Encoding Object).
    pub encoding: BTreeMap<String, Encoding>,
}

/// Encoding of a body's value as bytes, in order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyFormat {
    /// The value as JSON (RFC 8259).
    Json,
    /// An object's members as `application/x-www-form-urlencoded`.
    Form,
    /// An object's members as parts (RFC 2046 section 5.1; `multipart/form-data`: RFC 7578).
    Multipart,
    /// An array's items as JSON, one per line or with record separators (RFC 7464).
    JsonSequence,
    /// The value as YAML. JSON is valid YAML (RFC 9512 section 3.4); a string is sent as YAML text.
    Yaml,
    /// The value as XML by [`Content::Xml`]; otherwise a string that is XML.
    Xml,
    /// The value is a string that is sent unchanged.
    Text,
    /// The value is a file.
    Bytes,
}

/// Kind of the value of a body or part, where its JSON type does not determine it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// By JSON type: strings, numbers and booleans as text, objects as JSON.
    #[default]
    Value,
    /// A file: a string that is sent unchanged, or a `data:` URL (RFC 2397) whose decoded content is sent.
    File,
    /// A file in base64, which is sent as base64 text.
    Base64,
    /// An object or array that is serialised as XML, or a string that is XML.
    Xml(XmlShape),
}

/// The arguments that form the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyShape {
    /// The value of one argument is the whole body.
    Argument(String),
    /// The body is an object with these members.
    Properties(Vec<BodyMember>),
}

/// A member of a body that is an argument of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BodyMember {
    /// The argument's name in the tool's argument object.
    pub argument: String,
    /// The member's name in the body.
    pub name: String,
}

/// Serialisation of one property of a form or multipart body (OpenAPI 3.0.4, Encoding Object).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Encoding {
    /// Media type of the part, or a comma-separated list of allowed types; `None`: by the value's type, as the
    /// specification defines.
    pub content_type: Option<String>,
    /// Kind of the value, or of each item of an array.
    pub content: Content,
    /// Additional header fields of the part, with values that the document fixes.
    pub headers: BTreeMap<String, String>,
    /// As for a query parameter; `None`: `form`.
    pub style: Option<Style>,
    /// As for a query parameter; `None`: true for `form`, otherwise false.
    pub explode: Option<bool>,
    /// As for a query parameter; `None`: false.
    pub allow_reserved: Option<bool>,
    /// As for a query parameter.
    pub nested: Vec<Style>,
}

impl Style {
    /// Returns the style of a query parameter with this name.
    pub(crate) fn of_query(name: &str) -> Option<Self> {
        Some(match name {
            "form" => Self::Form,
            "spaceDelimited" => Self::SpaceDelimited,
            "pipeDelimited" => Self::PipeDelimited,
            "deepObject" => Self::DeepObject,
            _ => return None,
        })
    }
}

impl BodyFormat {
    /// Whether the body is built from the members of an object if its schema is one.
    pub fn has_members(self) -> bool {
        matches!(self, Self::Json | Self::Form | Self::Multipart | Self::Yaml | Self::Xml)
    }
}

impl Location {
    /// Returns the value of OpenAPI's `in`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }

    /// Returns the default style of the location.
    pub fn default_style(self) -> Style {
        match self {
            Self::Path | Self::Header => Style::Simple,
            Self::Query | Self::Cookie => Style::Form,
        }
    }
}
