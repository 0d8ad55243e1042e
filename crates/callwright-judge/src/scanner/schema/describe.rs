//! A schema in a few words, for a model or a person who is to mend a call.

use serde::Serialize;
use serde_json::Value;

use callwright_common::schema::{Source, expand};
use callwright_common::text::excerpt;

/// Allowed values that are listed; a longer list costs more tokens than it helps.
const MAX_OPTIONS: usize = 30;

/// Characters of a parameter's own description that are repeated.
const MAX_DESCRIPTION: usize = 160;

/// What a value must be.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Description {
    /// Its type or types: `integer`, `array of string`, `object or null`; `any` where the schema does not say.
    pub(crate) types: String,
    /// The values allowed, as JSON; empty where there is no such list.
    pub(crate) options: Vec<String>,
    /// How many more values are allowed than are listed.
    pub(crate) more_options: usize,
    /// The default, as JSON.
    pub(crate) default: Option<String>,
    /// What its author says about it, cut short.
    pub(crate) description: String,
}

/// Describes `schema`, which stands in the document `root`.
pub(crate) fn describe(root: &Value, schema: &Value) -> Description {
    let views = expand(root, &[Source { pointer: String::new(), schema }]);
    let find = |keyword: &str| views.iter().find_map(|view| view.keywords.get(keyword));
    let options = match (find("enum").and_then(Value::as_array), find("const")) {
        (Some(options), _) => options.as_slice(),
        (None, Some(only)) => std::slice::from_ref(only),
        (None, None) => &[],
    };
    Description {
        types: types(root, schema, 0),
        options: options.iter().take(MAX_OPTIONS).map(|option| excerpt(&option.to_string(), MAX_DESCRIPTION)).collect(),
        more_options: options.len().saturating_sub(MAX_OPTIONS),
        default: find("default").map(|default| excerpt(&default.to_string(), MAX_DESCRIPTION)),
        description: excerpt(find("description").and_then(Value::as_str).unwrap_or_default(), MAX_DESCRIPTION),
    }
}

/// The value of `keyword` in the first of the schemas that apply to what `schema` describes.
pub(crate) fn find_keyword<'a>(root: &'a Value, schema: &'a Value, keyword: &str) -> Option<&'a Value> {
    let views = expand(root, &[Source { pointer: String::new(), schema }]);
    views.into_iter().find_map(|view| view.keywords.get(keyword))
}

/// Levels of `array of` that are spelled out.
const MAX_LEVELS: usize = 3;

fn types(root: &Value, schema: &Value, level: usize) -> String {
    let mut names: Vec<String> = Vec::new();
    for view in expand(root, &[Source { pointer: String::new(), schema }]) {
        let types = match view.keywords.get("type") {
            Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(one)) => vec![one.as_str()],
            _ => Vec::new(),
        };
        for name in types {
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
