//! Properties that only answers have (`readOnly`): no request may be asked for them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::document::Document;
use super::super::files::SourceFile;

/// `allOf` within `allOf` that is looked into; deeper ones are rare, and their properties then simply stay.
const MAX_LEVELS: usize = 8;

/// The names of the read-only properties of an object schema in `file` and of what its `allOf` adds.
pub(crate) fn read_only_names<'d>(
    document: &'d Document,
    schema: &'d Map<String, Value>,
    file: &'d SourceFile,
) -> HashSet<&'d str> {
    let mut search = Search { document, visited: HashSet::new(), names: HashSet::new() };
    search.visit(schema, file, MAX_LEVELS);
    search.names
}

struct Search<'d> {
    document: &'d Document,
    /// The addresses of the schemas that were looked into: one that many branches share, or that leads back to itself, once.
    visited: HashSet<usize>,
    names: HashSet<&'d str>,
}

impl<'d> Search<'d> {
    fn visit(&mut self, schema: &'d Map<String, Value>, file: &'d SourceFile, levels: usize) {
        if !self.visited.insert(std::ptr::from_ref(schema).addr()) {
            return;
        }
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let read_only = properties.filter(|(_, schema)| is_read_only(self.document, schema, file));
        self.names.extend(read_only.map(|(name, _)| name.as_str()));
        let Some(levels) = levels.checked_sub(1) else { return };
        for branch in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            if let Some((Value::Object(branch), file)) = self.document.end_of(branch, file) {
                self.visit(branch, file, levels);
            }
        }
    }
}

/// The flag may stand beside a `$ref` or where it leads.
fn is_read_only<'d>(document: &'d Document, property: &'d Value, file: &'d SourceFile) -> bool {
    let has_flag = |schema: &Value| schema.get("readOnly").and_then(Value::as_bool) == Some(true);
    has_flag(property) || document.end_of(property, file).is_some_and(|(end, _)| has_flag(end))
}
