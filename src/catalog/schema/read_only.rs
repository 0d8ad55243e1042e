//! Properties that only answers have (`readOnly`): no request may be asked for them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::document::Document;

/// `allOf` within `allOf` that is looked into; deeper ones are rare, and their properties then simply stay.
const MAX_LEVELS: usize = 8;

/// The names of the read-only properties of an object schema and of what its `allOf` adds.
pub(crate) fn read_only_names<'d>(document: &'d Document, schema: &'d Map<String, Value>) -> HashSet<&'d str> {
    let mut names = HashSet::new();
    collect(document, schema, MAX_LEVELS, &mut names);
    names
}

fn collect<'d>(document: &'d Document, schema: &'d Map<String, Value>, levels: usize, names: &mut HashSet<&'d str>) {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    names.extend(properties.filter(|(_, schema)| is_read_only(document, schema)).map(|(name, _)| name.as_str()));
    let Some(levels) = levels.checked_sub(1) else { return };
    for branch in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        if let Some(branch) = document.end_of(branch).and_then(Value::as_object) {
            collect(document, branch, levels, names);
        }
    }
}

/// The flag may stand beside a `$ref` or where it leads.
fn is_read_only(document: &Document, property: &Value) -> bool {
    let has_flag = |schema: &Value| schema.get("readOnly").and_then(Value::as_bool) == Some(true);
    has_flag(property) || document.end_of(property).is_some_and(has_flag)
}
