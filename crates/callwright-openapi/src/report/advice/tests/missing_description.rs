//! Tests of `missing-description`.

use super::advice_on_operation;
use serde_json::json;

#[test]
fn operations_without_their_own_description_are_reported() {
    let bare = advice_on_operation("missing-description", json!({"operationId": "makeOrder", "description": " "}));
    assert!(bare[0].message.eq("`makeOrder` has no description; a model reads only `POST /x/{id}`"), "{bare:?}");
    let repeated = json!({"operationId": "makeOrder", "summary": "Make order", "description": "make_order."});
    let repeated = advice_on_operation("missing-description", repeated);
    assert!(repeated[0].message.eq("the description of `makeOrder` only repeats its name"), "{repeated:?}");
}

#[test]
fn one_sentence_is_enough() {
    let described =
        json!({"operationId": "makeOrder", "summary": "Make order", "description": "Orders what is in the basket."});
    assert!(advice_on_operation("missing-description", described).is_empty());
}
