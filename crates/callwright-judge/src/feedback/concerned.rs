//! Finds the parameters that a failure concerns.
//!
//! APIs name faulty fields in many ways: `{"field": "address.zip"}`, `{"loc": ["body", "address", "zip"]}`,
//! `{"pointer": "/address/zip"}`, `{"errors": {"address.zip": ["is invalid"]}}`. The common property is that the last
//! parts of the name are a path in the tool's arguments, so the search looks for those.

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;
use serde_json::Value as Json;

use super::quote;
use callwright_common::json::Pointer;
use callwright_common::limits::EXAMINED_VALUES;
use callwright_scanner::CompiledTool;
use callwright_types::Passage;

/// Maximum number of parts of a name to check.
const MAX_PARTS: usize = 12;

/// Members whose value names a parameter.
const NAMING: [&str; 22] = [
    "argument", "attribute", "datapath", "field", "fieldname", "fields", "instancepath", "key", "loc", "location",
    "name", "param", "parameter", "parameters", "params", "path", "pointer", "property", "propertypath", "source",
    "target", "invalidparam",
];

/// Members whose own members are named after parameters.
const LISTING: [&str; 9] = [
    "details", "errors", "fielderrors", "fields", "invalid", "invalidparams", "messages", "validationerrors",
    "violations",
];

/// Schema keywords that restrict a value beyond its type.
const RULES: [&str; 12] = [
    "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "multipleOf", "default",
];

/// Returns template contexts of the parameters that the response names as faulty, and that the response or the
/// documentation mentions. If there are none, returns the given parameters.
pub(super) fn concerned(tool: &CompiledTool, answer: &str, passages: &[Passage], arguments: &str) -> Vec<Value> {
    let mut search =
        ConcernedParameterSearch { tool, found: Vec::new(), spoken: String::new(), values_left: EXAMINED_VALUES };
    match serde_json::from_str::<Json>(answer) {
        Ok(body @ (Json::Object(_) | Json::Array(_))) => search.read(&body, true, 0),
        _ => search.spoken.push_str(&answer.to_lowercase()),
    }
    for passage in passages {
        search.spoken += "\n";
        search.spoken += &passage.text.to_lowercase();
    }
    let spoken = std::mem::take(&mut search.spoken);
    let mentioned = tool.parameters().filter(|parameter| mentions(&spoken, parameter.name));
    mentioned.for_each(|parameter| search.add(Pointer::root().child(parameter.name)));
    if search.found.is_empty() {
        let given: serde_json::Map<String, Json> = serde_json::from_str(arguments).unwrap_or_default();
        let given = tool.parameters().filter(|parameter| given.contains_key(parameter.name));
        given.for_each(|parameter| search.add(Pointer::root().child(parameter.name)));
    }
    let required: BTreeSet<&str> =
        tool.parameters().filter(|parameter| parameter.required).map(|parameter| parameter.name).collect();
    search.found.iter().map(|place| described(tool, place, &required)).collect()
}

fn described(tool: &CompiledTool, place: &Pointer, required: &BTreeSet<&str>) -> Value {
    let description = tool.describe_argument(place).unwrap_or_default();
    let rules: Vec<String> = RULES
        .iter()
        .filter_map(|keyword| tool.keyword_at(place, keyword).map(|value| format!("{keyword} {value}")))
        .collect();
    let tokens = place.tokens();
    let (name, is_top) = match tokens.as_slice() {
        [only] => (only.clone(), true),
        _ => (place.as_str().to_owned(), false),
    };
    context! {
        required => is_top && required.contains(name.as_str()),
        name => name,
        types => description.types,
        options => description.options,
        more_options => description.more_options,
        rules => rules,
        description => description.description,
    }
}

/// Returns the approximate number of bytes of a described parameter in a message.
pub(super) fn size(parameter: &Value) -> usize {
    quote::described(parameter).len() + 64
}

struct ConcernedParameterSearch<'a> {
    tool: &'a CompiledTool,
    found: Vec<Pointer>,
    /// Texts of the response in lower case.
    spoken: String,
    values_left: usize,
}

impl ConcernedParameterSearch<'_> {
    /// Visits a value; `lists` is true if its members are named after parameters.
    fn read(&mut self, value: &Json, lists: bool, depth: usize) {
        if self.values_left == 0 {
            return;
        }
        self.values_left -= 1;
        match value {
            Json::Object(members) => members.iter().for_each(|(name, value)| self.member(name, value, lists, depth)),
            Json::Array(items) => items.iter().for_each(|item| self.read(item, lists, depth + 1)),
            Json::String(text) => {
                self.spoken.push('\n');
                self.spoken.push_str(&text.to_lowercase());
            }
            _ => {}
        }
    }

    fn member(&mut self, name: &str, value: &Json, lists: bool, depth: usize) {
        let word: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
        // `{"email": ["is invalid"]}` names a parameter; `{"request": {...}}` only echoes the request.
        let has_message = matches!(value, Json::String(_) | Json::Array(_)) || depth > 0 && value.is_object();
        if lists && has_message && self.values_left > 0 {
            self.place(name);
        }
        if NAMING.contains(&word.as_str()) && self.named(value) {
            return;
        }
        self.read(value, LISTING.contains(&word.as_str()), depth + 1);
    }

    /// Adds the parameters that a value names: a string, or a list in which each string is a name or all strings are
    /// parts of one name. Returns whether it names any.
    fn named(&mut self, value: &Json) -> bool {
        match value {
            Json::String(name) => self.place(name),
            Json::Array(parts) => {
                let parts = parts.iter().take(MAX_PARTS);
                let parts: Vec<String> =
                    parts.map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect();
                self.place_of(&parts) || parts.iter().filter(|part| self.place(part)).count() > 0
            }
            _ => false,
        }
    }

    fn place(&mut self, name: &str) -> bool {
        let parts = name.split(['.', '/', '[', ']', '$', '#', '\'', '"']).filter(|part| !part.is_empty());
        let parts: Vec<String> = parts.take(MAX_PARTS).map(str::to_owned).collect();
        self.place_of(&parts)
    }

    /// Adds the argument path that the longest suffix of these parts names. Returns whether there is one.
    fn place_of(&mut self, parts: &[String]) -> bool {
        for from in 0..parts.len() {
            let parts = parts.get(from..).unwrap_or_default();
            let place = parts.iter().fold(Pointer::root(), |place, part| place.child(part));
            if self.tool.has_argument(&place) {
                self.add(place);
                return true;
            }
        }
        false
    }

    fn add(&mut self, place: Pointer) {
        if self.found.len() < quote::MAX_DESCRIBED && !self.found.contains(&place) {
            self.found.push(place);
        }
    }
}

/// Whether the lower-case text contains the name as a word.
fn mentions(text: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    !name.is_empty()
        && text.match_indices(&name).any(|(at, found)| {
            let (before, after) =
                (text.get(..at).unwrap_or_default(), text.get(at + found.len()..).unwrap_or_default());
            !before.ends_with(is_name_part) && !after.starts_with(is_name_part)
        })
}

fn is_name_part(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::generated::tool_set;

    fn names(answer: &str, passages: &[&str]) -> Vec<String> {
        let book = tool_set(&json!({ "type": "object", "required": ["email"], "properties": {
            "email": { "type": "string", "format": "email", "description": "Where to write." },
            "nights": { "type": "integer", "minimum": 1, "maximum": 30 },
            "address": { "type": "object", "properties": { "zip": { "type": "string", "pattern": "^[0-9]{5}$" } } },
            "items": { "type": "array", "items": { "type": "object", "properties": { "price": { "type": "number" } } } },
        } }));
        let passages: Vec<Passage> = passages
            .iter()
            .map(|text| Passage { text: (*text).to_owned(), source: String::new(), score: 1.0 })
            .collect();
        let found = concerned(&book.tools()[0], answer, &passages, r#"{"nights":3}"#);
        found.iter().map(|value| value.get_attr("name").unwrap().to_string()).collect()
    }

    #[test]
    fn faulty_fields_are_found_in_every_common_form() {
        for answer in [
            r#"{"errors":[{"field":"email"},{"field":"address.zip"},{"field":"items[0].price"}]}"#,
            r#"{"detail":[{"loc":["body","email"]},{"loc":["body","address","zip"]},{"loc":["body","items",0,"price"]}]}"#,
            r#"{"errors":[{"source":{"pointer":"/email"}},{"source":{"pointer":"/address/zip"}},{"source":{"pointer":"/items/0/price"}}]}"#,
            r#"{"errors":{"email":["is taken"],"address.zip":["is short"],"items.0.price":["is low"]}}"#,
            r#"{"fields":["email","address.zip","items.0.price"]}"#,
            r##"{"invalid-params":[{"name":"#/email"},{"name":"$.address.zip"},{"name":"items/0/price"}]}"##,
            r#"{"error":{"details":[{"fieldViolations":[{"field":"email"},{"field":"address.zip"},{"field":"items[0].price"}]}]}}"#,
        ] {
            assert_eq!(names(answer, &[]), ["email", "/address/zip", "/items/0/price"], "{answer}");
        }
        assert_eq!(names(r#"{"email":["Enter a valid one."]}"#, &[]), ["email"]);
    }

    #[test]
    fn parameters_in_texts_and_documentation_precede_given_ones() {
        assert_eq!(names(r#"{"field":"email","message":"too many nights"}"#, &[]), ["email", "nights"]);
        assert_eq!(names("no such address", &["The email must be known."]), ["email", "address"]);
        assert_eq!(names(r#"{"code":5}"#, &[]), ["nights"]);
        assert_eq!(names(r#"{"request":{"email":"x"},"code":5}"#, &[]), ["nights"], "what was sent is only repeated");
    }

    #[test]
    fn endless_answers_are_bounded() {
        let wide = format!("[{}]", vec![r#"{"field":"email","loc":["a","b"]}"#; 50_000].join(","));
        assert_eq!(names(&wide, &[]), ["email"]);
        let deep = format!("{}1{}", r#"{"errors":"#.repeat(100), "}".repeat(100));
        assert_eq!(names(&deep, &[]), ["nights"]);
    }

    #[test]
    fn a_name_is_mentioned_as_a_word_only() {
        assert!(mentions("the \"to\" field", "to") && mentions("to: x", "to"));
        assert!(!mentions("token, auto, to_date", "to"));
    }
}
