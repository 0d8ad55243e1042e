//! Properties that only answers have (`readOnly`): no request may be asked for them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::document::Document;
use super::super::files::SourceFile;

/// `allOf` within `allOf` that is looked into; deeper ones are rare, and their properties then simply stay.
const MAX_LEVELS: usize = 8;

/// The names of the read-only properties of an object schema in `file` and of what its `allOf` adds: of several descriptions of a property
/// one that is read-only suffices (JSON Schema 2020-12 Validation, section 9.4), unless another one says `readOnly: false`.
pub(crate) fn read_only_names<'d>(
    document: &'d Document,
    schema: &'d Map<String, Value>,
    file: &'d SourceFile,
) -> HashSet<&'d str> {
    let mut names = HashSet::new();
    let mut writable = HashSet::new();
    collect(document, schema, file, MAX_LEVELS, &mut |name, property, file| match flag(document, property, file) {
        Some(true) => drop(names.insert(name)),
        Some(false) => drop(writable.insert(name)),
        None => {}
    });
    names.retain(|name| !writable.contains(name));
    names
}

/// Those of the `hidden` names that a schema shows to which a branch of `allOf` refers: it is written once for all that refer to it.
pub(super) fn shown_by_reference<'d>(
    document: &'d Document,
    schema: &'d Map<String, Value>,
    file: &'d SourceFile,
    hidden: &HashSet<&'d str>,
) -> Vec<&'d str> {
    let mut shown = Vec::new();
    let branches = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    for branch in branches.filter(|branch| branch.get("$ref").is_some()) {
        let Some((Value::Object(target), file)) = document.end_of(branch, file) else { continue };
        collect(document, target, file, MAX_LEVELS, &mut |name, property, file| {
            if hidden.contains(name) && flag(document, property, file) != Some(true) && !shown.contains(&name) {
                shown.push(name);
            }
        });
    }
    shown
}

fn collect<'d>(
    document: &'d Document,
    schema: &'d Map<String, Value>,
    file: &'d SourceFile,
    levels: usize,
    note: &mut dyn FnMut(&'d str, &'d Value, &'d SourceFile),
) {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.for_each(|(name, property)| note(name, property, file));
    let Some(levels) = levels.checked_sub(1) else { return };
    for branch in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        if let Some((Value::Object(branch), file)) = document.end_of(branch, file) {
            collect(document, branch, file, levels, note);
        }
    }
}

/// The flag may stand beside a `$ref` or where it leads.
fn flag<'d>(document: &'d Document, property: &'d Value, file: &'d SourceFile) -> Option<bool> {
    let own = |schema: &Value| schema.get("readOnly").and_then(Value::as_bool);
    own(property).or_else(|| own(document.end_of(property, file)?.0))
}
