//! Credentials that could reach another toolset, another server, the model or a log.

use callwright_types::Outcome;
use serde_json::{Value, json};

use super::shop::{Setup, answered, refused, unauthorised, unreachable};
use crate::support::{Reply, Server};

const SECRET: &str = "canary-secret-4711";

fn bearer() -> Value {
    json!({"type": "http", "scheme": "bearer"})
}

fn key_in(location: &str) -> Value {
    json!({"type": "apiKey", "in": location, "name": "key"})
}

async fn api() -> Server {
    Server::always(Reply::json(200, &json!({}))).await
}

/// An API that repeats the whole request.
async fn echo(status: u16) -> Server {
    Server::scripted(move |_, received| {
        let fields: Vec<String> = received.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let text = format!("{} {}", received.target, fields.join("\n"));
        let link = format!("<{}>; rel=\"self\"", received.target);
        Reply::body(status, &[("link", &link)], text)
    })
    .await
}

fn holds(outcome: &Outcome, text: &str) -> bool {
    format!("{outcome:?}").contains(text)
}

#[tokio::test]
async fn of_two_toolsets_on_the_same_host() {
    let api = api().await;
    let mine = Setup::local(api.url("")).secured(bearer(), "mine");
    let yours = Setup::local(api.url("")).secured(bearer(), "yours");
    let executor = mine.executor();
    let (mine, yours) = (mine.shop_of("mine", &executor), yours.shop_of("yours", &executor));
    for shop in [&mine, &yours, &mine] {
        answered(shop.call(json!({})).await);
    }
    let sent: Vec<_> =
        api.received().iter().map(|request| request.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent, ["Bearer mine", "Bearer yours", "Bearer mine"].map(|text| Some(text.to_owned())));
}

#[tokio::test]
async fn of_a_toolset_beside_one_that_has_none() {
    let api = api().await;
    let mine = Setup::local(api.url("")).secured(bearer(), SECRET);
    let executor = mine.executor();
    let open = Setup::local(api.url("")).shop_of("open", &executor);
    answered(mine.shop_of("mine", &executor).call(json!({})).await);
    answered(open.call(json!({})).await);
    assert_eq!(api.received()[1].header("authorization"), None);
}

#[tokio::test]
async fn of_a_toolset_whose_neighbour_s_is_missing() {
    let api = api().await;
    let mine = Setup::local(api.url("")).secured(bearer(), SECRET);
    let executor = mine.executor();
    answered(mine.shop_of("mine", &executor).call(json!({})).await);
    let mut without = Setup::local(api.url("")).secured(bearer(), "");
    without.toolset.credentials.clear();
    unauthorised(without.shop_of("other", &executor).call(json!({})).await);
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn a_cookie_that_an_api_sets() {
    let api = Server::always(Reply::body(200, &[("set-cookie", "session=fixed; Path=/")], "{}")).await;
    let setup = Setup::local(api.url(""));
    let executor = setup.executor();
    for name in ["one", "other"] {
        let outcome = setup.shop_of(name, &executor).call(json!({})).await;
        assert!(!holds(&outcome, "session=fixed"), "{outcome:?}");
    }
    assert!(api.received().iter().all(|request| request.header("cookie").is_none()));
}

#[tokio::test]
async fn in_the_referer_of_a_redirect() {
    let api = Server::scripted(|number, _| match number {
        0 => Reply::body(302, &[("location", "/next")], ""),
        _ => Reply::json(200, &json!({})),
    })
    .await;
    answered(Setup::local(api.url("")).secured(key_in("query"), SECRET).call(json!({})).await);
    assert!(api.received().iter().all(|request| request.header("referer").is_none()));
}

#[tokio::test]
async fn in_an_answer_that_repeats_the_request() {
    for (scheme, secret) in
        [(bearer(), SECRET), (key_in("query"), SECRET), (key_in("header"), SECRET), (key_in("cookie"), SECRET)]
    {
        let outcome = Setup::local(echo(200).await.url("")).secured(scheme, secret).call(json!({})).await;
        assert!(!holds(&outcome, SECRET) && holds(&outcome, "***"), "{outcome:?}");
    }
}

#[tokio::test]
async fn in_an_answer_that_repeats_a_basic_credential() {
    let setup = Setup::local(echo(401).await.url(""));
    let setup = setup.secured(json!({"type": "http", "scheme": "basic"}), &format!("user:{SECRET}"));
    let outcome = setup.call(json!({})).await;
    // base64 of `user:canary-secret-4711`
    assert!(!holds(&outcome, "dXNlcjpjYW5hcnktc2VjcmV0LTQ3MTE="), "{outcome:?}");
}

#[tokio::test]
async fn at_the_end_of_an_answer_that_is_cut() {
    let filling = "x".repeat(super::shop::MAX_ANSWER_BYTES - 12);
    let api = Server::always(Reply::body(200, &[], format!("{filling}{SECRET}"))).await;
    let answer = answered(Setup::local(api.url("")).secured(bearer(), SECRET).call(json!({})).await);
    assert!(answer.truncated && !answer.text().contains("canary"), "{}", &answer.text()[answer.body.len() - 20..]);
}

#[tokio::test]
async fn in_a_next_page_s_address() {
    let api = Server::scripted(|_, received| {
        let link = format!("<{}&page=2>; rel=\"next\"", received.target);
        Reply::body(200, &[("link", &link)], "[1]")
    })
    .await;
    let setup = Setup::local(api.url("")).secured(key_in("query"), SECRET);
    let setup = setup.parameter(json!({"name": "page", "in": "query", "schema": {}}));
    let outcome = setup.call(json!({})).await;
    assert!(!holds(&outcome, SECRET), "{outcome:?}");
}

#[tokio::test]
async fn in_the_reason_why_nobody_was_reached() {
    let nobody = format!("http://{}", Server::refusing());
    let reason = unreachable(Setup::local(nobody).secured(key_in("query"), SECRET).call(json!({})).await);
    assert!(!reason.contains("canary"), "{reason}");
}

#[tokio::test]
async fn in_the_reason_why_a_connection_broke() {
    let api = Server::always(Reply::reset()).await;
    let outcome = Setup::local(api.url("")).secured(key_in("query"), SECRET).call(json!({})).await;
    assert!(!holds(&outcome, "canary"), "{outcome:?}");
}

#[tokio::test]
async fn in_the_reason_why_a_redirect_is_refused() {
    let api = Server::scripted(|_, received| {
        Reply::body(302, &[("location", &format!("http://evil.example{}", received.target))], "")
    })
    .await;
    let reason = refused(Setup::local(api.url("")).secured(key_in("query"), SECRET).call(json!({})).await);
    assert!(!reason.contains("canary"), "{reason}");
}

#[tokio::test]
async fn with_a_line_break_that_would_begin_another_field() {
    let api = api().await;
    let outcome = Setup::local(api.url("")).secured(bearer(), "canary\r\nX-Admin: 1").call(json!({})).await;
    assert!(!holds(&outcome, "canary"), "{outcome:?}");
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn in_a_server_s_address() {
    let api = api().await;
    answered(Setup::local(format!("http://user:{SECRET}@127.0.0.1:{}", api.port())).call(json!({})).await);
    let request = api.only_request();
    assert!(!format!("{request:?}").contains("canary"), "{request:?}");
}

#[tokio::test]
async fn that_an_api_asks_for_again_and_again() {
    let api = Server::always(Reply::body(401, &[("www-authenticate", "Basic realm=\"x\"")], "{}")).await;
    let answer = answered(Setup::local(api.url("")).secured(bearer(), SECRET).call(json!({})).await);
    assert_eq!((answer.status, api.received().len()), (401, 1));
}
