//! One parameter of an operation, as Swagger 2.0 describes it.

use super::super::binding::Location;
use super::super::document::{Document, Located};
use super::super::notes::Notes;
use super::super::parameter::Parameter;
use super::collection::{Collection, collection};

/// A form field, as a parameter of the query.
pub(super) fn in_query<'d>(document: &'d Document, field: &Located<'d>, notes: &mut Notes) -> Parameter<'d> {
    parameter(document, field, name(field).unwrap_or_default().to_owned(), Location::Query, notes)
}

/// The parameter's name, as it stands on the wire.
pub(in super::super) fn name<'d>(parameter: &Located<'d>) -> Option<&'d str> {
    parameter.value.get("name")?.as_str().filter(|name| !name.is_empty())
}

/// Where the schema of a parameter, field or body stands: within it, or it is the schema itself. `None` where nothing is said.
pub(super) fn schema<'d>(parameter: &Located<'d>) -> Option<Located<'d>> {
    let describes_itself = ["type", "enum", "items", "format", "pattern", "default"];
    parameter.member("schema").or_else(|| {
        describes_itself.iter().any(|keyword| parameter.value.get(keyword).is_some()).then(|| parameter.clone())
    })
}

/// What the Parameter Object `at` says about the parameter `name` of `location`.
pub(in super::super) fn parameter<'d>(
    document: &'d Document,
    at: &Located<'d>,
    name: String,
    location: Location,
    notes: &mut Notes,
) -> Parameter<'d> {
    let schema = schema(at);
    if schema.is_none() {
        notes.place(&at.at, format_args!("parameter `{name}` has no type; any value is accepted"));
    }
    let Collection { style, explode, nested } = collection(document, at, location, notes);
    Parameter {
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
