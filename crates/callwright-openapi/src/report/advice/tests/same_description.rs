//! Tests of `same-description`.

use super::{advice_on, messages};
use serde_json::json;

#[test]
fn operations_with_the_same_text_are_reported_once() {
    let found = advice_on(
        "same-description",
        json!({"openapi": "3.0.0", "paths": {
            "/a": {"get": {"operationId": "a", "summary": "Get it."}, "post": {"operationId": "b", "description": "Get it. "}},
            "/b": {"get": {"operationId": "c", "summary": "Get another."}, "post": {"operationId": "d"}, "put": {"operationId": "e"}}
        }}),
    );
    assert_eq!(messages(&found), [("GET /a", "`a`, `b` share one description")]);
    assert_eq!(found[0].at, "api.json #/paths/~1a/get/summary");
}
