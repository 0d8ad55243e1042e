//! Tests of `missing-example`.

use super::super::argument_rules::has_structure;
use super::advice_on_operation;
use serde_json::{Value, json};

fn messages_for(schema: Value, description: &str) -> Vec<String> {
    let parameter = json!({"name": "s", "in": "query", "schema": schema, "description": description});
    let found = advice_on_operation("missing-example", json!({"parameters": [parameter]}));
    found.into_iter().map(|advice| advice.message).collect()
}

#[test]
fn patterns_of_several_parts_and_rare_formats_need_an_example() {
    let expected = "the query parameter `s` must have the pattern `^[A-Z]{2}-\\d+$`";
    assert_eq!(messages_for(json!({"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}), "An id."), [expected]);
    assert_eq!(messages_for(json!({"type": "string", "format": "x-part-number"}), "").len(), 1);
}

#[test]
fn documented_values_and_plain_forms_need_no_example() {
    let pattern = "^[A-Z]{2}-\\d+$";
    for (schema, description) in [
        (json!({"type": "string", "pattern": pattern, "example": "AB-1"}), ""),
        (json!({"type": "string", "pattern": pattern, "default": "AB-1"}), ""),
        (json!({"type": "string", "pattern": pattern}), "For example AB-1."),
        (json!({"type": "string", "pattern": ".+"}), ""),
        (json!({"type": "string", "format": "Date-Time"}), ""),
    ] {
        assert!(messages_for(schema.clone(), description).is_empty(), "{schema}");
    }
}

#[test]
fn patterns_for_plain_words_or_numbers_need_no_example() {
    for plain in
        ["^\\w+$", "[a-z]{1,64}", "[\\s\\S]*", "^(\\d)+$", "", ".*\\S.*", "^[a-z](?:[a-z-]*[a-z])?$", "^[A-Z][a-z]*\\d"]
    {
        assert!(!has_structure(plain), "{plain}");
    }
    for structured in ["a\\d{4}", "^(?!x)y$", "\\d{3}-\\d{4}", "^arn:.*", "(", "(?:\\w{999}){999}"] {
        assert!(has_structure(structured), "{structured}");
    }
}
