//! Keys of several proxies that share a PostgreSQL database, also while it is unavailable.

use callwright_test_macros::requires;
use serde_json::{Value, json};

use super::{Key, configuration_with_store, draft, post, usage, verb};
use crate::support::answer::text;
use crate::support::postgres::{self, Postgres};
use crate::support::request::plain;
use crate::support::{GUARD, Gate, POLL, Proxy, Server, guarded};

async fn proxy(upstream: &Server, url: &str) -> Proxy {
    Proxy::start(configuration_with_store(upstream, url, "", "[prices.gpt-test]\nprompt = 10000.0\n")).await
}

/// Waits until a proxy's entry of a key satisfies the condition.
async fn until(proxy: &Proxy, key: &str, is_so: impl Fn(&Value) -> bool) {
    let mut heard = String::new();
    let heard_it = async {
        loop {
            let answer = proxy.operator().get(&format!("/admin/keys/{key}")).await;
            if answer.status == 200 && is_so(&answer.json()) {
                return;
            }
            heard = answer.text();
            tokio::time::sleep(POLL).await;
        }
    };
    let is_over = tokio::time::timeout(GUARD, heard_it).await.is_err();
    assert!(!is_over, "the last that was heard: {heard}");
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_keys_and_what_they_use() {
    let url = postgres::database();
    let upstream = Server::always(text("hi")).await;
    let (one, other) = (proxy(&upstream, &url).await, proxy(&upstream, &url).await);
    let limits = json!({"requests_per_minute": 3, "budget": 10.0});
    let key = Key::create(&one, draft("ada", limits)).await;
    until(&other, "ada", |key| key["state"] == "active").await;
    assert_eq!(key.chat(&one).await.header("x-ratelimit-remaining-requests"), Some("2"));
    assert_eq!(key.chat(&one).await.header("x-ratelimit-remaining-requests"), Some("1"));
    until(&other, "ada", |key| key["usage"]["day"]["tokens"] == 50).await;
    assert_eq!(key.chat(&other).await.header("x-ratelimit-remaining-requests"), Some("0"), "of both together");
    key.chat(&other).await.error(429);
    until(&one, "ada", |key| key["usage"]["month"]["requests"] == 3).await;
    let refused = key.chat(&one).await;
    assert_eq!(refused.error(429)["type"], "requests");
    until(&one, "ada", |key| key["usage"]["month"]["tokens"] == 75).await;
    let spent = usage(&one, "ada").await["month"]["cost"].as_f64().unwrap();
    assert!((spent - 0.6).abs() < 1e-9, "{spent}");
    let second = Key::of(&post(&other, "/admin/keys/ada/rotate", json!({})).await.ok());
    guarded("the rotation reaches the other replica", async {
        while key.chat(&one).await.status != 401 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    assert_eq!(second.chat(&one).await.status, 429, "the same key, whatever its secret");
    one.stop().await;
    let shown: Value =
        serde_json::from_str(&verb(other.directory(), &["keys", "show", "ada", "--format", "json"])).unwrap();
    assert_eq!(shown["usage"]["month"]["tokens"], 75);
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn requests_at_a_time_are_counted_over_all_replicas() {
    let url = postgres::database();
    let gate = Gate::closed();
    let upstream = Server::always(text("hi").after(&gate)).await;
    let (mut one, other) = (proxy(&upstream, &url).await, proxy(&upstream, &url).await);
    let key = Key::create(&one, draft("ada", json!({"concurrent_requests": 1}))).await;
    until(&other, "ada", |key| key["state"] == "active").await;
    let waiting = one.client().begin_chat_with(&plain("Hello"), &[key.field()]).await;
    upstream.arrival_of(1).await;
    until(&other, "ada", |key| key["usage"]["under_way"] == 1).await;
    assert_eq!(key.chat(&other).await.error(429)["type"], "requests");
    waiting.leave().await;
    until(&other, "ada", |key| key["usage"]["under_way"] == 0).await;
    gate.open();
    assert_eq!(key.chat(&other).await.status, 200);
    one.kill();
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn only_known_keys_work_while_the_database_is_away() {
    let mut server = Postgres::start();
    let upstream = Server::always(text("hi")).await;
    let url = server.database();
    let running = proxy(&upstream, &url).await;
    let key = Key::create(&running, draft("ada", json!({"requests_per_minute": 2}))).await;
    assert_eq!(key.chat(&running).await.status, 200);
    server.stop();
    assert_eq!(key.chat(&running).await.status, 200);
    assert_eq!(key.chat(&running).await.status, 429, "limits hold by what the process knows");
    let unknown = Key { id: String::new(), secret: "cw-00000000-AAAA".to_owned() };
    unknown.chat(&running).await.error(401);
    assert_eq!(usage(&running, "ada").await["month"]["requests"], 2, "operators are told what is known");
    assert_eq!(post(&running, "/admin/keys", json!({"name": "bob"})).await.status, 503);

    let begun = proxy(&upstream, &url).await;
    assert_eq!(key.chat(&begun).await.error(503)["code"], "keys_unavailable");
    let ready = begun.operator().get("/readyz").await;
    assert_eq!(ready.status, 503);
    assert!(ready.text().contains("\"part\":\"keys\""), "{}", ready.text());
    server.start_again();
    guarded("keys are known", async {
        while begun.operator().get("/readyz").await.status != 200 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    until(&running, "ada", |key| key["usage"]["month"]["requests"] == 2).await;
    until(&begun, "ada", |key| key["usage"]["month"]["requests"] == 2).await;
}
