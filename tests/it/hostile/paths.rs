//! Path arguments that could select another operation.

use serde_json::{Value, json};

use super::shop::{Setup, answered, refused};
use crate::support::{Reply, Server};

async fn api() -> Server {
    Server::always(Reply::json(200, &json!({}))).await
}

fn parameter(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": {}})
}

/// Checks that a call of `GET /base/items/{id}/end` with this value is not sent.
async fn is_refused(value: Value) {
    let api = api().await;
    let setup = Setup::local(api.url("/base")).path("/items/{id}/end").parameter(parameter("id"));
    refused(setup.call(json!({"id": value})).await);
    assert!(api.received().is_empty(), "{:?}", api.received());
}

/// Checks that a value arrives as exactly this segment.
async fn stays(value: Value, segment: &str) {
    let api = api().await;
    let setup = Setup::local(api.url("/base")).path("/items/{id}/end").parameter(parameter("id"));
    answered(setup.call(json!({"id": value})).await);
    assert_eq!(api.only_request().target, format!("/base/items/{segment}/end"));
}

#[tokio::test]
async fn two_dots() {
    is_refused(json!("..")).await;
}

#[tokio::test]
async fn one_dot() {
    is_refused(json!(".")).await;
}

#[tokio::test]
async fn two_dots_and_a_slash() {
    is_refused(json!("../../admin")).await;
}

#[tokio::test]
async fn two_dots_and_a_backslash() {
    is_refused(json!(r"..\..\admin")).await;
}

#[tokio::test]
async fn dots_in_the_middle() {
    is_refused(json!("a/../../../admin")).await;
}

#[tokio::test]
async fn encoded_dots() {
    is_refused(json!("%2e%2e")).await;
}

#[tokio::test]
async fn encoded_dots_and_slash() {
    is_refused(json!("%2e%2e%2fadmin")).await;
}

#[tokio::test]
async fn dots_of_which_one_is_encoded() {
    is_refused(json!(".%2E/admin")).await;
}

#[tokio::test]
async fn doubly_encoded_dots() {
    is_refused(json!("%252e%252e%252fadmin")).await;
}

#[tokio::test]
async fn triply_encoded_dots() {
    is_refused(json!("%25252e%25252e%25252fadmin")).await;
}

#[tokio::test]
async fn dots_before_a_matrix_parameter() {
    is_refused(json!("..;/admin")).await;
}

#[tokio::test]
async fn dots_before_white_space() {
    is_refused(json!(".. /admin")).await;
}

#[tokio::test]
async fn fullwidth_dots_and_slash() {
    is_refused(json!("．．／admin")).await;
}

#[tokio::test]
async fn a_two_dot_leader() {
    is_refused(json!("\u{2025}/admin")).await;
}

#[tokio::test]
async fn a_division_slash() {
    is_refused(json!("..\u{2215}admin")).await;
}

#[tokio::test]
async fn overlong_dots_and_slash() {
    is_refused(json!("%c0%ae%c0%ae%c0%afadmin")).await;
}

#[tokio::test]
async fn an_encoded_backslash() {
    is_refused(json!("..%5cadmin")).await;
}

#[tokio::test]
async fn a_zero_byte() {
    is_refused(json!("a\0.json")).await;
}

#[tokio::test]
async fn a_line_break() {
    is_refused(json!("a HTTP/1.1\r\nX-Admin: 1\r\n\r\n")).await;
}

#[tokio::test]
async fn nothing() {
    is_refused(json!([null])).await;
}

#[tokio::test]
async fn slashes_alone() {
    is_refused(json!("//")).await;
}

#[tokio::test]
async fn dots_as_items_of_an_array() {
    let api = api().await;
    let setup = Setup::local(api.url("")).path("/items/{id}").parameter(parameter("id"));
    // The items are joined by commas: `..,..` is one segment.
    answered(setup.call(json!({"id": ["..", ".."]})).await);
    assert_eq!(api.only_request().target, "/items/..,..");
}

#[tokio::test]
async fn an_array_of_one_item_that_is_dots() {
    is_refused(json!([".."])).await;
}

#[tokio::test]
async fn dots_that_only_two_parameters_make() {
    let api = api().await;
    let setup = Setup::local(api.url("")).path("/items/{a}{b}/end").parameter(parameter("a")).parameter(parameter("b"));
    refused(setup.call(json!({"a": ".", "b": "."})).await);
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn dots_together_with_the_template_s_own() {
    let api = api().await;
    let setup = Setup::local(api.url("")).path("/items/.{id}/end").parameter(parameter("id"));
    refused(setup.call(json!({"id": "."})).await);
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn dots_in_the_label_style() {
    let api = api().await;
    let mut parameter = parameter("id");
    parameter["style"] = json!("label");
    let setup = Setup::local(api.url("")).path("/items/{id}/end").parameter(parameter);
    refused(setup.call(json!({"id": "."})).await);
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn dots_in_the_document_s_own_path() {
    let api = api().await;
    refused(Setup::local(api.url("/base")).path("/items/%2e%2e/admin").call(json!({})).await);
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn a_slash() {
    stays(json!("a/b"), "a%2Fb").await;
}

#[tokio::test]
async fn a_backslash() {
    stays(json!(r"a\b"), "a%5Cb").await;
}

#[tokio::test]
async fn a_question_mark_and_a_number_sign() {
    stays(json!("a?admin=1#x"), "a%3Fadmin%3D1%23x").await;
}

#[tokio::test]
async fn a_matrix_parameter() {
    stays(json!("a;admin=1"), "a%3Badmin%3D1").await;
}

#[tokio::test]
async fn an_address() {
    stays(json!("//evil.example:80/x"), "%2F%2Fevil.example%3A80%2Fx").await;
}

#[tokio::test]
async fn a_percent_sign() {
    stays(json!("100%2F"), "100%252F").await;
}

#[tokio::test]
async fn letters_that_turn_the_direction() {
    stays(json!("a\u{202e}b"), "a%E2%80%AEb").await;
}

#[tokio::test]
async fn braces_of_another_parameter() {
    stays(json!("{id}"), "%7Bid%7D").await;
}

#[tokio::test]
async fn members_of_an_object() {
    let api = api().await;
    let mut parameter = parameter("id");
    parameter["explode"] = json!(true);
    let setup = Setup::local(api.url("")).path("/items/{id}/end").parameter(parameter);
    answered(setup.call(json!({"id": {"x/a": "b?c", "d=e": "f,g"}})).await);
    assert_eq!(api.only_request().target, "/items/x%2Fa=b%3Fc,d%3De=f%2Cg/end");
}

#[tokio::test]
async fn a_value_of_megabytes() {
    is_refused(json!("x".repeat(1_000_000))).await;
}
