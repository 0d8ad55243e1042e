//! References inside one schema document.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The JSON Pointer (RFC 6901) of a `$ref` within the same document, percent-decoded; `None` for every other reference:
/// nothing is fetched, and tools' schemas stand alone.
pub(super) fn pointer(reference: &str) -> Option<String> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()?;
    (pointer.is_empty() || pointer.starts_with('/')).then(|| pointer.into_owned())
}

/// The schema that `reference` names in the document `root`.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<(String, &'a Value)> {
    let pointer = pointer(reference)?;
    let target = root.pointer(&pointer)?;
    Some((pointer, target))
}

/// Leaves out every `$ref` to one of `targets`, wherever it stands.
pub(super) fn remove(value: &mut Value, targets: &HashSet<String>) {
    match value {
        Value::Object(members) => {
            let dangling =
                members.get("$ref").and_then(Value::as_str).and_then(pointer).is_some_and(|to| targets.contains(&to));
            if dangling {
                members.shift_remove("$ref");
            }
            members.values_mut().for_each(|member| remove(member, targets));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove(item, targets)),
        _ => {}
    }
}
