//! Generated schemas and arguments for the property tests of the scanner and of the modules that use it.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use callwright_scanner::testing::call;
use callwright_scanner::{ToolSet, testing};
use callwright_types::Call;

/// Returns a configuration with a fixed seed, so that a failing case fails again.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

const NAMES: [&str; 8] = ["city", "City", "user_name", "userName", "zip", "count", "a/b", "~"];

/// Generates arbitrary JSON in which JSON Schema keywords and parameter names are frequent.
pub(crate) fn wild_json() -> BoxedStrategy<Value> {
    let words = prop::sample::select(vec![
        "type", "properties", "required", "items", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "default",
        "not", "if", "then", "format", "pattern", "patternProperties", "nullable", "minimum", "exclusiveMinimum",
        "$defs", "a", "additionalProperties", "prefixItems", "$id", "$schema", "dependentSchemas", "definitions",
        "multipleOf",
    ]);
    let texts = prop::sample::select(vec![
        "object",
        "string",
        "integer",
        "array",
        "dict",
        "any",
        "#",
        "#/$defs/a",
        "#/properties/a",
        "date",
        "^a+$",
        "(",
        "5",
        "true",
        "{}",
        "[1]",
        "http://json-schema.org/draft-04/schema#",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        texts.prop_map(Value::from),
        prop::sample::select(NAMES.to_vec()).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        let key = prop_oneof![words.clone(), prop::sample::select(NAMES.to_vec())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
    .boxed()
}

/// Generates a valid schema of an argument object, and arguments that match it.
pub(crate) fn schema_and_arguments() -> BoxedStrategy<(Value, Value)> {
    object(fitting().boxed()).boxed()
}

fn fitting() -> impl Strategy<Value = (Value, Value)> {
    let text = prop::sample::select(vec!["Oslo", "5", "true", "[1]", "{}", "a b", ""]);
    let leaf = prop_oneof![
        text.prop_map(|text| (json!({ "type": "string" }), json!(text))),
        (-5i64..5, 0i64..3).prop_map(|(number, slack)| {
            (json!({ "type": "integer", "minimum": number - slack, "maximum": number + slack }), json!(number))
        }),
        (-5i32..5).prop_map(|number| (json!({ "type": "number" }), json!(f64::from(number) / 4.0))),
        any::<bool>().prop_map(|flag| (json!({ "type": "boolean" }), json!(flag))),
        (0usize..3).prop_map(|index| {
            let options = ["red", "Dark Green", "BLUE"];
            (json!({ "type": "string", "enum": options }), json!(options[index]))
        }),
        Just((json!({ "type": "string", "format": "date" }), json!("2025-01-31"))),
        Just((json!({ "type": "string", "pattern": "^[A-Z]{2,3}-[0-9]+$" }), json!("AB-1"))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..2).prop_flat_map(|pair| {
            let (schema, value) = pair[0].clone();
            (0usize..3).prop_map(move |count| {
                (json!({ "type": "array", "items": schema, "minItems": count }), json!(vec![value.clone(); count]))
            })
        });
        prop_oneof![
            3 => list,
            3 => object(inner.clone().boxed()),
            1 => (inner.clone(), any::<bool>()).prop_map(|((schema, value), null)| {
                (json!({ "anyOf": [schema, { "type": "null" }] }), if null { Value::Null } else { value })
            }),
            1 => inner.prop_map(|(schema, value)| (json!({ "allOf": [schema] }), value)),
        ]
    })
}

fn object(member: BoxedStrategy<(Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    let members =
        prop::collection::vec((prop::sample::select(NAMES.to_vec()), member, any::<bool>(), any::<bool>()), 0..4);
    (members, prop::option::of(any::<bool>())).prop_map(|(members, additional)| {
        let (mut properties, mut required, mut arguments) = (Map::new(), Vec::new(), Map::new());
        for (name, (schema, value), is_required, is_given) in members {
            if properties.insert(name.to_owned(), schema).is_none() && is_required {
                required.push(name);
            }
            arguments.shift_remove(name);
            if is_given || required.contains(&name) {
                arguments.insert(name.to_owned(), value);
            }
        }
        let mut schema = json!({ "type": "object", "properties": properties, "required": required });
        if let Some(additional) = additional {
            schema["additionalProperties"] = json!(additional);
        }
        (schema, Value::Object(arguments))
    })
}

/// Returns `value` with some values and names changed in the way models change them; `choices` selects the changes.
pub(crate) fn misspelt(value: &Value, choices: &mut impl Iterator<Item = u8>) -> Value {
    let choice = choices.next().unwrap_or(255);
    match (choice, value) {
        (0, value) => Value::from(value.to_string()),
        (1, Value::String(text)) => Value::from(text.to_uppercase()),
        (2, _) => Value::Null,
        (3, Value::Array(items)) if items.len() == 1 => items[0].clone(),
        (4, Value::Number(number)) if number.is_i64() => json!(number.as_f64()),
        (_, Value::Array(items)) => items.iter().map(|item| misspelt(item, choices)).collect(),
        (_, Value::Object(members)) => members
            .iter()
            .map(|(name, value)| {
                let name = if choices.next() == Some(0) { name.to_uppercase().replace('_', "-") } else { name.clone() };
                (name, misspelt(value, choices))
            })
            .collect(),
        (_, value) => value.clone(),
    }
}

/// Creates a tool set with the single tool `f`, which has these parameters.
pub(crate) fn tool_set(parameters: &Value) -> ToolSet {
    testing::tool_set(&json!([{ "name": "f", "description": "", "parameters": parameters }]).to_string())
}

/// Creates a call of `f`.
pub(crate) fn call_of(arguments: &Value) -> Call {
    call("f", &arguments.to_string())
}

mod tests {
    use super::*;
    use callwright_scanner::scan;
    use callwright_types::rules::{Report, ScanRules, UnknownParameters};

    proptest! {
        #![proptest_config(config(256))]

        #[test]
        fn arguments_that_fit_their_schema_are_never_called_faulty((schema, arguments) in schema_and_arguments()) {
            let found = scan(&call_of(&arguments), 0, &tool_set(&schema), &ScanRules::default());
            prop_assert!(found.is_ok(), "{schema} {arguments} {found:?}");
        }

        #[test]
        fn any_schema_and_any_arguments_give_a_result(schema in wild_json(), arguments in wild_json(), all in any::<bool>()) {
            let report = if all { Report::All } else { Report::First };
            let book = tool_set(&schema);
            for unknown_parameters in [UnknownParameters::Allow, UnknownParameters::Auto, UnknownParameters::Refuse] {
                let rules = ScanRules { report, unknown_parameters, ..ScanRules::default() };
                if let Err(diagnoses) = scan(&call_of(&arguments), 0, &book, &rules) {
                    prop_assert!(!diagnoses.is_empty(), "{schema} {arguments}");
                    prop_assert!(diagnoses.windows(2).all(|pair| pair[0].code.level() <= pair[1].code.level()));
                }
            }
        }

        #[test]
        fn what_a_strict_validator_refuses_is_never_called_clean((schema, arguments) in schema_and_arguments(), choices in prop::collection::vec(0u8..12, 0..20)) {
            let arguments = misspelt(&arguments, &mut choices.into_iter());
            let strict = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
            if !strict.is_valid(&arguments) {
                prop_assert!(scan(&call_of(&arguments), 0, &tool_set(&schema), &ScanRules::default()).is_err(), "{schema} {arguments}");
            }
        }
    }
}
