//! Parses one parameter of an operation as described by Swagger 2.0.

use super::collection::{Collection, collection};
use crate::document::LocatedValue;
use crate::report::notes::LoadNotes;
use crate::request::binding::Location;
use crate::request::parameter::OperationParameter;

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
