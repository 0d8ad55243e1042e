//! Tests of `unexplained-values`.

use super::advice_on_operation;
use serde_json::{Value, json};

fn messages_for(values: &Value, description: &str) -> Vec<String> {
    let schema = json!({"type": "array", "items": {"enum": values}});
    let parameter = json!({"name": "s", "in": "query", "schema": schema, "description": description});
    let found = advice_on_operation("unexplained-values", json!({"parameters": [parameter]}));
    found.into_iter().map(|advice| advice.message).collect()
}

#[test]
fn codes_without_meanings_are_reported() {
    let expected = "the values `0`, `1`, `2` of the query parameter `s` have no explanation";
    assert_eq!(messages_for(&json!([0, 1, 2]), "The status."), [expected]);
    assert_eq!(messages_for(&json!(["A", "T1", null]), "The status.").len(), 1);
}

#[test]
fn meanings_words_and_amounts_are_enough() {
    assert!(messages_for(&json!([0, 1, 2]), "0: open, 1: closed").is_empty(), "most of them are explained");
    for values in
        [json!(["open", "closed"]), json!(["de", "en"]), json!([10, 20]), json!([1]), json!([true, 1]), json!([-1, 1])]
    {
        assert!(messages_for(&values, "").is_empty(), "{values}");
    }
}
