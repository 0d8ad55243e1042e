//! Parses one parameter of an operation as described by Swagger 2.0.

use crate::{LoadNotes, LocatedValue, Location, OperationParameter, Style};

/// Returns a form field as a query parameter.
pub(super) fn in_query<'d>(field: &LocatedValue<'d>, notes: &mut LoadNotes) -> OperationParameter<'d> {
    parameter(field, name(field).unwrap_or_default().to_owned(), Location::Query, notes)
}

/// Returns the parameter's name on the wire.
pub(crate) fn name<'d>(parameter: &LocatedValue<'d>) -> Option<&'d str> {
    parameter.value.get("name")?.as_str().filter(|name| !name.is_empty())
}

/// Returns the schema of a parameter, field or body: its member `schema`, or the object itself. `None` if it has
/// neither.
pub(super) fn schema<'d>(parameter: &LocatedValue<'d>) -> Option<LocatedValue<'d>> {
    let describes_itself = ["type", "enum", "items", "format", "pattern", "default"];
    parameter.member("schema").or_else(|| {
        describes_itself.iter().any(|keyword| parameter.value.get(keyword).is_some()).then(|| parameter.clone())
    })
}

/// Parses the Parameter Object `at` of the parameter `name` in `location`.
pub(crate) fn parameter<'d>(
    at: &LocatedValue<'d>,
    name: String,
    location: Location,
    notes: &mut LoadNotes,
) -> OperationParameter<'d> {
    let schema = schema(at);
    if schema.is_none() {
        notes.remark_at(&at.at, format_args!("parameter `{name}` has no type; any value is accepted"));
    }
    let Collection { style, explode, nested } = collection(at, location, notes);
    OperationParameter {
        name,
        slot: None,
        location,
        required: location == Location::Path || at.flag("required") == Some(true),
        style,
        explode,
        allow_reserved: false,
        allows_empty: location == Location::Query && at.flag("allowEmptyValue") == Some(true),
        media_type: None,
        nested,
        schema,
        description: at.text("description"),
        deprecated: at.flag("deprecated") == Some(true),
        at: at.clone(),
    }
}

/// Maximum number of nested arrays with a style of their own; deeper ones are written as JSON.
const MAX_LEVELS: usize = 8;

/// Serialisation of one parameter or form field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Collection {
    pub(super) style: Style,
    pub(super) explode: bool,
    /// Styles of nested arrays, outermost first.
    pub(super) nested: Vec<Style>,
}

/// Returns the collection format of `parameter` in `location`; a form field counts as a query parameter.
pub(super) fn collection<'d>(parameter: &LocatedValue<'d>, location: Location, notes: &mut LoadNotes) -> Collection {
    let mut nested = Vec::new();
    let mut items = parameter.member("items");
    while let Some(Ok(level)) = items.map(|items| items.follow()) {
        if level.text("type") != Some("array") || nested.len() == MAX_LEVELS {
            break;
        }
        nested.push(separated(&level, notes).unwrap_or(Style::Simple));
        items = level.member("items");
    }
    let has_pairs = location == Location::Query;
    if has_pairs && (parameter.text("collectionFormat") == Some("multi") || is_object(parameter)) {
        return Collection { style: Style::Form, explode: true, nested };
    }
    let style = separated(parameter, notes).unwrap_or_else(|| location.default_style());
    Collection { style, explode: false, nested }
}

/// Returns the style of a format that joins the items with a separator; `None` for commas, the default.
fn separated(holder: &LocatedValue<'_>, notes: &mut LoadNotes) -> Option<Style> {
    let given = holder.text("collectionFormat")?;
    match given {
        "csv" => None,
        "ssv" => Some(Style::SpaceDelimited),
        "tsv" => Some(Style::TabDelimited),
        "pipes" => Some(Style::PipeDelimited),
        other => {
            let what = format!("collectionFormat `{other}` is not supported here; items are joined by commas");
            notes.remark_at(&holder.at, what);
            None
        }
    }
}

/// Whether the parameter is an object. Swagger 2.0 allows objects in bodies only; elsewhere, members are sent as
/// separate parameters.
fn is_object(parameter: &LocatedValue<'_>) -> bool {
    let schema = parameter.member("schema").and_then(|schema| schema.follow().ok());
    schema.as_ref().unwrap_or(parameter).text("type") == Some("object")
}
