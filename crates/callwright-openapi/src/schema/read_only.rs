//! Finds properties of responses only (`readOnly`), which must not be part of a request.

use std::collections::HashSet;

use serde_json::Value;

use crate::{ApiDocument, SourceFile};

/// Returns the read-only properties of an object schema in `file`, including its `allOf` branches. If a property is
/// described several times, one `readOnly: true` suffices (JSON Schema 2020-12 Validation, section 9.4), unless
/// another description has `readOnly: false`.
pub(crate) fn read_only_names<'d>(
    document: &'d ApiDocument,
    schema: &'d Value,
    file: &'d SourceFile,
) -> HashSet<&'d str> {
    let (mut names, mut writable) = (HashSet::new(), HashSet::new());
    visit(document, vec![(schema, file)], |name, flag| match flag {
        Some(true) => drop(names.insert(name)),
        Some(false) => drop(writable.insert(name)),
        None => {}
    });
    names.retain(|name| !writable.contains(name));
    names
}

/// Returns those of the `hidden` names that are visible in a schema referenced by an `allOf` branch, because that
/// schema is shared with other uses.
pub(super) fn visible_by_reference<'d>(
    document: &'d ApiDocument,
    schema: &'d Value,
    file: &'d SourceFile,
    hidden: &HashSet<&'d str>,
) -> Vec<&'d str> {
    let mut visible = Vec::new();
    let branches = branches(schema).filter(|branch| branch.get("$ref").is_some()).rev();
    let targets = branches.filter_map(|branch| document.end_of(branch, file)).collect();
    visit(document, targets, |name, flag| {
        if hidden.contains(name) && flag != Some(true) && !visible.contains(&name) {
            visible.push(name);
        }
    });
    visible
}

/// Visits the descriptions of properties in the schemas `open`, and passes each name and flag to `note`.
fn visit<'d>(
    document: &'d ApiDocument,
    mut open: Vec<(&'d Value, &'d SourceFile)>,
    mut note: impl FnMut(&'d str, Option<bool>),
) {
    // Shared and recursive schemas are visited once. Their addresses do not move.
    let mut visited = HashSet::new();
    while let Some((schema, file)) = open.pop() {
        if !schema.is_object() || !visited.insert(std::ptr::from_ref(schema)) {
            continue;
        }
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, property) in properties {
            // The flag beside a `$ref` applies before that of its target.
            let own = property.get("readOnly").and_then(Value::as_bool);
            note(name, own.or_else(|| document.end_of(property, file)?.0.get("readOnly")?.as_bool()));
        }
        open.extend(branches(schema).rev().filter_map(|branch| document.end_of(branch, file)));
    }
}

fn branches(schema: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    schema.get("allOf").and_then(Value::as_array).into_iter().flatten()
}
