//! Short descriptions of schemas, for feedback to models and for people.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;

use super::value_type::{type_names, type_of};
use super::work::each_subschema;
use callwright_common::limits::{LINE_CHARS, WORD_CHARS};
use callwright_common::schema::{Source, View, expand};
use callwright_common::text::excerpt;

/// Maximum number of values or names to list; a longer list costs more tokens than it helps.
pub const MAX_LISTED: usize = 30;

/// Summary of the requirements for a value.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Description {
    /// Type or types: `integer`, `array of string`, `object or null`; `any` if the schema has no `type`.
    pub types: String,
    /// JSON texts of the allowed values; empty if the schema does not list any.
    pub options: Vec<String>,
    /// Number of allowed values that are not listed.
    pub more_options: usize,
    /// JSON text of the default value.
    pub default: Option<String>,
    /// Description in the schema, shortened.
    pub description: String,
}

/// Returns the beginning of a text, for a message.
pub fn quoted(text: &str) -> String {
    excerpt(text, WORD_CHARS)
}

/// Describes `schema`, which is part of the document `root`.
pub fn describe(root: &Value, schema: &Value) -> Description {
    let views = expand(root, &[Source { pointer: String::new(), schema }]);
    let options = match (first(&views, "enum").and_then(Value::as_array), first(&views, "const")) {
        (Some(options), _) => options.as_slice(),
        (None, Some(only)) => std::slice::from_ref(only),
        (None, None) => &[],
    };
    Description {
        types: types(root, schema, 0),
        options: options.iter().take(MAX_LISTED).map(|option| excerpt(&option.to_string(), LINE_CHARS)).collect(),
        more_options: options.len().saturating_sub(MAX_LISTED),
        default: first(&views, "default").map(|default| excerpt(&default.to_string(), LINE_CHARS)),
        description: excerpt(first(&views, "description").and_then(Value::as_str).unwrap_or_default(), LINE_CHARS),
    }
}

/// Returns the types that the branches of `schema` name, by `type`, `enum` or `const`; empty if any type is allowed.
pub fn named_types<'a>(root: &'a Value, schema: &'a Value) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for view in expand(root, &[Source { pointer: String::new(), schema }]) {
        names.extend(view.keywords.get("type").and_then(type_names).unwrap_or_default());
        let options = view.keywords.get("enum").and_then(Value::as_array).into_iter().flatten();
        for option in options.chain(view.keywords.get("const")) {
            names.insert(type_of(option));
        }
    }
    names
}

/// Returns the value of `keyword` in the first schema that applies to a value of `schema` and has it.
pub fn find_keyword<'a>(root: &'a Value, schema: &'a Value, keyword: &str) -> Option<&'a Value> {
    first(&expand(root, &[Source { pointer: String::new(), schema }]), keyword)
}

fn first<'a>(views: &[View<'a>], keyword: &str) -> Option<&'a Value> {
    views.iter().find_map(|view| view.keywords.get(keyword))
}

/// Returns the names that a schema gives to members of objects at any depth.
pub fn member_names(root: &Value) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut seen = HashSet::from([std::ptr::from_ref(root)]);
    let mut queue = vec![root];
    while let Some(schema) = queue.pop() {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            names.extend(properties.keys().cloned());
        }
        each_subschema(root, schema, &mut |_, subschema| {
            if seen.insert(std::ptr::from_ref(subschema)) {
                queue.push(subschema);
            }
        });
    }
    names
}

/// Maximum number of `array of` levels to write out.
const MAX_LEVELS: usize = 3;

fn types(root: &Value, schema: &Value, level: usize) -> String {
    let mut names: Vec<String> = Vec::new();
    for view in expand(root, &[Source { pointer: String::new(), schema }]) {
        for name in view.keywords.get("type").and_then(type_names).unwrap_or_default() {
            let name = match view.keywords.get("items") {
                Some(items) if name == "array" && level < MAX_LEVELS => {
                    format!("array of {}", types_of_items(root, items, level))
                }
                _ => name.to_owned(),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if names.is_empty() { "any".to_owned() } else { names.join(" or ") }
}

fn types_of_items(root: &Value, items: &Value, level: usize) -> String {
    let inner = types(root, items, level + 1);
    if inner.contains(" or ") { format!("({inner})") } else { inner }
}
