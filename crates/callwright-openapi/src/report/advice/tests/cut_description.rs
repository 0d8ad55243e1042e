//! Tests of `cut-description`.

use super::advice_on_operation;
use serde_json::json;

#[test]
fn only_shortened_descriptions_are_reported() {
    let found = advice_on_operation("cut-description", json!({"summary": "Short", "description": "é".repeat(1100)}));
    assert!(
        found[0].message.starts_with("the description has 1107 characters, of which a model reads the first 1024"),
        "{found:?}"
    );
    assert_eq!(found[0].at, "api.json #/paths/~1x~1{id}/post/description");
    assert!(advice_on_operation("cut-description", json!({"description": "é".repeat(1024)})).is_empty());
}
