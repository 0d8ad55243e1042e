//! Parameters of an operation: merged from path item and operation, references followed, each checked.

use serde_json::Value;

use super::binding::{Location, Style};
use super::document::{Document, Located};
use super::notes::Notes;
use super::query_string;

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

/// The parameters of `operation` in `path_item`. The operation's own replace the path's of the same name and location (OpenAPI
/// 3.0.4, Operation Object). An error says which parameter cannot be understood: a request without it might mean another thing.
pub(super) fn parameters<'d>(
    document: &'d Document,
    path_item: &Located<'d>,
    operation: &Located<'d>,
    notes: &mut Notes,
) -> Result<Vec<Parameter<'d>>, String> {
    let mut merged: Vec<Parameter<'d>> = Vec::new();
    for holder in [path_item, operation] {
        let Some(list) = holder.member("parameters") else { continue };
        if !list.value.is_array() && !list.value.is_null() {
            return Err(format!("{} is no array", list.at));
        }
        for item in list.items() {
            for parameter in parameter(document, item, notes)? {
                let same = |other: &Parameter<'_>| other.name == parameter.name && other.location == parameter.location;
                match merged.iter_mut().find(|other| same(other)) {
                    Some(other) => *other = parameter,
                    None => merged.push(parameter),
                }
            }
        }
    }
    Ok(merged)
}

/// What a Parameter Object stands for: one parameter, none where it is to be ignored, several where it is the query string as a whole.
fn parameter<'d>(document: &'d Document, item: Located<'d>, notes: &mut Notes) -> Result<Vec<Parameter<'d>>, String> {
    let place = item.at.clone();
    let at = document.follow(item).map_err(|error| format!("parameter {place}: {error}"))?;
    let name = at.value.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("parameter {place} has no name"))?.to_owned();
    if at.text("in").is_some_and(|location| location.eq_ignore_ascii_case("querystring")) {
        return query_string::parameters(document, &name, &at);
    }
    let location = location(&at).ok_or_else(|| {
        let found = at.value.get("in").map_or_else(|| "none".to_owned(), Value::to_string);
        format!("parameter `{name}` ({place}) needs `in: path|query|header|cookie`; it has {found}")
    })?;
    if is_ignored(location, &name) {
        return Ok(Vec::new());
    }
    let style = style(&at, location, notes);
    let content = at.member("content").and_then(|content| content.members().next());
    let content = content.map(|(media_type, media)| (media_type, document.follow(media.clone()).unwrap_or(media)));
    let schema = content.as_ref().map_or_else(|| at.member("schema"), |(_, media)| media.member("schema"));
    if schema.is_none() && content.is_none() {
        notes.place(&at.at, format_args!("parameter `{name}` has no schema; any value is accepted"));
    }
    Ok(vec![Parameter {
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
    }])
}

/// Is it a header that no document can describe?
pub(super) fn is_ignored(location: Location, name: &str) -> bool {
    location == Location::Header && IGNORED_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

fn location(parameter: &Located<'_>) -> Option<Location> {
    let all = [Location::Path, Location::Query, Location::Header, Location::Cookie];
    let given = parameter.text("in")?;
    all.into_iter().find(|location| location.as_str().eq_ignore_ascii_case(given))
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
