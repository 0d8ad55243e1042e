//! Parses one parameter of an operation as described by OpenAPI 3.

use crate::document::LocatedValue;
use crate::report::notes::LoadNotes;
use crate::request::binding::{Location, Style};

/// Header parameters that OpenAPI 3.0.4 excludes. They are set from the body, the response media types and the
/// credentials.
const IGNORED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// One parameter as described by the document.
#[derive(Debug, Clone)]
pub(crate) struct OperationParameter<'d> {
    pub(crate) name: String,
    /// For a path parameter: the text between the braces of its template expression.
    pub(crate) slot: Option<String>,
    pub(crate) location: Location,
    pub(crate) required: bool,
    pub(crate) style: Style,
    pub(crate) explode: bool,
    pub(crate) allow_reserved: bool,
    /// Whether an empty value may be sent, regardless of the schema.
    pub(crate) allows_empty: bool,
    /// Media type of a parameter described by `content`.
    pub(crate) media_type: Option<String>,
    /// Styles of nested arrays.
    pub(crate) nested: Vec<Style>,
    /// Schema of the parameter; `None` if the document gives none.
    pub(crate) schema: Option<LocatedValue<'d>>,
    pub(crate) description: Option<&'d str>,
    pub(crate) deprecated: bool,
    /// The Parameter Object.
    pub(crate) at: LocatedValue<'d>,
}

/// The parameters of one operation: its own, and those of its path item that it does not override.
#[derive(Default)]
pub(crate) struct ParameterLists<'d> {
    /// Path, query, header and cookie.
    pub(crate) parameters: Vec<OperationParameter<'d>>,
    /// `in: body`.
    pub(crate) bodies: Vec<LocatedValue<'d>>,
    /// `in: formData`.
    pub(crate) fields: Vec<LocatedValue<'d>>,
}

impl ParameterLists<'_> {
    /// Whether there are bodies or form fields.
    pub(crate) fn has_body(&self) -> bool {
        !self.bodies.is_empty() || !self.fields.is_empty()
    }
}

/// Parses the OpenAPI 3 Parameter Object `at` of the parameter `name` in `location`.
pub(crate) fn parameter<'d>(
    at: LocatedValue<'d>,
    name: String,
    location: Location,
    notes: &mut LoadNotes,
) -> OperationParameter<'d> {
    let style = style(&at, location, notes);
    let content = at.member("content").and_then(|content| content.members().next());
    let content = content.map(|(media_type, media)| (media_type, media.follow().unwrap_or(media)));
    let schema = content.as_ref().map_or_else(|| at.member("schema"), |(_, media)| media.member("schema"));
    if schema.is_none() && content.is_none() {
        notes.remark_at(&at.at, format_args!("parameter `{name}` has no schema; any value is accepted"));
    }
    OperationParameter {
        required: location == Location::Path || at.flag("required") == Some(true),
        style,
        explode: at.flag("explode").unwrap_or(style == Style::Form),
        allow_reserved: at.flag("allowReserved") == Some(true),
        allows_empty: location == Location::Query && at.flag("allowEmptyValue") == Some(true),
        media_type: content.map(|(media_type, _)| media_type.clone()),
        nested: Vec::new(),
        schema,
        description: at.text("description"),
        deprecated: at.flag("deprecated") == Some(true),
        slot: None,
        name,
        location,
        at,
    }
}

/// Whether it is a header that a document cannot describe.
pub(crate) fn is_ignored(location: Location, name: &str) -> bool {
    location == Location::Header && IGNORED_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

/// Returns the parameter's style. Replaces a style that its location does not support by the default, because the
/// parameter must be sent in some style.
fn style(parameter: &LocatedValue<'_>, location: Location, notes: &mut LoadNotes) -> Style {
    let Some(given) = parameter.value.get("style") else { return location.default_style() };
    let style = match (location, given.as_str().unwrap_or_default()) {
        (Location::Path, "matrix") => Some(Style::Matrix),
        (Location::Path, "label") => Some(Style::Label),
        (Location::Path | Location::Header, "simple") => Some(Style::Simple),
        (Location::Query | Location::Cookie, "form") => Some(Style::Form),
        // OpenAPI 3.2: like `form`, except for characters that are not allowed in cookies.
        (Location::Cookie, "cookie") => Some(Style::Form),
        (Location::Query, other) => query_style(other),
        _ => None,
    };
    style.unwrap_or_else(|| {
        notes.remark_at(
            &parameter.at,
            format_args!("style {given} is not allowed for a {} parameter; the default is used", location.as_str()),
        );
        location.default_style()
    })
}

/// Parses a style of query parameters.
pub(crate) fn query_style(name: &str) -> Option<Style> {
    match name {
        "form" => Some(Style::Form),
        "spaceDelimited" => Some(Style::SpaceDelimited),
        "pipeDelimited" => Some(Style::PipeDelimited),
        "deepObject" => Some(Style::DeepObject),
        _ => None,
    }
}
