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
    let mut search = Search { document, visited: HashSet::new(), names: HashSet::new(), writable: HashSet::new() };
    search.visit(schema, file, MAX_LEVELS);
    let Search { mut names, writable, .. } = search;
    names.retain(|name| !writable.contains(name));
    names
}

struct Search<'d> {
    document: &'d Document,
    /// The addresses of the schemas that were looked into: one that many branches share, or that leads back to itself, once.
    visited: HashSet<usize>,
    names: HashSet<&'d str>,
    /// Those that some description says not to be read-only.
    writable: HashSet<&'d str>,
}

impl<'d> Search<'d> {
    fn visit(&mut self, schema: &'d Map<String, Value>, file: &'d SourceFile, levels: usize) {
        if !self.visited.insert(std::ptr::from_ref(schema).addr()) {
            return;
        }
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, property) in properties {
            match flag(self.document, property, file) {
                Some(true) => drop(self.names.insert(name)),
                Some(false) => drop(self.writable.insert(name)),
                None => {}
            }
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
