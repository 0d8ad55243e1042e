//! Tests of `confusable-names`.

use super::super::document_rules::key;
use super::advice_on;
use serde_json::{Map, Value, json};

fn with_ids(ids: &[&str]) -> Value {
    let paths: Map<String, Value> = ids
        .iter()
        .enumerate()
        .map(|(number, id)| (format!("/{number}"), json!({"get": {"operationId": id}})))
        .collect();
    json!({"openapi": "3.0.0", "paths": paths})
}

#[test]
fn the_same_words_are_confusable_and_others_are_not() {
    let alike = [
        ("getUser", "get_users"),
        ("getUserGroups", "getGroupUser"),
        ("list-pets", "listPetsV2"),
        ("listCategories", "listCategory2"),
        ("findAddress", "findAddresses"),
    ];
    for (one, other) in alike {
        assert_eq!(key(one), key(other), "{one} {other}");
    }
    for (one, other) in
        [("getPet", "setPet"), ("getPet", "getPetById"), ("listTags", "listTaxes"), ("getStatus", "getStats")]
    {
        assert_ne!(key(one), key(other), "{one} {other}");
    }
}

#[test]
fn a_group_is_reported_once_with_its_names() {
    let found = advice_on("confusable-names", with_ids(&["getUser", "deleteUser", "getUsers", "userGet", "2"]));
    let [advice] = found.as_slice() else { panic!("{found:?}") };
    assert!(advice.message.starts_with("`getUser`, `getUsers`, `userGet` differ"), "{}", advice.message);
    assert_eq!((advice.operation.as_str(), advice.at.as_str()), ("GET /0", "api.json #/paths/~10/get/operationId"));
    let doubled = advice_on("confusable-names", with_ids(&["get", "get"]));
    assert_eq!(doubled.len(), 1, "tools of one operationId differ only by a hash: {doubled:?}");
}

#[test]
fn many_operations_are_checked_and_long_groups_are_shortened() {
    let letters = |number: usize| {
        format!("{number:04}").chars().map(|digit| char::from(b'a' + digit as u8 - b'0')).collect::<String>()
    };
    let name = |number: usize| {
        if number.is_multiple_of(2) { format!("opV{number}") } else { format!("op{}", letters(number)) }
    };
    let ids: Vec<String> = (0..5000).map(name).collect();
    let found = advice_on("confusable-names", with_ids(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
    let [advice] = found.as_slice() else { panic!("{} groups", found.len()) };
    assert!(advice.message.contains("and 2495 more") && advice.message.len() < 500, "{}", advice.message);
}
