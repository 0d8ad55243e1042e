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
    let (mut names, mut writable) = (HashSet::new(), HashSet::new());
    let mut note = |name, flag| match flag {
        Some(true) => drop(names.insert(name)),
        Some(false) => drop(writable.insert(name)),
        None => {}
    };
    Search { document, visited: HashSet::new(), note: &mut note }.visit(schema, file, MAX_LEVELS);
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
    let mut note = |name, flag| {
        if hidden.contains(name) && flag != Some(true) && !shown.contains(&name) {
            shown.push(name);
        }
    };
    let mut search = Search { document, visited: HashSet::new(), note: &mut note };
    let branches = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
    for branch in branches.filter(|branch| branch.get("$ref").is_some()) {
        if let Some((Value::Object(target), file)) = document.end_of(branch, file) {
            search.visit(target, file, MAX_LEVELS);
        }
    }
    shown
}

/// Goes through the descriptions of an object's properties, and notes of each its name and its flag.
struct Search<'d, 'n> {
    document: &'d Document,
    /// The addresses of the schemas that were looked into: one that many branches share, or that leads back to itself, once.
    visited: HashSet<usize>,
    note: &'n mut dyn FnMut(&'d str, Option<bool>),
}

impl<'d> Search<'d, '_> {
    fn visit(&mut self, schema: &'d Map<String, Value>, file: &'d SourceFile, levels: usize) {
        if !self.visited.insert(std::ptr::from_ref(schema).addr()) {
            return;
        }
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, property) in properties {
            (self.note)(name, flag(self.document, property, file));
        }
        let Some(levels) = levels.checked_sub(1) else { return };
        for branch in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if let Some((Value::Object(branch), file)) = self.document.end_of(branch, file) {
                self.visit(branch, file, levels);
            }
        }
    }
}

/// The flag may stand beside a `$ref` or where it leads.
fn flag<'d>(document: &'d Document, property: &'d Value, file: &'d SourceFile) -> Option<bool> {
    let own = |schema: &Value| schema.get("readOnly").and_then(Value::as_bool);
    own(property).or_else(|| own(document.end_of(property, file)?.0))
}
