//! Collects the parameters of an operation by kind.
//!
//! Every version of OpenAPI has a list for the path item and a list for the operation. In Swagger 2.0 the lists also
//! contain bodies and form fields, and so do documents that were migrated to OpenAPI 3 by hand.

use serde_json::Value;

use crate::request::parameter::{self, OperationParameter, ParameterLists, is_ignored};
use crate::request::path_template::slots;
use crate::{DocumentOperation, LoadNotes, LocatedValue, Location, Version, swagger};
use callwright_common::json::scalar_text;

/// Parses the parameters of `source`. An operation's parameters override those of its path items with the same name and
/// location (OpenAPI 3.0.4, Operation Object).
///
/// # Errors
///
/// Returns the first parameter that cannot be parsed. For a safe method the parameter is omitted instead. For other
/// methods, a request without it could have a larger effect than intended.
pub(crate) fn lists<'d>(source: &DocumentOperation<'d>, notes: &mut LoadNotes) -> Result<ParameterLists<'d>, String> {
    let mut all = ParameterLists::default();
    for holder in source.path_items.iter().chain([&source.operation]) {
        let mut own = ParameterLists::default();
        match entries(holder) {
            Err(reason) => left_out(source, Err(reason), notes)?,
            Ok(entries) => {
                for entry in entries {
                    let added = own.add(source.path, entry, notes);
                    left_out(source, added, notes)?;
                }
            }
        }
        all.replace_with(own);
    }
    Ok(all)
}

/// Reports the fault of a safe operation instead of returning it.
fn left_out(source: &DocumentOperation<'_>, result: Result<(), String>, notes: &mut LoadNotes) -> Result<(), String> {
    match result {
        Err(reason) if source.method.is_safe() => {
            notes.remark(format!("{reason}; left out"));
            Ok(())
        }
        other => other,
    }
}

/// An entry of a parameter list.
struct ParameterEntry<'d> {
    at: LocatedValue<'d>,
    /// The entry's key, if the document has an object instead of an array.
    key: Option<&'d str>,
}

/// Returns the entries of `holder`'s parameter list. Accepts an array, with nested arrays flattened; a single
/// parameter; an object of parameters by name; or a `$ref` to one of these.
fn entries<'d>(holder: &LocatedValue<'d>) -> Result<Vec<ParameterEntry<'d>>, String> {
    let Some(list) = holder.member("parameters").filter(|list| !list.value.is_null()) else { return Ok(Vec::new()) };
    let end = list.follow().map_err(|error| format!("parameters {}: {error}", list.at))?;
    let is_parameter = ["name", "in"].iter().any(|key| end.value.get(key).is_some_and(Value::is_string));
    let entries = match end.value {
        _ if is_parameter => vec![ParameterEntry { at: list, key: None }],
        Value::Array(_) => end.items().flat_map(unfolded).map(|at| ParameterEntry { at, key: None }).collect(),
        Value::Object(_) => end.members().map(|(key, at)| ParameterEntry { at, key: Some(key) }).collect(),
        _ => return Err(format!("{} is not an array", list.at)),
    };
    Ok(entries)
}

/// Flattens an entry: YAML parses a dash without an entry as null, and a doubled dash as a nested list.
fn unfolded(item: LocatedValue<'_>) -> Vec<LocatedValue<'_>> {
    match item.value {
        Value::Array(_) => item.items().collect(),
        Value::Null => Vec::new(),
        _ => vec![item],
    }
}

impl<'d> ParameterLists<'d> {
    fn add(&mut self, path: &str, entry: ParameterEntry<'d>, notes: &mut LoadNotes) -> Result<(), String> {
        let position = entry.at.at.clone();
        let reference = entry.at.reference();
        let at = match entry.at.follow() {
            Ok(at) => at,
            // A template expression is a string by default, so its parameter may be omitted.
            Err(_) if reference.is_some_and(|reference| names_slot(reference, path)) => return Ok(()),
            Err(error) => return Err(format!("parameter {position}: {error}")),
        };
        let given = at.text("in").unwrap_or_default().to_ascii_lowercase();
        if given == "body" {
            if !self.bodies.iter().any(|body| body.value == at.value) {
                self.bodies.push(at);
            }
            return Ok(());
        }
        if !at.value.is_object() {
            return Err(format!("parameter {position} is not an object"));
        }
        let name = at.value.get("name").and_then(scalar_text).filter(|name| !name.is_empty());
        let name = name.or_else(|| entry.key.map(str::to_owned));
        let name = name.ok_or_else(|| format!("parameter {position} has no name"))?;
        if ["formdata", "form"].contains(&given.as_str()) {
            put(&mut self.fields, at, |field| swagger::name(field) == Some(&name));
            return Ok(());
        }
        if given == "querystring" {
            parameter::query_string_parameters(&name, &at)?.into_iter().for_each(|parameter| self.put(parameter));
            return Ok(());
        }
        let location = location(&at, &given, &name, path).ok_or_else(|| {
            let given = at.value.get("in").map_or_else(|| "none".to_owned(), Value::to_string);
            format!("parameter `{name}` ({position}) needs `in: {}`; it has {given}", locations(at.document.version))
        })?;
        if is_ignored(location, &name) {
            return Ok(());
        }
        let is_described_by_itself = ["schema", "content"].iter().all(|key| at.value.get(*key).is_none());
        let parameter =
            if at.document.version == Version::V2_0 || is_described_by_itself && at.value.get("type").is_some() {
                swagger::parameter(&at, name, location, notes)
            } else {
                parameter::parameter(at, name, location, notes)
            };
        self.put(parameter);
        Ok(())
    }

    fn put(&mut self, parameter: OperationParameter<'d>) {
        let (name, location) = (parameter.name.clone(), parameter.location);
        put(&mut self.parameters, parameter, |other| other.name == name && other.location == location);
    }

    /// Overrides the path item's parameters by the operation's, by name and location. A body overrides any body.
    fn replace_with(&mut self, own: Self) {
        own.parameters.into_iter().for_each(|parameter| self.put(parameter));
        for field in own.fields {
            let name = swagger::name(&field);
            put(&mut self.fields, field, |other| swagger::name(other) == name);
        }
        if !own.bodies.is_empty() {
            self.bodies = own.bodies;
        }
    }
}

/// Replaces the entry for which `is_same` is true, otherwise appends one.
fn put<T>(list: &mut Vec<T>, entry: T, is_same: impl Fn(&T) -> bool) {
    match list.iter_mut().find(|other| is_same(other)) {
        Some(other) => *other = entry,
        None => list.push(entry),
    }
}

/// Returns the parameter's location. A parameter without `in` whose name is a template expression of the path is a
/// path parameter.
fn location(at: &LocatedValue<'_>, given: &str, name: &str, path: &str) -> Option<Location> {
    let known = [Location::Path, Location::Query, Location::Header, Location::Cookie];
    let named = known.into_iter().find(|location| location.as_str() == given);
    named.or_else(|| (at.value.get("in").is_none() && is_slot(name, path)).then_some(Location::Path))
}

fn is_slot(name: &str, path: &str) -> bool {
    slots(path).is_ok_and(|slots| slots.iter().any(|slot| slot.name == name))
}

/// Whether the last segment of `reference` is a template expression of the path.
fn names_slot(reference: &str, path: &str) -> bool {
    reference.rsplit(['/', '#']).next().is_some_and(|name| is_slot(name, path))
}

fn locations(version: Version) -> &'static str {
    match version {
        Version::V2_0 => "path|query|header|formData|body",
        _ => "path|query|header|cookie",
    }
}
