//! The parameters of an operation, told apart by where they go.

use serde_json::Value;

use super::super::binding::Location;
use super::super::document::{Document, Located};
use super::super::notes::Notes;
use super::super::parameter::{Parameter, is_ignored};
use super::super::path_template::slots;
use super::collection::{Collection, collection};

/// The parameters of one operation: its own, and those of its path that it does not replace.
#[derive(Default)]
pub(super) struct Lists<'d> {
    /// Path, query and header.
    pub(super) parameters: Vec<Parameter<'d>>,
    /// `in: body`.
    pub(super) bodies: Vec<Located<'d>>,
    /// `in: formData`.
    pub(super) fields: Vec<Located<'d>>,
}

/// Reads the parameters of `operation` in `path_item`, whose path is `path`.
pub(super) fn lists<'d>(
    document: &'d Document,
    path: &str,
    path_item: &Located<'d>,
    operation: &Located<'d>,
    notes: &mut Notes,
) -> Result<Lists<'d>, String> {
    let mut all = Lists::default();
    for holder in [path_item, operation] {
        let Some(list) = holder.member("parameters") else { continue };
        if !list.value.is_array() && !list.value.is_null() {
            return Err(format!("{} is no array", list.at));
        }
        let mut own = Lists::default();
        for item in list.items() {
            own.add(document, path, item, notes)?;
        }
        all.replace_with(own);
    }
    Ok(all)
}

/// A form field, as a parameter of the query.
pub(super) fn in_query<'d>(document: &'d Document, field: &Located<'d>, notes: &mut Notes) -> Parameter<'d> {
    parameter(document, field, name(field).unwrap_or_default(), Location::Query, notes)
}

/// The parameter's name, as it stands on the wire.
pub(super) fn name<'d>(parameter: &Located<'d>) -> Option<&'d str> {
    parameter.value.get("name")?.as_str().filter(|name| !name.is_empty())
}

/// Where the schema of a parameter, field or body stands: within it, or it is the schema itself. `None` where nothing is said.
pub(super) fn schema<'d>(parameter: &Located<'d>) -> Option<Located<'d>> {
    let describes_itself = ["type", "enum", "items", "format", "pattern", "default"];
    parameter.member("schema").or_else(|| {
        describes_itself.iter().any(|keyword| parameter.value.get(keyword).is_some()).then(|| parameter.clone())
    })
}

impl<'d> Lists<'d> {
    fn add(&mut self, document: &'d Document, path: &str, item: Located<'d>, notes: &mut Notes) -> Result<(), String> {
        let place = item.at.clone();
        let at = document.follow(item).map_err(|error| format!("parameter {place}: {error}"))?;
        let given = at.text("in").unwrap_or_default().to_ascii_lowercase();
        if given == "body" {
            if !self.bodies.iter().any(|body| body.value == at.value) {
                self.bodies.push(at);
            }
            return Ok(());
        }
        let name = name(&at).ok_or_else(|| format!("parameter {place} has no name"))?;
        match given.as_str() {
            "formdata" | "form" => put(&mut self.fields, at, |field| self::name(field) == Some(name)),
            _ => {
                let location =
                    location(&at, &given, name, path).ok_or_else(|| wrong_place(name, &at, format_args!("{place}")))?;
                if !is_ignored(location, name) {
                    let parameter = parameter(document, &at, name, location, notes);
                    put(&mut self.parameters, parameter, |other| other.name == name && other.location == location);
                }
            }
        }
        Ok(())
    }

    /// An operation's parameters replace those of its path that have the same name and place; a body, any body.
    fn replace_with(&mut self, own: Self) {
        for parameter in own.parameters {
            let (name, location) = (parameter.name.clone(), parameter.location);
            put(&mut self.parameters, parameter, |other| other.name == name && other.location == location);
        }
        for field in own.fields {
            let name = name(&field);
            put(&mut self.fields, field, |other| self::name(other) == name);
        }
        if !own.bodies.is_empty() {
            self.bodies = own.bodies;
        }
    }
}

/// Replaces the entry that `is_same` finds, else adds one.
fn put<T>(list: &mut Vec<T>, entry: T, is_same: impl Fn(&T) -> bool) {
    match list.iter_mut().find(|other| is_same(other)) {
        Some(other) => *other = entry,
        None => list.push(entry),
    }
}

/// A parameter that does not say where it goes but bears the name of a place in the path can only go there.
fn location(at: &Located<'_>, given: &str, name: &str, path: &str) -> Option<Location> {
    let known = [Location::Path, Location::Query, Location::Header];
    let named = known.into_iter().find(|location| location.as_str() == given);
    let is_slot = || slots(path).is_ok_and(|slots| slots.iter().any(|slot| slot.name == name));
    named.or_else(|| (at.value.get("in").is_none() && is_slot()).then_some(Location::Path))
}

fn wrong_place(name: &str, at: &Located<'_>, place: impl std::fmt::Display) -> String {
    let found = at.value.get("in").map_or_else(|| "none".to_owned(), Value::to_string);
    format!("parameter `{name}` ({place}) needs `in: path|query|header|formData|body`; it has {found}")
}

fn parameter<'d>(
    document: &'d Document,
    at: &Located<'d>,
    name: &str,
    location: Location,
    notes: &mut Notes,
) -> Parameter<'d> {
    let schema = schema(at);
    if schema.is_none() {
        notes.place(&at.at, format_args!("parameter `{name}` has no type; any value is accepted"));
    }
    let Collection { style, explode, nested } = collection(document, at, location, notes);
    Parameter {
        name: name.to_owned(),
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
