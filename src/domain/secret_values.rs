//! Values that a tool's schema marks as secret, and texts without them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// What stands in place of a secret.
pub const MASK: &str = "***";

/// Levels that a schema is followed down; nobody marks deeper.
const MAX_DEPTH: usize = 32;
/// Steps through schema and value: alternatives of alternatives could be any number.
const MAX_STEPS: usize = 10_000;
/// Secrets of a turn at most; a list of more is no list of secrets.
const MAX_SECRETS: usize = 1_000;
/// A secret of fewer characters is only masked where it is the whole text: it would be found in any text.
const SHORTEST_PART: usize = 4;

/// The secrets among the arguments of a turn's calls: values at a place whose schema says `format: password` (OpenAPI 3.0.4, Data Types)
/// or `writeOnly: true` (JSON Schema 2020-12, section 9.4 of the validation vocabulary).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretValues {
    values: BTreeSet<String>,
}

impl SecretValues {
    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Takes those of a call's arguments in.
    pub fn note(&mut self, schema: &Value, arguments: &Value) {
        Walk { root: schema, steps: 0, found: &mut self.values }.place(schema, arguments, 0);
    }

    /// The value without them, wherever they stand in it: as values, in texts, in JSON inside of texts, and in URLs.
    pub fn mask(&self, value: &mut Value) {
        if !self.is_empty() {
            mask(value, &self.needles());
        }
    }

    /// A text without them.
    pub fn mask_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        masked(text, &self.needles())
    }

    /// What is looked for, the longest first, so that no part of a secret is left because another one stands in it.
    fn needles(&self) -> Vec<String> {
        let forms = self.values.iter().flat_map(|value| {
            let quoted = Value::from(value.as_str()).to_string();
            let escaped = quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned();
            [value.clone(), escaped, utf8_percent_encode(value, NON_ALPHANUMERIC).to_string()]
        });
        let mut needles: Vec<String> = forms.collect::<BTreeSet<_>>().into_iter().collect();
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        needles
    }
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretValues({})", self.values.len())
    }
}

/// Goes through a schema and a value side by side.
struct Walk<'w> {
    root: &'w Value,
    steps: usize,
    found: &'w mut BTreeSet<String>,
}

impl<'w> Walk<'w> {
    fn place(&mut self, schema: &'w Value, value: &Value, depth: usize) {
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS || value.is_null() {
            return;
        }
        if schema.get("format").is_some_and(|format| format == "password")
            || schema.get("writeOnly").is_some_and(|flag| flag == true)
        {
            return self.take(value, depth);
        }
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        if let Some(target) = target.and_then(|target| self.root.pointer(target)) {
            self.place(target, value, depth + 1);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for part in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.place(part, value, depth + 1);
            }
        }
        match value {
            Value::Object(members) => {
                let properties = schema.get("properties");
                for (name, member) in members {
                    let known = properties.and_then(|properties| properties.get(name));
                    if let Some(schema) = known.or_else(|| schema.get("additionalProperties")) {
                        self.place(schema, member, depth + 1);
                    }
                }
            }
            Value::Array(items) => {
                let first = schema.get("prefixItems").and_then(Value::as_array);
                for (place, item) in items.iter().enumerate() {
                    let own = first.and_then(|first| first.get(place));
                    if let Some(schema) = own.or_else(|| schema.get("items")) {
                        self.place(schema, item, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// Everything in a secret is one.
    fn take(&mut self, value: &Value, depth: usize) {
        if depth > MAX_DEPTH || self.found.len() >= MAX_SECRETS {
            return;
        }
        match value {
            Value::String(text) if !text.is_empty() => drop(self.found.insert(text.clone())),
            Value::Number(number) => drop(self.found.insert(number.to_string())),
            Value::Array(items) => items.iter().for_each(|item| self.take(item, depth + 1)),
            Value::Object(members) => members.values().for_each(|member| self.take(member, depth + 1)),
            Value::String(_) | Value::Bool(_) | Value::Null => {}
        }
    }
}

fn mask(value: &mut Value, needles: &[String]) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = masked(text, needles) {
                *text = masked;
            }
        }
        Value::Number(number) if needles.contains(&number.to_string()) => *value = MASK.into(),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, needles)),
        Value::Object(members) => members.values_mut().for_each(|member| mask(member, needles)),
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn masked<'t>(text: &'t str, needles: &[String]) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    for needle in needles {
        if *text == *needle {
            return Cow::Owned(MASK.to_owned());
        }
        if needle.chars().count() >= SHORTEST_PART && text.contains(needle.as_str()) {
            text = Cow::Owned(text.replace(needle.as_str(), MASK));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(schema: Value, arguments: Value) -> SecretValues {
        let mut secrets = SecretValues::default();
        secrets.note(&schema, &arguments);
        secrets
    }

    fn password() -> Value {
        json!({"type": "string", "format": "password"})
    }

    #[test]
    fn secrets_are_found_wherever_a_schema_marks_them() {
        let schema = json!({
            "$defs": {"login": {"properties": {"pass": password()}}},
            "properties": {
                "user": {"type": "string"},
                "pin": {"type": "integer", "writeOnly": true},
                "login": {"$ref": "#/$defs/login"},
                "either": {"oneOf": [{"type": "null"}, {"properties": {"key": password()}}]},
                "list": {"items": password()},
                "pair": {"prefixItems": [{"type": "string"}, password()]},
                "bag": {"writeOnly": true},
            },
            "additionalProperties": password(),
        });
        let arguments = json!({
            "user": "open-user", "pin": 4711, "login": {"pass": "s-login"}, "either": {"key": "s-key"},
            "list": ["s-one", "s-two"], "pair": ["open-first", "s-second"], "bag": {"deep": ["s-deep"]}, "other": "s-other",
        });
        let secrets = of(schema, arguments.clone());
        assert_eq!(secrets.values.len(), 8, "{:?}", secrets.values);
        let mut masked = arguments;
        secrets.mask(&mut masked);
        let text = masked.to_string();
        assert!(!text.contains("s-") && !text.contains("4711") && text.contains("open-user"), "{text}");
        assert!(!format!("{secrets:?}").contains("s-"));
    }

    #[test]
    fn texts_are_masked_in_every_form_in_which_a_secret_stands_there() {
        let secrets = of(json!({"properties": {"p": password()}}), json!({"p": "a\"b/c d"}));
        for text in ["p is a\"b/c d.", r#"{"p":"a\"b/c d"}"#, "https://x/?p=a%22b%2Fc%20d"] {
            let masked = secrets.mask_text(text);
            assert!(masked.contains(MASK) && !masked.contains("b/c") && !masked.contains("b%2Fc"), "{masked}");
        }
        assert_eq!(secrets.mask_text("nothing"), "nothing");
    }

    #[test]
    fn a_short_secret_masks_no_other_text() {
        let secrets = of(json!({"properties": {"p": password()}}), json!({"p": "an"}));
        assert_eq!(secrets.mask_text("an answer"), "an answer");
        assert_eq!(secrets.mask_text("an"), MASK);
        let nested =
            of(json!({"properties": {"p": password(), "q": password()}}), json!({"p": "long secret", "q": "secret"}));
        assert_eq!(nested.mask_text("a long secret"), format!("a {MASK}"));
    }

    #[test]
    fn schemas_of_any_form_end() {
        let mut circle = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"p": {"$ref": "#"}}});
        circle["allOf"] = json!([{"$ref": "#/anyOf/0"}, true, 7, "x"]);
        let mut value = json!("s");
        for _ in 0..200 {
            value = json!({"p": value});
        }
        assert!(of(circle, value).is_empty());
        assert!(of(Value::Null, json!({"p": "x"})).is_empty());
    }
}
