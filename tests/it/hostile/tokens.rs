//! OAuth 2 token endpoints that do not return a token.

use std::time::Duration;

use callwright_openapi::{ClientCredentials, Credential, SecretSource};
use callwright_types::{Outcome, Secret};
use serde_json::{Value, json};

use super::shop::{Setup, answered, unauthorised, unreachable};
use crate::support::{Reply, Server};

const CLIENT_SECRET: &str = "canary-client-secret";

/// Creates an API with tokens from this endpoint.
fn setup(api: &Server, token_url: &str) -> Setup {
    let scheme = json!({
        "type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": token_url, "scopes": {}}}
    });
    let client = ClientCredentials {
        client_id: "me".into(),
        client_secret: SecretSource::Given(Secret::new(CLIENT_SECRET)),
        ..ClientCredentials::default()
    };
    Setup::local(api.url("")).secured_by(scheme, Credential::Client(Box::new(client)))
}

async fn api() -> Server {
    Server::always(Reply::json(200, &json!({}))).await
}

/// Returns the outcome of a call whose token endpoint sends this reply. The API must not be reached.
async fn without_token(reply: Reply) -> Outcome {
    without_token_in(|setup| setup, reply).await
}

/// Works like [`without_token`], with an endpoint that takes until the timeout.
async fn without_token_in_time(reply: Reply) -> Outcome {
    without_token_in(Setup::hasty, reply).await
}

async fn without_token_in(time: impl Fn(Setup) -> Setup, reply: Reply) -> Outcome {
    let (api, tokens) = (api().await, Server::always(reply).await);
    let outcome = time(setup(&api, &tokens.url("/token"))).call(json!({})).await;
    assert!(api.received().is_empty(), "{:?}", api.received());
    assert!(!format!("{outcome:?}").contains("canary"), "{outcome:?}");
    outcome
}

/// Checks that a call whose token endpoint sends this reply is sent with this token.
async fn with_token(reply: &Value, expected: &str) {
    let (api, tokens) = (api().await, Server::always(Reply::json(200, reply)).await);
    answered(setup(&api, &tokens.url("/token")).call(json!({})).await);
    assert_eq!(api.only_request().header("authorization"), Some(format!("Bearer {expected}").as_str()));
}

#[tokio::test]
async fn an_endpoint_that_redirects_the_secret_elsewhere() {
    for status in [301, 302, 307, 308] {
        let elsewhere = api().await;
        unauthorised(without_token(Reply::body(status, &[("location", &elsewhere.url("/token"))], "")).await);
        assert!(elsewhere.received().is_empty(), "{status}");
    }
}

#[tokio::test]
async fn an_endpoint_on_a_private_address() {
    let (api, tokens) = (api().await, api().await);
    for host in ["127.0.0.2", "localhost", "0x7f.0.0.2"] {
        unauthorised(setup(&api, &format!("http://{host}:{}/token", tokens.port())).call(json!({})).await);
    }
    unauthorised(setup(&api, "https://169.254.169.254/token").call(json!({})).await);
    assert!(tokens.received().is_empty() && api.received().is_empty());
}

#[tokio::test]
async fn an_endpoint_without_encryption() {
    let api = api().await;
    unauthorised(setup(&api, "http://192.0.2.1/token").call(json!({})).await);
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn an_endpoint_with_credentials_in_its_address() {
    let (api, tokens) = (api().await, api().await);
    unauthorised(setup(&api, &format!("http://u:p@127.0.0.1:{}/token", tokens.port())).call(json!({})).await);
    assert!(tokens.received().is_empty());
}

#[tokio::test]
async fn an_endpoint_that_never_answers() {
    unreachable(without_token_in_time(Reply::silence()).await);
}

#[tokio::test]
async fn an_endpoint_that_answers_without_an_end() {
    let endless =
        Reply::raw("HTTP/1.1 200 OK\r\n\r\n{\"access_token\":\"").then_again("x".repeat(4096), Duration::ZERO);
    unauthorised(without_token(endless).await);
}

#[tokio::test]
async fn an_endpoint_that_answers_byte_by_byte() {
    let dripping =
        Reply::raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n").then_again(" ", Duration::from_millis(20));
    unauthorised(without_token_in_time(dripping).await);
}

#[tokio::test]
async fn an_endpoint_that_answers_with_a_page() {
    unauthorised(without_token(Reply::body(200, &[("content-type", "text/html")], "<html>access_token</html>")).await);
}

#[tokio::test]
async fn an_endpoint_that_answers_with_nested_brackets() {
    unauthorised(without_token(Reply::body(200, &[], "[".repeat(60_000))).await);
}

#[tokio::test]
async fn an_endpoint_that_repeats_the_secret_in_its_error() {
    let error = json!({"error": CLIENT_SECRET, "error_description": CLIENT_SECRET});
    unauthorised(without_token(Reply::json(400, &error)).await);
}

#[tokio::test]
async fn a_token_with_a_line_break() {
    unauthorised(without_token(Reply::json(200, &json!({"access_token": "t\r\nX-Admin: 1"}))).await);
}

#[tokio::test]
async fn a_token_that_is_no_text() {
    for token in [json!(null), json!(5), json!([]), json!({"a": 1}), json!("")] {
        unauthorised(without_token(Reply::json(200, &json!({"access_token": token}))).await);
    }
}

#[tokio::test]
async fn a_token_of_a_kind_that_is_not_borne() {
    unauthorised(without_token(Reply::json(200, &json!({"access_token": "t", "token_type": "mac"}))).await);
}

#[tokio::test]
async fn a_token_larger_than_any_header() {
    unauthorised(without_token(Reply::json(200, &json!({"access_token": "t".repeat(1_000_000)}))).await);
}

#[tokio::test]
async fn a_token_that_ended_before_it_was_given() {
    with_token(&json!({"access_token": "t1", "expires_in": -3600}), "t1").await;
}

#[tokio::test]
async fn a_token_that_lives_for_ever() {
    with_token(&json!({"access_token": "t1", "expires_in": 1e300}), "t1").await;
}

#[tokio::test]
async fn a_token_whose_life_is_no_number() {
    with_token(&json!({"access_token": "t1", "expires_in": {"seconds": []}}), "t1").await;
}

#[tokio::test]
async fn tokens_that_the_api_always_refuses() {
    let tokens = Server::scripted(|number, _| Reply::json(200, &json!({"access_token": format!("t{number}")}))).await;
    let api = Server::always(Reply::json(401, &json!({}))).await;
    let shop = setup(&api, &tokens.url("/token")).shop();
    for (asked, sent) in [(1, 1), (2, 3), (3, 5)] {
        assert_eq!(answered(shop.call(json!({})).await).status, 401);
        assert_eq!((tokens.received().len(), api.received().len()), (asked, sent));
    }
}

#[tokio::test]
async fn a_token_of_another_toolset_with_the_same_client() {
    let tokens = Server::scripted(|number, _| Reply::json(200, &json!({"access_token": format!("t{number}")}))).await;
    let api = api().await;
    let setup = setup(&api, &tokens.url("/token"));
    let executor = setup.executor();
    for name in ["one", "other", "one"] {
        answered(setup.shop_of(name, &executor).call(json!({})).await);
    }
    let used: Vec<_> =
        api.received().iter().map(|request| request.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(used, ["Bearer t0", "Bearer t1", "Bearer t0"]);
}

#[tokio::test]
async fn a_client_s_secret_never_reaches_the_api() {
    let tokens = Server::always(Reply::json(200, &json!({"access_token": "t"}))).await;
    let api = api().await;
    answered(setup(&api, &tokens.url("/token")).call(json!({})).await);
    let sent = format!("{:?}", api.only_request());
    // base64 of `me:canary-client-secret`
    assert!(!sent.contains("canary") && !sent.contains("bWU6Y2FuYXJ5LWNsaWVudC1zZWNyZXQ="), "{sent}");
}
