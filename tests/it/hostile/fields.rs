//! Arguments that could become another header field, another parameter, another method or another message.

use serde_json::{Value, json};

use super::shop::{Setup, answered, refused};
use crate::support::{Received, Reply, Server};

async fn api() -> Server {
    Server::always(Reply::json(200, &json!({}))).await
}

fn parameter(location: &str, name: &str) -> Value {
    json!({"name": name, "in": location, "schema": {}})
}

/// Returns the request that arrives for a call with this argument.
async fn sent(parameter: Value, value: Value) -> Received {
    let api = api().await;
    let name = parameter["name"].as_str().unwrap().to_owned();
    answered(Setup::local(api.url("")).parameter(parameter).call(json!({name: value})).await);
    api.only_request()
}

/// Checks that a call with this argument is not sent.
async fn is_refused(parameter: Value, value: Value) {
    let api = api().await;
    let name = parameter["name"].as_str().unwrap().to_owned();
    refused(Setup::local(api.url("")).parameter(parameter).call(json!({name: value})).await);
    assert!(api.received().is_empty(), "{:?}", api.received());
}

/// Checks that an argument for a field of the HTTP client itself, which no tool offers, does not reach the API.
async fn never_arrives(name: &str, value: &str) {
    let received = sent(parameter("header", name), json!(value)).await;
    assert_ne!(received.header(name), Some(value));
}

#[tokio::test]
async fn a_line_break_in_a_header() {
    is_refused(parameter("header", "X-Tag"), json!("a\r\nX-Admin: 1")).await;
}

#[tokio::test]
async fn a_line_feed_alone_in_a_header() {
    is_refused(parameter("header", "X-Tag"), json!("a\nX-Admin: 1")).await;
}

#[tokio::test]
async fn a_carriage_return_alone_in_a_header() {
    is_refused(parameter("header", "X-Tag"), json!("a\rX-Admin: 1")).await;
}

#[tokio::test]
async fn a_folded_header() {
    is_refused(parameter("header", "X-Tag"), json!("a\r\n X-Admin: 1")).await;
}

#[tokio::test]
async fn a_second_message_in_a_header() {
    is_refused(parameter("header", "X-Tag"), json!("a\r\n\r\nGET /admin HTTP/1.1\r\nHost: x\r\n\r\n")).await;
}

#[tokio::test]
async fn a_zero_byte_in_a_header() {
    is_refused(parameter("header", "X-Tag"), json!("a\0b")).await;
}

#[tokio::test]
async fn a_line_separator_of_unicode_in_a_header() {
    is_refused(parameter("header", "X-Tag"), json!("a\u{2028}X-Admin: 1")).await;
}

#[tokio::test]
async fn letters_whose_lower_byte_is_a_line_break_in_a_header() {
    // U+560D and U+560A truncated to one byte are CR and LF.
    is_refused(parameter("header", "X-Tag"), json!("a\u{560d}\u{560a}X-Admin: 1")).await;
}

#[tokio::test]
async fn a_line_break_in_an_item_of_a_header() {
    is_refused(parameter("header", "X-Tag"), json!(["a", "b\r\nX-Admin: 1"])).await;
}

#[tokio::test]
async fn a_line_break_in_a_member_s_name_of_a_header() {
    let mut exploded = parameter("header", "X-Tag");
    exploded["explode"] = json!(true);
    is_refused(exploded, json!({"a\r\nX-Admin: 1": 1})).await;
}

#[tokio::test]
async fn a_line_break_in_a_header_s_name() {
    let api = api().await;
    let setup = Setup::local(api.url("")).parameter(parameter("header", "X-Tag\r\nX-Admin"));
    // The argument's name is valid; the field's name is still the one in the document.
    refused(setup.call(json!({"X-Tag_X-Admin": "1"})).await);
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn the_host() {
    never_arrives("Host", "evil.example").await;
}

#[tokio::test]
async fn the_content_length() {
    never_arrives("Content-Length", "0").await;
}

#[tokio::test]
async fn the_transfer_encoding() {
    never_arrives("Transfer-Encoding", "chunked").await;
}

#[tokio::test]
async fn the_connection() {
    never_arrives("Connection", "authorization").await;
}

#[tokio::test]
async fn all_cookies_at_once() {
    is_refused(parameter("header", "Cookie"), json!("session=admin")).await;
}

#[tokio::test]
async fn the_credential_of_a_proxy() {
    never_arrives("Proxy-Authorization", "Basic eDp5").await;
}

#[tokio::test]
async fn another_method_in_a_header() {
    for name in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] {
        is_refused(parameter("header", name), json!("DELETE")).await;
    }
}

#[tokio::test]
async fn another_path_in_a_header() {
    for name in ["X-Original-URL", "X-Rewrite-URL"] {
        is_refused(parameter("header", name), json!("/admin")).await;
    }
}

#[tokio::test]
async fn another_method_in_a_form() {
    let api = api().await;
    let content = json!({"application/x-www-form-urlencoded": {"schema": {"type": "object"}}});
    let setup = Setup::local(api.url("")).method("post").content(content);
    refused(setup.call(json!({"body": {"_method": "DELETE"}})).await);
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn another_method_in_the_query() {
    is_refused(parameter("query", "filter"), json!({"_method": "DELETE"})).await;
}

#[tokio::test]
async fn the_authorization() {
    let received = sent(parameter("header", "Authorization"), json!("Bearer guessed")).await;
    assert_eq!(received.header("authorization"), None);
}

#[tokio::test]
async fn another_cookie_in_a_cookie() {
    let received = sent(parameter("cookie", "theme"), json!("dark; session=admin")).await;
    assert_eq!(received.header("cookie"), Some("theme=dark%3B%20session%3Dadmin"));
}

#[tokio::test]
async fn a_line_break_in_a_cookie() {
    let received = sent(parameter("cookie", "theme"), json!("dark\r\nX-Admin: 1")).await;
    assert_eq!(received.header("cookie"), Some("theme=dark%0D%0AX-Admin%3A%201"));
    assert_eq!(received.header("x-admin"), None);
}

#[tokio::test]
async fn another_parameter_in_the_query() {
    let received = sent(parameter("query", "q"), json!("a&admin=1")).await;
    assert_eq!(received.target, "/r?q=a%26admin%3D1");
}

#[tokio::test]
async fn the_end_of_the_query() {
    let received = sent(parameter("query", "q"), json!("a#b")).await;
    assert_eq!(received.target, "/r?q=a%23b");
}

#[tokio::test]
async fn a_second_message_in_the_query() {
    let received = sent(parameter("query", "q"), json!(" HTTP/1.1\r\nX-Admin: 1\r\n\r\n")).await;
    assert_eq!(received.target, "/r?q=%20HTTP%2F1.1%0D%0AX-Admin%3A%201%0D%0A%0D%0A");
    assert_eq!(received.header("x-admin"), None);
}

#[tokio::test]
async fn another_parameter_where_reserved_characters_are_allowed() {
    let mut reserved = parameter("query", "q");
    reserved["allowReserved"] = json!(true);
    let received = sent(reserved, json!("a/b&admin=1#c+d%26e")).await;
    // Percent-encoded octets stay as they are (RFC 6570 section 3.2.3), as a part of the value.
    assert_eq!(received.target, "/r?q=a/b%26admin%3D1%23c%2Bd%26e");
}

#[tokio::test]
async fn another_parameter_in_a_member_s_name() {
    let received = sent(parameter("query", "filter"), json!({"a&admin=1&b": "c"})).await;
    assert_eq!(received.target, "/r?a%26admin%3D1%26b=c");
}

#[tokio::test]
async fn another_parameter_in_a_deep_member_s_name() {
    let mut deep = parameter("query", "filter");
    deep["style"] = json!("deepObject");
    deep["explode"] = json!(true);
    let received = sent(deep, json!({"a]=1&admin[x": "c"})).await;
    assert_eq!(received.target, "/r?filter%5Ba%5D%3D1%26admin%5Bx%5D=c");
}

#[tokio::test]
async fn a_credential_in_a_member_s_name() {
    let api = api().await;
    let key = json!({"type": "apiKey", "in": "query", "name": "api_key"});
    let setup = Setup::local(api.url("")).secured(key, "the-right-key").parameter(parameter("query", "filter"));
    answered(setup.call(json!({"filter": {"api_key": "guessed", "api%5Fkey": "x"}})).await);
    assert_eq!(api.only_request().target, "/r?api%255Fkey=x&api_key=the-right-key");
}

#[tokio::test]
async fn another_field_in_a_form() {
    let api = api().await;
    let content = json!({"application/x-www-form-urlencoded": {"schema": {"type": "object"}}});
    let setup = Setup::local(api.url("")).method("post").content(content);
    answered(setup.call(json!({"body": {"a&admin": "1&b=2\r\n"}})).await);
    assert_eq!(api.only_request().text(), "a%26admin=1%26b%3D2%0D%0A");
}

#[tokio::test]
async fn another_member_in_a_json_body() {
    let api = api().await;
    let content = json!({"application/json": {"schema": {"type": "object"}}});
    let setup = Setup::local(api.url("")).method("post").content(content);
    let body = json!({"name": "a\",\"admin\":true,\"x\":\"", "\"": 1});
    answered(setup.call(json!({"body": body})).await);
    assert_eq!(api.only_request().json(), body);
}

#[tokio::test]
async fn a_line_break_in_a_body_s_media_type() {
    let api = api().await;
    let content = json!({"application/json\r\nX-Admin: 1": {"schema": {"type": "object"}}});
    refused(Setup::local(api.url("")).method("post").content(content).call(json!({"body": "{}"})).await);
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn arguments_that_the_document_does_not_know() {
    let api = api().await;
    let setup = Setup::local(api.url("")).parameter(parameter("query", "q"));
    let unknown =
        json!({"q": "a", "Authorization": "x", "admin": true, "base_url": "http://evil.example", "__proto__": {}});
    answered(setup.call(unknown).await);
    let received = api.only_request();
    assert_eq!((received.target.as_str(), received.header("authorization")), ("/r?q=a", None));
}
