//! Tests that secrets are detected and masked everywhere.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use serde_json::{Value, json};

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
fn texts_are_masked_in_every_form_of_a_secret() {
    let secrets = of(json!({"properties": {"p": password()}}), json!({"p": "a\"b/c d"}));
    for text in ["p is a\"b/c d.", r#"{"p":"a\"b/c d"}"#, "https://x/?p=a%22b%2Fc%20d", "<b>a&quot;b/c d</b>"] {
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

#[test]
fn unreadable_arguments_are_one_secret_if_their_tool_has_any() {
    let text = r#"{"p": "s-half"#;
    let mut secrets = SecretValues::default();
    secrets.note_unread(&json!({"properties": {"p": {"type": "string"}}}), text);
    assert!(secrets.is_empty());
    secrets.note_unread(&json!({"properties": {"p": password()}}), text);
    let mut trace = json!({"calls": [{"arguments": text}]});
    secrets.mask(&mut trace);
    assert_eq!(trace, json!({"calls": [{"arguments": MASK}]}));
}

#[test]
fn a_short_secret_is_masked_in_the_text_of_its_arguments() {
    let secrets = of(json!({"properties": {"pin": {"writeOnly": true}}}), json!({"pin": 12, "days": 3}));
    let mut trace = json!({"arguments": "{\"pin\":12,\"days\":3}"});
    secrets.mask(&mut trace);
    assert_eq!(trace, json!({"arguments": "{\"pin\":\"***\",\"days\":3}"}));
}

#[test]
fn more_secrets_than_are_kept_leave_nothing_to_store() {
    let many: Vec<String> = (0..2_000).map(|index| format!("s-{index}")).collect();
    let secrets = of(json!({"properties": {"list": {"items": password()}}}), json!({"list": many}));
    assert!(secrets.is_incomplete() && !secrets.is_empty());
    assert_eq!(secrets.mask_text("s-1999 and anything else"), MASK);
}

#[test]
fn beyond_the_steps_of_a_walk_everything_is_a_secret() {
    let branches: Vec<Value> = (0..400).map(|index| json!({"properties": {format!("x{index}"): {}}})).collect();
    let schema = json!({"items": {"anyOf": branches, "properties": {"p": password()}}});
    let list: Vec<Value> = (0..400).map(|index| json!({"p": format!("s-{index}")})).collect();
    let secrets = of(schema, Value::from(list));
    assert!((0..400).all(|index| secrets.mask_text(&format!("s-{index}")) == MASK));
}

#[test]
fn what_other_keywords_say_of_other_members_is_no_secret() {
    let schema = json!({
        "properties": {"open": {"type": "string"}}, "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": password(), "if": {"required": ["open"]}, "then": {"properties": {"shut": password()}},
    });
    let secrets = of(schema, json!({"open": "o-one", "x-free": "o-two", "shut": "s-one", "else": "s-two"}));
    assert_eq!(secrets.values.iter().map(String::as_str).collect::<Vec<_>>(), ["s-one", "s-two"]);
}

const CANARY: &str = "canary-4f9a17";
const NUMBER: u64 = 918_273_645;

/// A schema, a matching value, and the definitions that the schema refers to.
struct BuiltCase {
    schema: Value,
    value: Value,
    definitions: serde_json::Map<String, Value>,
}

/// Number of ways from a schema to a nested one.
const WAYS: u8 = 27;

impl BuiltCase {
    /// Returns the innermost schema and value: a secret or, as the negative control, the same value unmarked.
    fn leaf(kind: u8, is_marked: bool) -> Self {
        let (schema, value) = match kind % 3 {
            0 => (json!({"type": "string", "format": "password"}), json!(CANARY)),
            1 => (json!({"writeOnly": true}), json!(NUMBER)),
            _ => (json!({"writeOnly": true, "type": "object"}), json!({"deep": [{"er": CANARY}]})),
        };
        Self { schema: if is_marked { schema } else { json!({}) }, value, definitions: serde_json::Map::new() }
    }

    fn defined(&mut self, name: &str, schema: Value) {
        self.definitions.insert(name.to_owned(), schema);
    }

    /// Returns the schema and value nested one level deeper.
    fn within(mut self, way: u8, number: usize) -> Self {
        let (schema, value) = (self.schema.take(), self.value.take());
        let (name, plain) = (format!("d é/~%{number}"), format!("plain{number}"));
        let encoded = utf8_percent_encode(&name.replace('~', "~0").replace('/', "~1"), NON_ALPHANUMERIC).to_string();
        let as_list = |value: Value| json!([value.clone(), value]);
        (self.schema, self.value) = match way % WAYS {
            0 => (json!({"properties": {"p": schema}}), json!({"p": value})),
            1 => {
                self.defined(&name, schema);
                (json!({"$ref": format!("#/$defs/{encoded}")}), value)
            }
            2 => {
                self.defined(&plain, schema);
                (json!({"allOf": [{"$ref": format!("#/%24defs/{plain}")}]}), value)
            }
            3 => (json!({"if": {"type": "object"}, "then": schema}), value),
            4 => (json!({"if": {"type": "null"}, "else": schema}), value),
            5 => (json!({"if": schema}), value),
            6 => (json!({"patternProperties": {"^x-": schema}}), json!({"x-1": value})),
            7 => (json!({"patternProperties": {"(?<=a)b": schema}}), json!({"any": value})),
            8 => (json!({"dependentSchemas": {"k": schema}}), value),
            9 => (json!({"dependencies": {"k": schema, "l": ["m"]}}), value),
            10 => (json!({"not": schema}), value),
            11 => {
                (json!({"properties": {"open": {}}, "additionalProperties": schema}), json!({"free": value, "open": 1}))
            }
            12 => (json!({"unevaluatedProperties": schema}), json!({"free": value})),
            13 => (json!({"prefixItems": [{}, schema]}), json!([0, value])),
            14 => (json!({"items": schema}), as_list(value)),
            15 => (json!({"items": [{}], "additionalItems": schema}), json!([1, value])),
            16 => (json!({"contains": schema}), json!([1, value])),
            17 => (json!({"unevaluatedItems": schema}), as_list(value)),
            18 => (json!({"anyOf": [{"type": "null"}, {"anyOf": [schema]}]}), value),
            19 => (json!({"oneOf": [{}, schema]}), value),
            20 => (json!({"allOf": [schema]}), value),
            21 => {
                self.defined(&name, json!({"$anchor": plain, "allOf": [schema]}));
                (json!({"$ref": format!("#{plain}")}), value)
            }
            22 => {
                self.defined(&name, json!({"$id": format!("{plain}.json"), "$defs": {"in": schema}}));
                (json!({"$ref": format!("{plain}.json#/$defs/in")}), value)
            }
            23 => {
                self.defined(&name, json!({"$dynamicAnchor": plain, "anyOf": [schema]}));
                (json!({"$dynamicRef": format!("#{plain}")}), value)
            }
            24 => (json!({"contentMediaType": "application/json", "contentSchema": schema}), value.to_string().into()),
            // Forms that repair parses: an object as a text, a single-item array without brackets.
            25 if value.is_object() => (schema, value.to_string().into()),
            26 if value.is_string() => (json!({"items": schema}), value),
            _ => (json!({"properties": {"q": schema}}), json!({"q": value})),
        };
        self
    }

    fn document(&self) -> Value {
        let mut document = json!({"allOf": [self.schema.clone()]});
        document["$defs"] = Value::Object(self.definitions.clone());
        document
    }
}

fn build(ways: &[u8], leaf: u8, is_marked: bool) -> BuiltCase {
    let start = BuiltCase::leaf(leaf, is_marked);
    ways.iter().enumerate().fold(start, |inner, (number, way)| inner.within(*way, number))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4_000,
        rng_seed: proptest::test_runner::RngSeed::Fixed(11),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// No stored text contains a secret, whatever keywords lead to it.
    #[test]
    fn no_way_through_a_schema_leaves_a_secret_in_the_clear(ways in prop::collection::vec(0..WAYS, 1..6), leaf in 0_u8..3) {
        let built = build(&ways, leaf, true);
        let text = built.value.to_string();
        let mut trace = json!({
            "attempts": [{"calls": [{"name": "f", "arguments": text}], "diagnoses": [{"message": format!("not {CANARY} or {NUMBER}")}]}],
            "request": {"messages": [{"tool_calls": [{"function": {"name": "f", "arguments": text}}]}]},
            "sent": built.value,
        });
        let secrets = of(built.document(), built.value.clone());
        secrets.mask(&mut trace);
        let stored = trace["attempts"][0]["calls"].to_string() + &trace["request"].to_string() + &trace["sent"].to_string();
        let canary = if leaf % 3 == 1 { NUMBER.to_string() } else { CANARY.to_owned() };
        prop_assert!(!stored.contains(&canary), "{} {stored}", built.document());
        prop_assert!(!trace["attempts"][0]["diagnoses"].to_string().contains(&canary));
        let unmarked = build(&ways, leaf, false);
        prop_assert!(of(unmarked.document(), unmarked.value.clone()).is_empty(), "nothing is marked: {}", unmarked.document());
    }
}
