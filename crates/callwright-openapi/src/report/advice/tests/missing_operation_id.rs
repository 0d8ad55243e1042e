//! Tests of `missing-operation-id`.

use super::{advice_on_operation, messages};
use serde_json::json;

#[test]
fn the_derived_name_of_an_operation_without_id_is_reported() {
    let found = advice_on_operation("missing-operation-id", json!({"operationId": " "}));
    assert_eq!(messages(&found), [("POST /x/{id}", "the tool is called `post_x_id`")]);
    assert!(advice_on_operation("missing-operation-id", json!({"operationId": "make"})).is_empty());
}
