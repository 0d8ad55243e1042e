//! Tests of `undocumented-errors`.

use super::advice_on_operation;
use serde_json::{Value, json};

fn messages_for(responses: Value) -> Vec<String> {
    let found = advice_on_operation("undocumented-errors", json!({"responses": responses}));
    found.into_iter().map(|advice| advice.message).collect()
}

#[test]
fn missing_and_merely_named_errors_are_reported() {
    let none = messages_for(json!({"200": {"description": "ok"}, "x-note": {}}));
    assert!(none[0].starts_with("no error response is documented"), "{none:?}");
    let named = messages_for(
        json!({"400": {"description": "Bad Request."}, "404": {"description": "not found"}, "default": {}}),
    );
    assert!(named[0].starts_with("the error responses 400, 404, default have no explanation"), "{named:?}");
    let found = advice_on_operation("undocumented-errors", json!({}));
    assert_eq!(found[0].at, "api.json #/paths/~1x~1{id}/post", "without responses, the operation's position");
}

#[test]
fn one_explained_error_is_enough() {
    assert!(messages_for(json!({"404": {"description": "No such order; ask for the list first."}})).is_empty());
    assert!(messages_for(json!({"default": {"description": "Error", "content": {"application/json": {}}}})).is_empty());
    assert!(messages_for(json!({"4XX": {"description": "See `code`."}})).is_empty());
}
