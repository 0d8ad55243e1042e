//! The mapping from a tool's arguments back to the parts of an HTTP request, as data.

use std::collections::BTreeMap;

use serde::Serialize;

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
    /// The media type to send: one of the document's, ranges such as `*/*` made concrete.
    pub media_type: String,
    /// Must every request have a body?
    pub required: bool,
    /// Which arguments make it.
    pub shape: BodyShape,
    /// Per property, for form and multipart bodies (Encoding Object).
    pub encoding: BTreeMap<String, Encoding>,
}

/// Which arguments make the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyShape {
    /// The value of one argument is the whole body.
    Argument(String),
    /// The body is an object whose members are the arguments of these names.
    Properties(Vec<String>),
}

/// How one property of a form or multipart body is written (OpenAPI 3.0.4, Encoding Object).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Encoding {
    /// The part's media type; `None`: by the value's type, as the specification says.
    pub content_type: Option<String>,
    /// As for a query parameter; `None`: `form`.
    pub style: Option<Style>,
    /// As for a query parameter; `None`: true for `form`, else false.
    pub explode: Option<bool>,
    /// As for a query parameter.
    pub allow_reserved: bool,
    /// As for a query parameter.
    pub nested: Vec<Style>,
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
