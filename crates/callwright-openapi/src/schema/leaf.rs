//! Translates keywords without subschemas: checks, converts or drops their values.
//!
//! A validator rejects a whole schema because of one malformed keyword (`minLength: "3"`), so none may remain.

use std::borrow::Borrow;
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use callwright_common::limits::{EXAMPLES, WORD_CHARS};
use callwright_common::placeholder;

use super::keyword::KeywordForm;
use super::literal::{self, type_value, types_of};
use super::nullable::is_nullable;
use crate::tool::markup::plain_text;
use crate::tool::text::{distinct, shorten};

/// Result of translating a keyword.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Leaf {
    /// Keyword that replaces the original one.
    pub(super) key: Option<&'static str>,
    /// The value; `None` if the keyword is dropped.
    pub(super) value: Option<Value>,
    /// Describes the loss.
    pub(super) loss: Option<String>,
}

impl Leaf {
    fn kept(value: Value) -> Self {
        Self { value: Some(value), ..Self::default() }
    }

    fn lost(loss: impl Into<String>) -> Self {
        Self { loss: Some(loss.into()), ..Self::default() }
    }

    fn or_lost(value: Option<Value>, loss: &str) -> Self {
        value.map_or_else(|| Self::lost(loss), Self::kept)
    }
}

/// Translates the keyword `key` of the schema `members`. `description_chars` limits the length of a description.
pub(super) fn leaf(key: &str, form: KeywordForm, members: &Map<String, Value>, description_chars: usize) -> Leaf {
    let value = members.get(key).unwrap_or(&Value::Null);
    let malformed = "has a value of the wrong form; left out";
    match form {
        KeywordForm::Types => types(value),
        KeywordForm::Enum => enumeration(value, members),
        KeywordForm::Default => {
            Leaf::or_lost(literal::fit(value, &types_with_null(members)), "is not of the type beside it; left out")
        }
        KeywordForm::Literal => Leaf::or_lost(
            literal::fit(value, &types_with_null(members)),
            "is not of the type beside it, so no value would be valid; left out",
        ),
        KeywordForm::Example if members.contains_key("examples") => Leaf::default(),
        KeywordForm::Example => {
            Leaf { key: Some("examples"), value: examples(std::slice::from_ref(value)), ..Leaf::default() }
        }
        KeywordForm::Examples => {
            Leaf { value: value.as_array().and_then(|values| examples(values)), ..Leaf::default() }
        }
        KeywordForm::Description => {
            Leaf::or_lost(value.as_str().map(|text| shorten(&plain_text(text), description_chars).into()), malformed)
        }
        // The flag of a parameter, or of a property as in JSON Schema draft 3, which its object has already adopted.
        KeywordForm::Names if key == "required" && is_flag(value) => Leaf::default(),
        KeywordForm::ExclusiveBound if value.is_boolean() => exclusive_bound(key, value, members),
        KeywordForm::Number if is_replaced(key, members) => Leaf::default(),
        KeywordForm::Text if key == "pattern" => {
            Leaf::or_lost(value.as_str().map(|text| regular(text).into()), malformed)
        }
        _ => Leaf::or_lost(plain(form, value), malformed),
    }
}

/// Whether the value is a boolean or its text form.
fn is_flag(value: &Value) -> bool {
    value.is_boolean() || value.as_str().is_some_and(|text| ["true", "false"].contains(&text))
}

/// Removes the slashes and flags of a JavaScript regular expression literal. `/` before `^` or after `$` could never
/// match, so slashes next to anchors are delimiters.
fn regular(pattern: &str) -> String {
    let Some((inner, flags)) = pattern.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) else {
        return pattern.to_owned();
    };
    let is_literal =
        (inner.starts_with('^') || inner.ends_with('$')) && flags.chars().all(|flag| "dgimsuvy".contains(flag));
    match is_literal {
        true if flags.contains('i') => format!("(?i:{inner})"),
        true => inner.to_owned(),
        false => pattern.to_owned(),
    }
}

fn plain(form: KeywordForm, value: &Value) -> Option<Value> {
    match form {
        KeywordForm::Text => value.as_str().map(Value::from),
        KeywordForm::Flag => value.as_bool().map(Value::from),
        KeywordForm::Number | KeywordForm::ExclusiveBound => number(value).map(Value::Number),
        KeywordForm::PositiveNumber => {
            number(value).filter(|number| number.as_f64().is_some_and(|number| number > 0.0)).map(Value::Number)
        }
        KeywordForm::Count => count(value).map(Value::from),
        KeywordForm::Names => names(value),
        KeywordForm::NamesMap => {
            let members = value.as_object()?;
            members
                .iter()
                .map(|(key, value)| Some((key.clone(), names(value)?)))
                .collect::<Option<Map<_, _>>>()
                .map(Value::Object)
        }
        _ => None,
    }
}

fn types(value: &Value) -> Leaf {
    let (types, remarks) = literal::types(value);
    let loss = (!remarks.is_empty()).then(|| remarks.join("; "));
    Leaf { value: (!types.is_empty()).then(|| type_value(&types)), loss, key: None }
}

fn enumeration(value: &Value, members: &Map<String, Value>) -> Leaf {
    let Some(given) = value.as_array() else { return Leaf::lost("is not an array; left out") };
    let types = types_with_null(members);
    // Some providers reject duplicate values.
    let mut seen = HashSet::new();
    let distinct: Vec<&Value> = given.iter().filter(|value| seen.insert(value.to_string())).collect();
    let fitting: Vec<Value> = distinct.iter().filter_map(|value| literal::fit(value, &types)).collect();
    let changed = !fitting.iter().eq(distinct) || given.is_empty();
    let loss = changed.then(|| "values that are not of the type beside them were converted or left out".to_owned());
    Leaf { value: (!fitting.is_empty()).then_some(Value::Array(fitting)), loss, key: None }
}

/// Returns the short examples. An example of a whole object is larger than the properties that it repeats.
pub(super) fn examples(values: &[impl Borrow<Value>]) -> Option<Value> {
    let short = values.iter().map(Borrow::borrow).filter(|value| is_short(value) && !has_placeholder(value));
    let kept: Vec<Value> = short.take(EXAMPLES).cloned().collect();
    (!kept.is_empty()).then_some(Value::Array(kept))
}

/// Whether the value is or contains a text that the judge rejects as a placeholder when a model sends it.
fn has_placeholder(value: &Value) -> bool {
    match value {
        Value::String(text) => placeholder::form(text).is_some(),
        Value::Array(items) => items.iter().any(has_placeholder),
        Value::Object(members) => members.values().any(has_placeholder),
        _ => false,
    }
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().nth(WORD_CHARS).is_none(),
        Value::Number(_) | Value::Bool(_) => true,
        Value::Array(_) | Value::Object(_) => value.to_string().chars().nth(WORD_CHARS).is_none(),
        Value::Null => false,
    }
}

/// Translates `maximum: 10, exclusiveMaximum: true` of OpenAPI 3.0 to `exclusiveMaximum: 10`.
fn exclusive_bound(key: &str, value: &Value, members: &Map<String, Value>) -> Leaf {
    let plain = if key == "exclusiveMaximum" { "maximum" } else { "minimum" };
    let bound = members.get(plain).filter(|_| value == &Value::Bool(true)).and_then(number);
    Leaf { value: bound.map(Value::Number), ..Leaf::default() }
}

fn is_replaced(key: &str, members: &Map<String, Value>) -> bool {
    let exclusive = if key == "maximum" { "exclusiveMaximum" } else { "exclusiveMinimum" };
    members.get(exclusive) == Some(&Value::Bool(true))
}

fn types_with_null(members: &Map<String, Value>) -> Vec<&'static str> {
    let mut types = types_of(members);
    if !types.is_empty() && is_nullable(members) {
        types.push("null");
    }
    types
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn count(value: &Value) -> Option<u64> {
    let number = number(value)?;
    number.as_u64().or_else(|| {
        let number = number.as_f64()?;
        (number.fract() == 0.0 && (0.0..=u32::MAX.into()).contains(&number)).then_some(number as u64)
    })
}

/// Parses a list of names; a single name becomes a list.
fn names(value: &Value) -> Option<Value> {
    let given = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    if !value.is_array() && !value.is_string() {
        return None;
    }
    Some(distinct(given.iter().filter(|name| name.is_string()).cloned()).into())
}

#[cfg(test)]
mod tests {
    use super::super::keyword::form;
    use super::*;
    use serde_json::json;

    fn translated(schema: Value, key: &str) -> Leaf {
        let members = schema.as_object().unwrap();
        leaf(key, form(key).unwrap(), members, usize::MAX)
    }

    #[test]
    fn keywords_of_the_wrong_form_are_repaired_or_left_out() {
        let cases = [
            (json!({"minLength": "3"}), "minLength", Some(json!(3))),
            (json!({"minLength": 3.0}), "minLength", Some(json!(3))),
            (json!({"minLength": -1}), "minLength", None),
            (json!({"multipleOf": 0}), "multipleOf", None),
            (json!({"required": "a"}), "required", Some(json!(["a"]))),
            (json!({"required": 1}), "required", None),
            (json!({"required": ["a", "a", 1]}), "required", Some(json!(["a"]))),
            (json!({"uniqueItems": "yes"}), "uniqueItems", None),
            (json!({"type": "any"}), "type", None),
            (json!({"type": "int"}), "type", Some(json!("integer"))),
            (json!({"pattern": 3}), "pattern", None),
            (json!({"pattern": "^(?=a)b"}), "pattern", Some(json!("^(?=a)b"))),
            (json!({"pattern": "/^a+$/"}), "pattern", Some(json!("^a+$"))),
            (json!({"pattern": "/^a+$/gi"}), "pattern", Some(json!("(?i:^a+$)"))),
            (json!({"pattern": "/a/b"}), "pattern", Some(json!("/a/b"))),
            (json!({"pattern": "^/a/$"}), "pattern", Some(json!("^/a/$"))),
            (json!({"enum": ["a", "a", "b"]}), "enum", Some(json!(["a", "b"]))),
            (json!({"type": "string", "const": 5}), "const", Some(json!("5"))),
            (json!({"type": "integer", "const": "x"}), "const", None),
            (json!({"type": "string", "enum": [1.5, "b"]}), "enum", Some(json!(["1.5", "b"]))),
            (json!({"type": "string", "enum": [null]}), "enum", None),
            (json!({"type": "string", "nullable": true, "default": null}), "default", Some(json!(null))),
        ];
        for (schema, key, expected) in cases {
            let leaf = translated(schema.clone(), key);
            assert_eq!(leaf.value, expected, "{schema}");
            assert!(leaf.value.is_some() || leaf.loss.is_some(), "{schema} lost {key} without a word");
        }
    }

    #[test]
    fn a_boolean_exclusive_bound_replaces_the_plain_one() {
        let schema = json!({"maximum": 10, "exclusiveMaximum": true, "minimum": 1, "exclusiveMinimum": false});
        assert_eq!(translated(schema.clone(), "exclusiveMaximum").value, Some(json!(10)));
        assert_eq!(translated(schema.clone(), "maximum").value, None);
        assert_eq!(translated(schema.clone(), "exclusiveMinimum").value, None);
        assert_eq!(translated(schema, "minimum").value, Some(json!(1)));
    }

    #[test]
    fn a_short_example_becomes_a_list_and_a_large_one_goes() {
        assert_eq!(translated(json!({"example": "2024-05-01"}), "example").key, Some("examples"));
        assert_eq!(translated(json!({"example": {"a": 1}}), "example").value, Some(json!([{"a": 1}])));
        assert_eq!(translated(json!({"example": {"a": "x".repeat(101)}}), "example").value, None);
        assert_eq!(translated(json!({"example": "x".repeat(101)}), "example").value, None);
    }
}
