//! Collects documentation texts within limits, among them the descriptions and allowed values of schemas.

use std::collections::HashSet;

use serde_json::Value;

use crate::{LocatedValue, ValuePosition};
use callwright_types::DocText;

/// Maximum number of texts of one operation.
const MAX_TEXTS: usize = 400;
/// Maximum size of all texts of one operation, in bytes. The longest ones of vendors are about a tenth of it.
const MAX_CHARS: usize = 200_000;

/// The texts of one operation or document.
#[derive(Default)]
pub(crate) struct DocTextCollector {
    texts: Vec<DocText>,
    chars: usize,
    /// Addresses of the schemas already visited, which do not move while a document is processed, each with a flag
    /// whether it was described.
    visited: HashSet<(usize, bool)>,
}

impl DocTextCollector {
    /// Adds the string member `key` of `holder`, prefixed with `label` if that is not empty.
    pub(crate) fn member(&mut self, holder: &LocatedValue<'_>, key: &str, label: &str) {
        if let Some(text) = holder.text(key) {
            self.push(label, text, &holder.at.child(key));
        }
    }

    /// Adds a text that is at `at`, prefixed with `label` if that is not empty.
    pub(crate) fn push(&mut self, label: &str, text: &str, at: &ValuePosition<'_>) {
        if self.is_full() || text.is_empty() {
            return;
        }
        let text = if label.is_empty() { text.to_owned() } else { format!("{label}: {text}") };
        if self.chars + text.len() > MAX_CHARS {
            return;
        }
        self.chars += text.len();
        self.texts.push(DocText { text, source: at.source() });
    }

    /// Whether the maximum number of texts is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.texts.len() >= MAX_TEXTS
    }

    /// Whether the schema is visited for the first time, separately for visits that describe it (`described`) and
    /// visits that do not.
    pub(crate) fn is_new(&mut self, schema: &LocatedValue<'_>, described: bool) -> bool {
        self.visited.insert((std::ptr::from_ref(schema.value).addr(), described))
    }

    pub(crate) fn finish(self) -> Vec<DocText> {
        self.texts
    }
}

/// Maximum nesting of properties and of lists that are described.
pub(super) const MAX_LEVELS: usize = 4;
/// Maximum number of allowed values that are listed. Longer lists are usually countries and currencies.
const MAX_VALUES: usize = 200;

/// Selects the properties to describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PropertySelection {
    /// All properties of a request.
    Request,
    /// All properties of a response.
    Answer,
    /// Properties of a response whose names suggest errors.
    Errors,
}

impl PropertySelection {
    /// Whether the property belongs only to the other direction (`readOnly`, `writeOnly`).
    fn leaves_out(self, property: &LocatedValue<'_>) -> bool {
        property.flag(if self == Self::Request { "readOnly" } else { "writeOnly" }) == Some(true)
    }
}

/// Describes the selected properties of `schema` and its subschemas. `name` is its name (may be empty).
pub(crate) fn describe(
    texts: &mut DocTextCollector,
    schema: &LocatedValue<'_>,
    name: &str,
    selection: PropertySelection,
) {
    visit(texts, schema, name, MAX_LEVELS, selection);
}

/// Describes the values of `schema`; its description has already been added.
pub(super) fn describe_values(texts: &mut DocTextCollector, schema: &LocatedValue<'_>, name: &str) {
    values(texts, schema, name);
    if let Some(items) = schema.member("items") {
        describe(texts, &items, name, PropertySelection::Request);
    }
}

/// Visits each schema once, so that the work is bounded by the document's size and not by the number of paths through
/// it.
fn visit(
    texts: &mut DocTextCollector,
    schema: &LocatedValue<'_>,
    name: &str,
    levels: usize,
    selection: PropertySelection,
) {
    let Ok(target) = schema.follow() else { return };
    let is_selected = selection != PropertySelection::Errors || speaks_of_errors(name);
    if is_selected && schema.at != target.at {
        texts.member(schema, "description", name);
    }
    if texts.is_full() || !texts.is_new(&target, is_selected) {
        return;
    }
    if is_selected {
        // A branch with `const` describes the meaning of that value (JSON Schema's annotated enumerations).
        match target.get("const").filter(|value| !value.is_object() && !value.is_array()) {
            Some(value) => one_value(texts, &target, &plain(value)),
            None => texts.member(&target, "description", name),
        }
        values(texts, &target, name);
    }
    let Some(levels) = levels.checked_sub(1) else { return };
    for keyword in ["allOf", "oneOf", "anyOf"] {
        for branch in target.items_of(keyword) {
            visit(texts, &branch, name, levels, selection);
        }
    }
    if let Some(items) = target.member("items") {
        visit(texts, &items, name, levels, selection);
    }
    for (property, schema) in target.members_of("properties") {
        if !selection.leaves_out(&schema) {
            visit(texts, &schema, property, levels, selection);
        }
    }
}

fn speaks_of_errors(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("error") || name.contains("warning")
}

fn one_value(texts: &mut DocTextCollector, schema: &LocatedValue<'_>, value: &str) {
    let key = if schema.text("description").is_some() { "description" } else { "title" };
    texts.member(schema, key, &format!("`{value}`"));
}

/// Adds the allowed values in one line, and the description of each value if an extension has one.
fn values(texts: &mut DocTextCollector, schema: &LocatedValue<'_>, name: &str) {
    let Some(list) = schema.member("enum") else { return };
    let values: Vec<String> = list.items().take(MAX_VALUES).map(|item| plain(item.value)).collect();
    let explained = schema.members().find(|(key, _)| {
        let key = key.to_ascii_lowercase();
        key.starts_with("x-") && key.contains("enum") && key.contains("desc")
    });
    if let Some((_, explained)) = explained {
        for (index, value) in values.iter().enumerate() {
            let text = explained.value.get(value).or_else(|| explained.value.get(index)).and_then(Value::as_str);
            texts.push(value, text.unwrap_or_default(), &explained.at);
        }
    }
    if !values.is_empty() {
        let label = if name.is_empty() { "One of" } else { name };
        texts.push(label, &values.join(", "), &list.at);
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
