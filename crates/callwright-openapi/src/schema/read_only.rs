//! Finds properties of responses only (`readOnly`), which must not be part of a request.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::document::ApiDocument;
use crate::files::SourceFile;

/// Returns the read-only properties of an object schema in `file`, including its `allOf` branches. If a property is
/// described several times, one `readOnly: true` suffices (JSON Schema 2020-12 Validation, section 9.4), unless
/// another description has `readOnly: false`.
pub(crate) fn read_only_names<'d>(
    document: &'d ApiDocument,
    schema: &'d Map<String, Value>,
    file: &'d SourceFile,
) -> HashSet<&'d str> {
    let (mut names, mut writable) = (HashSet::new(), HashSet::new());
    let mut note = |name, flag| match flag {
        Some(true) => drop(names.insert(name)),
        Some(false) => drop(writable.insert(name)),
        None => {}
    };
    ReadOnlySearch { document, visited: HashSet::new(), note: &mut note }.visit(schema, file);
    names.retain(|name| !writable.contains(name));
    names
}

/// Returns those of the `hidden` names that are visible in a schema referenced by an `allOf` branch, because that
/// schema is shared with other uses.
pub(super) fn visible_by_reference<'d>(
    document: &'d ApiDocument,
    schema: &'d Map<String, Value>,
    file: &'d SourceFile,
    hidden: &HashSet<&'d str>,
) -> Vec<&'d str> {
    let mut visible = Vec::new();
    let mut note = |name, flag| {
        if hidden.contains(name) && flag != Some(true) && !visible.contains(&name) {
            visible.push(name);
        }
    };
    let mut search = ReadOnlySearch { document, visited: HashSet::new(), note: &mut note };
    let branches = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    for branch in branches.filter(|branch| branch.get("$ref").is_some()) {
        if let Some((Value::Object(target), file)) = document.end_of(branch, file) {
            search.visit(target, file);
        }
    }
    visible
}

/// Visits the descriptions of an object's properties, and passes each name and flag to `note`.
struct ReadOnlySearch<'d, 'n> {
    document: &'d ApiDocument,
    /// Memory addresses of the visited schemas, so that shared and recursive schemas are visited once.
    visited: HashSet<usize>,
    note: &'n mut dyn FnMut(&'d str, Option<bool>),
}

impl<'d> ReadOnlySearch<'d, '_> {
    fn visit(&mut self, schema: &'d Map<String, Value>, file: &'d SourceFile) {
        let mut open = vec![(schema, file)];
        while let Some((schema, file)) = open.pop() {
            if !self.visited.insert(std::ptr::from_ref(schema).addr()) {
                continue;
            }
            let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            for (name, property) in properties {
                (self.note)(name, flag(self.document, property, file));
            }
            let branches = schema.get("allOf").and_then(Value::as_array).into_iter().flatten().rev();
            open.extend(branches.filter_map(|branch| match self.document.end_of(branch, file)? {
                (Value::Object(branch), file) => Some((branch, file)),
                _ => None,
            }));
        }
    }
}

/// Returns the flag beside a `$ref` or, if absent, in its target.
fn flag<'d>(document: &'d ApiDocument, property: &'d Value, file: &'d SourceFile) -> Option<bool> {
    let own = property.get("readOnly").and_then(Value::as_bool);
    own.or_else(|| document.end_of(property, file)?.0.get("readOnly")?.as_bool())
}
