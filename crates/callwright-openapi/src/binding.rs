//! The mapping from a tool's arguments back to the parts of an HTTP request, as data.

use std::collections::BTreeMap;

use serde::Serialize;

use super::xml::XmlShape;

/// Where one argument goes (OpenAPI 3.0.4, Parameter Object).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// The argument's name in the tool's argument object.
    pub argument: String,
    /// The parameter's name on the wire; for the path, what stands between the braces of the template.
    pub name: String,
    /// The part of the request.
    pub location: Location,
    /// Must every request have it?
    pub required: bool,
    /// How arrays and objects are written.
    pub style: Style,
    /// Does each item or member become a parameter (or part) of its own?
    pub explode: bool,
    /// May reserved characters (RFC 3986 section 2.2) stay unencoded? For query parameters; and for templates such as `{+name}`
    /// and `{key+}`, whose values may have slashes.
    pub allow_reserved: bool,
    /// A parameter described by `content`: its value is serialised as this media type, and `style` says nothing.
    pub media_type: Option<String>,
    /// How arrays within the array are written, outermost first (Swagger 2.0, Items Object); where it ends: as JSON.
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

/// How a parameter's value is written (OpenAPI 3.0.4, Style Values).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    /// `;color=blue` (RFC 6570 section 3.2.7); path alone.
    Matrix,
    /// `.blue` (RFC 6570 section 3.2.5); path alone.
    Label,
    /// `blue,black` (RFC 6570 section 3.2.2); path and header.
    Simple,
    /// `color=blue` (RFC 6570 section 3.2.8); query and cookie.
    Form,
    /// `blue%20black`; query alone, in Swagger 2.0 everywhere.
    SpaceDelimited,
    /// `blue%09black`; Swagger 2.0 alone (`collectionFormat: tsv`).
    TabDelimited,
    /// `blue|black`; query alone, in Swagger 2.0 everywhere.
    PipeDelimited,
    /// `color[R]=100`; query alone.
    DeepObject,
}

/// How the request body is made from arguments (OpenAPI 3.0.4, Request Body Object).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BodyBinding {
    /// The media type to send: one of the document's. Ranges are made concrete, but for those of bytes (`image/*`), which the
    /// content itself makes concrete.
    pub media_type: String,
    /// How the value becomes bytes.
    pub format: BodyFormat,
    /// Must every request have a body?
    pub required: bool,
    /// Which arguments make it.
    pub shape: BodyShape,
    /// What the value is, for bodies of text and bytes.
    pub content: Content,
    /// Per property, for form and multipart bodies (Encoding Object).
    pub encoding: BTreeMap<String, Encoding>,
}

/// How a body's value becomes bytes. The order is that of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyFormat {
    /// The value as JSON (RFC 8259).
    Json,
    /// An object's members as `application/x-www-form-urlencoded`.
    Form,
    /// An object's members as parts (RFC 2046 section 5.1; `multipart/form-data`: RFC 7578).
    Multipart,
    /// An array's items as JSON, one per line, or behind record separators (RFC 7464).
    JsonSequence,
    /// The value as YAML: JSON is YAML (RFC 9512 section 3.4), and a text is taken for YAML.
    Yaml,
    /// The value as XML, as [`Content::Xml`] says; else a text that is XML.
    Xml,
    /// The value is a text that is sent as it is.
    Text,
    /// The value is a file.
    Bytes,
}

/// What the value of a body or of a part is, where its own type does not say it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// What it looks like: text, numbers and flags as text, objects as JSON.
    #[default]
    Value,
    /// A file: its text as it is, or a `data:` URL (RFC 2397), whose content is sent.
    File,
    /// A file in base64, which is sent as the text that it is.
    Base64,
    /// An object or array that is written as XML, or a text that is XML.
    Xml(XmlShape),
}

/// Which arguments make the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyShape {
    /// The value of one argument is the whole body.
    Argument(String),
    /// The body is an object of these members.
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

/// How one property of a form or multipart body is written (OpenAPI 3.0.4, Encoding Object).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Encoding {
    /// The part's media type, or a list of those that it may have; `None`: by the value's type, as the specification says.
    pub content_type: Option<String>,
    /// What the value, or each item of an array, is.
    pub content: Content,
    /// Further header fields of the part, whose values the document fixes.
    pub headers: BTreeMap<String, String>,
    /// As for a query parameter; `None`: `form`.
    pub style: Option<Style>,
    /// As for a query parameter; `None`: true for `form`, else false.
    pub explode: Option<bool>,
    /// As for a query parameter; `None`: no.
    pub allow_reserved: Option<bool>,
    /// As for a query parameter.
    pub nested: Vec<Style>,
}

impl BodyFormat {
    /// Is the body made from the members of an object, where its schema is one?
    pub fn has_members(self) -> bool {
        matches!(self, Self::Json | Self::Form | Self::Multipart | Self::Yaml | Self::Xml)
    }
}

impl Location {
    /// The word that OpenAPI uses in `in`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }

    /// The style that holds where a parameter names none.
    pub fn default_style(self) -> Style {
        match self {
            Self::Path | Self::Header => Style::Simple,
            Self::Query | Self::Cookie => Style::Form,
        }
    }
}
