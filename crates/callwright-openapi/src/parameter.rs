//! One parameter of an operation, as OpenAPI 3 describes it.

use super::binding::{Location, Style};
use super::document::{Document, Located};
use super::notes::Notes;

/// Header parameters that OpenAPI 3.0.4 says to ignore: the body, the answer and the credentials set these fields.
const IGNORED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// One parameter, as the document has it.
#[derive(Debug, Clone)]
pub(super) struct Parameter<'d> {
    pub(super) name: String,
    /// For a path parameter: what stands between the braces of its place in the path.
    pub(super) slot: Option<String>,
    pub(super) location: Location,
    pub(super) required: bool,
    pub(super) style: Style,
    pub(super) explode: bool,
    pub(super) allow_reserved: bool,
    /// May it be sent with an empty value, whatever its schema says?
    pub(super) allows_empty: bool,
    /// For a parameter described by `content`.
    pub(super) media_type: Option<String>,
    /// How arrays within the array are written.
    pub(super) nested: Vec<Style>,
    /// `None`: the document gives none.
    pub(super) schema: Option<Located<'d>>,
    pub(super) description: Option<&'d str>,
    pub(super) deprecated: bool,
    /// The Parameter Object itself.
    pub(super) at: Located<'d>,
}

/// What the Parameter Object `at` of OpenAPI 3 says about the parameter `name` of `location`.
pub(super) fn parameter<'d>(
    document: &'d Document,
    at: Located<'d>,
    name: String,
    location: Location,
    notes: &mut Notes,
) -> Parameter<'d> {
    let style = style(&at, location, notes);
    let content = at.member("content").and_then(|content| content.members().next());
    let content = content.map(|(media_type, media)| (media_type, document.follow(media.clone()).unwrap_or(media)));
    let schema = content.as_ref().map_or_else(|| at.member("schema"), |(_, media)| media.member("schema"));
    if schema.is_none() && content.is_none() {
        notes.place(&at.at, format_args!("parameter `{name}` has no schema; any value is accepted"));
    }
    Parameter {
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

/// Is it a header that no document can describe?
pub(super) fn is_ignored(location: Location, name: &str) -> bool {
    location == Location::Header && IGNORED_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

/// A style that the location does not have is taken for the default, because something has to be sent.
fn style(parameter: &Located<'_>, location: Location, notes: &mut Notes) -> Style {
    let Some(given) = parameter.value.get("style") else { return location.default_style() };
    let style = match (location, given.as_str().unwrap_or_default()) {
        (Location::Path, "matrix") => Some(Style::Matrix),
        (Location::Path, "label") => Some(Style::Label),
        (Location::Path | Location::Header, "simple") => Some(Style::Simple),
        (Location::Query | Location::Cookie, "form") => Some(Style::Form),
        // OpenAPI 3.2: as `form`, but for characters that no cookie may have.
        (Location::Cookie, "cookie") => Some(Style::Form),
        (Location::Query, other) => query_style(other),
        _ => None,
    };
    style.unwrap_or_else(|| {
        notes.place(
            &parameter.at,
            format_args!("style {given} is no style of a {} parameter; the default is used", location.as_str()),
        );
        location.default_style()
    })
}

/// The styles that only the query has.
pub(super) fn query_style(name: &str) -> Option<Style> {
    match name {
        "form" => Some(Style::Form),
        "spaceDelimited" => Some(Style::SpaceDelimited),
        "pipeDelimited" => Some(Style::PipeDelimited),
        "deepObject" => Some(Style::DeepObject),
        _ => None,
    }
}
