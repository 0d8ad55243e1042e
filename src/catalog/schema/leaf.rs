//! Keywords whose values hold no schemas: checked, converted, or left out with a reason.
//!
//! A validator refuses a whole schema for one keyword of the wrong form (`minLength: "3"`), so none may be left.

use serde_json::{Map, Number, Value};

use super::super::shorten::shorten;
use super::keyword::Form;
use super::literal::{self, type_value, types_of};
use super::nullable::is_nullable;

/// An example that is longer, in characters, illustrates less than it costs.
const MAX_EXAMPLE_CHARS: usize = 100;
/// Examples kept of a list of them.
const MAX_EXAMPLES: usize = 3;

/// What became of a keyword.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Leaf {
    /// Another keyword that takes its place.
    pub(super) key: Option<&'static str>,
    /// The value; `None` where the keyword is left out.
    pub(super) value: Option<Value>,
    /// What was lost.
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

/// Translates the keyword `key` of the schema `members`; `description_chars` bounds a description.
pub(super) fn leaf(key: &str, form: Form, members: &Map<String, Value>, description_chars: usize) -> Leaf {
    let value = members.get(key).unwrap_or(&Value::Null);
    let malformed = "has a value of the wrong form; left out";
    match form {
        Form::Types => types(value),
        Form::Enum => enumeration(value, members),
        Form::Default => {
            Leaf::or_lost(literal::fit(value, &types_with_null(members)), "is not of the type beside it; left out")
        }
        Form::Literal => Leaf::kept(value.clone()),
        Form::Example if members.contains_key("examples") => Leaf::default(),
        Form::Example => Leaf { key: Some("examples"), ..examples(std::slice::from_ref(value)) },
        Form::Examples => value.as_array().map_or_else(Leaf::default, |values| examples(values)),
        Form::Description => {
            Leaf::or_lost(value.as_str().map(|text| shorten(text, description_chars).into()), malformed)
        }
        // A parameter's own flag, or a property's in the way of draft 3, which its object has taken over.
        Form::Names if key == "required" && value.is_boolean() => Leaf::default(),
        Form::ExclusiveBound if value.is_boolean() => exclusive_bound(key, value, members),
        Form::Number if is_replaced(key, members) => Leaf::default(),
        _ => Leaf::or_lost(plain(form, value), malformed),
    }
}

fn plain(form: Form, value: &Value) -> Option<Value> {
    match form {
        Form::Text => value.as_str().map(Value::from),
        Form::Flag => value.as_bool().map(Value::from),
        Form::Number | Form::ExclusiveBound => number(value).map(Value::Number),
        Form::PositiveNumber => {
            number(value).filter(|number| number.as_f64().is_some_and(|number| number > 0.0)).map(Value::Number)
        }
        Form::Count => count(value).map(Value::from),
        Form::Names => names(value),
        Form::NamesMap => {
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
    let (known, unknown) = literal::types(value);
    let loss = (!unknown.is_empty()).then(|| format!("{} is no type of JSON Schema; left out", unknown.join(", ")));
    Leaf { value: (!known.is_empty()).then(|| type_value(&known)), loss, key: None }
}

fn enumeration(value: &Value, members: &Map<String, Value>) -> Leaf {
    let Some(given) = value.as_array() else { return Leaf::lost("is no array; left out") };
    let types = types_with_null(members);
    let fitting: Vec<Value> = given.iter().filter_map(|value| literal::fit(value, &types)).collect();
    let changed = &fitting != given || given.is_empty();
    let loss = changed.then(|| "values that are not of the type beside them were converted or left out".to_owned());
    Leaf { value: (!fitting.is_empty()).then_some(Value::Array(fitting)), loss, key: None }
}

/// Scalars alone: an example of a whole object costs more than the properties that it repeats.
fn examples(values: &[Value]) -> Leaf {
    let is_short = |value: &&Value| match value {
        Value::String(text) => text.chars().nth(MAX_EXAMPLE_CHARS).is_none(),
        Value::Number(_) | Value::Bool(_) => true,
        _ => false,
    };
    let kept: Vec<Value> = values.iter().filter(is_short).take(MAX_EXAMPLES).cloned().collect();
    Leaf { value: (!kept.is_empty()).then_some(Value::Array(kept)), ..Leaf::default() }
}

/// OpenAPI 3.0 writes `maximum: 10, exclusiveMaximum: true` for `exclusiveMaximum: 10`.
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
    let whole =
        |number: f64| (number.fract() == 0.0 && (0.0..=u32::MAX.into()).contains(&number)).then_some(number as u64);
    number.as_u64().or_else(|| number.as_f64().and_then(whole))
}

fn names(value: &Value) -> Option<Value> {
    let mut names: Vec<Value> = Vec::new();
    for name in value.as_array()?.iter().filter(|name| name.is_string()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Some(Value::Array(names))
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
    fn keywords_of_the_wrong_form_are_mended_or_left_out() {
        let cases = [
            (json!({"minLength": "3"}), "minLength", Some(json!(3))),
            (json!({"minLength": 3.0}), "minLength", Some(json!(3))),
            (json!({"minLength": -1}), "minLength", None),
            (json!({"multipleOf": 0}), "multipleOf", None),
            (json!({"required": "a"}), "required", None),
            (json!({"required": ["a", "a", 1]}), "required", Some(json!(["a"]))),
            (json!({"uniqueItems": "yes"}), "uniqueItems", None),
            (json!({"type": "date"}), "type", None),
            (json!({"pattern": 3}), "pattern", None),
            (json!({"pattern": "^(?=a)b"}), "pattern", Some(json!("^(?=a)b"))),
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
    fn a_boolean_exclusive_bound_takes_over_the_plain_one() {
        let schema = json!({"maximum": 10, "exclusiveMaximum": true, "minimum": 1, "exclusiveMinimum": false});
        assert_eq!(translated(schema.clone(), "exclusiveMaximum").value, Some(json!(10)));
        assert_eq!(translated(schema.clone(), "maximum").value, None);
        assert_eq!(translated(schema.clone(), "exclusiveMinimum").value, None);
        assert_eq!(translated(schema, "minimum").value, Some(json!(1)));
    }

    #[test]
    fn a_short_example_becomes_a_list_and_a_large_one_goes() {
        assert_eq!(translated(json!({"example": "2024-05-01"}), "example").key, Some("examples"));
        assert_eq!(translated(json!({"example": {"a": 1}}), "example").value, None);
        assert_eq!(translated(json!({"example": "x".repeat(101)}), "example").value, None);
    }
}
