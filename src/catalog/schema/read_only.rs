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
    let mut names = HashSet::new();
    collect(document, schema, file, MAX_LEVELS, &mut names);
    names
}

fn collect<'d>(
    document: &'d Document,
    schema: &'d Map<String, Value>,
    file: &'d SourceFile,
    levels: usize,
    names: &mut HashSet<&'d str>,
) {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    names.extend(properties.filter(|(_, schema)| is_read_only(document, schema, file)).map(|(name, _)| name.as_str()));
    let Some(levels) = levels.checked_sub(1) else { return };
    for branch in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        if let Some((Value::Object(branch), file)) = document.end_of(branch, file) {
            collect(document, branch, file, levels, names);
        }
    }
}

/// The flag may stand beside a `$ref` or where it leads.
fn is_read_only<'d>(document: &'d Document, property: &'d Value, file: &'d SourceFile) -> bool {
    let has_flag = |schema: &Value| schema.get("readOnly").and_then(Value::as_bool) == Some(true);
    has_flag(property) || document.end_of(property, file).is_some_and(|(end, _)| has_flag(end))
}
