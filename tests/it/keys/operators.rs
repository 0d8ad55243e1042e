//! The operators' credential, and operations on keys.

use reqwest::Method;
use serde_json::{Value, json};

use super::{JSON, Key, UPSTREAM_KEY, configuration, post};
use crate::support::answer::text;
use crate::support::config::config_with_server;
use crate::support::{Proxy, Reply, Server};

const TOKEN: &str = "operator-canary";

#[tokio::test]
async fn with_a_token_only_operators_see_and_change_anything() {
    let upstream = Server::always(text("hi")).await;
    let server = "operator_token = \"${OPERATOR_TOKEN}\"";
    let config = config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", server);
    let proxy = Proxy::start_with_environment(config, &[("OPERATOR_TOKEN", TOKEN)]).await;
    let closed = [
        (Method::GET, "/metrics"),
        (Method::GET, "/admin/traces"),
        (Method::GET, "/admin/keys"),
        (Method::POST, "/admin/keys"),
        (Method::POST, "/admin/switch"),
        (Method::POST, "/admin/approvals/x/approve"),
        (Method::GET, "/admin/lessons"),
    ];
    let right = format!("Bearer {TOKEN}");
    for (method, path) in &closed {
        for value in ["", "Bearer wrong", TOKEN, &format!("Basic {TOKEN}"), &format!("{right}x")] {
            let mut fields = vec![JSON];
            fields.extend((!value.is_empty()).then_some(("authorization", value)));
            let answer = proxy.operator().send(method.clone(), path, &fields, "{}").await;
            assert_eq!(answer.error(401)["code"], "invalid_operator_token", "{method} {path} {value:?}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
        let answer = proxy.operator().send(method.clone(), path, &[JSON, ("authorization", &right)], "{}").await;
        assert_ne!(answer.status, 401, "{method} {path}");
    }
    for open in ["/healthz", "/readyz", "/console", "/console/console.js"] {
        assert_eq!(proxy.operator().get(open).await.status, 200, "{open}");
    }
    assert_eq!(proxy.operator().get("/admin/nothing").await.status, 404);
    assert_eq!(proxy.client().get("/v1/models").await.status, 200, "the client side has its own credential");
    assert!(!proxy.stop().await.log().contains(TOKEN));
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_what_mends_it() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let ada = Key::create(&proxy, json!({"name": "ada"})).await;
    for body in [
        json!({}),
        json!({"name": ""}),
        json!({"name": "a b"}),
        json!({"name": "key_1"}),
        json!({"name": "x", "budget": -1.0}),
        json!({"name": "x", "expires_in_days": 36_501}),
        json!({"name": "x", "models": ["["]}),
        json!({"name": "x", "pass_through": ["/files"]}),
        json!({"name": "x", "group": "a/b"}),
        json!({"name": "x", "secret": "cw-own"}),
        json!({"name": "x", "requests_per_minute": "many"}),
        json!([]),
    ] {
        assert_eq!(post(&proxy, "/admin/keys", body.clone()).await.error(400)["code"], "invalid_body", "{body}");
    }
    assert_eq!(post(&proxy, "/admin/keys", json!({"name": "ada"})).await.error(409)["code"], "name_taken");
    let plain = proxy.operator().send(Method::POST, "/admin/keys", &[("content-type", "text/plain")], "{}").await;
    assert_eq!(plain.status, 415, "no page of somebody else's makes a key");
    assert_eq!(proxy.operator().get("/admin/keys/eve").await.error(404)["code"], "not_found");
    post(&proxy, "/admin/keys/eve/revoke", json!({})).await.error(404);
    let revoked = post(&proxy, "/admin/keys/ada/revoke", json!({})).await.ok();
    assert_eq!(revoked["state"], "revoked");
    ada.chat(&proxy).await.error(401);
    assert_eq!(post(&proxy, "/admin/keys/ada/rotate", json!({})).await.error(409)["code"], "key_revoked");
    let unknown = json!({"limits": 5}).to_string();
    let update = proxy.operator().send(Method::PATCH, "/admin/keys/ada", &[JSON], unknown).await;
    update.error(400);
    let list = |query: &'static str| {
        let proxy = &proxy;
        async move { proxy.operator().get(&format!("/admin/keys{query}")).await.ok()["keys"].as_array().unwrap().len() }
    };
    Key::create(&proxy, json!({"name": "bob", "group": "team"})).await;
    assert_eq!((list("").await, list("?state=active").await, list("?state=revoked").await), (2, 1, 1));
    assert_eq!((list("?group=team").await, list("?group=").await), (1, 1));
    proxy.operator().get("/admin/keys?state=lost").await.error(400);
}

#[tokio::test]
async fn a_proxy_that_would_be_open_or_useless_does_not_start() {
    let upstream = Server::always(text("hi")).await;
    let required = configuration(&upstream, "", "");
    let lacks_key = required.replace(&format!("api_key = \"{UPSTREAM_KEY}\"\n"), "");
    let told = Proxy::refusal(&lacks_key).await;
    assert!(told.contains("`upstreams.scripted.api_key` is empty"), "{told}");
    let no_store = required.replace("sqlite:traces.sqlite3", "");
    assert!(Proxy::refusal(&no_store).await.contains("set `store.url`"));
    let public = |keys: &str, server: &str| {
        let config = required.replace("\nlisten = \"127.0.0.1:0\"", "\nlisten = \"0.0.0.0:0\"");
        let config =
            config.replace("operator_listen = \"127.0.0.1:0\"", &format!("operator_listen = \"0.0.0.0:0\"\n{server}"));
        config.replace("mode = \"required\"", keys)
    };
    let both = Proxy::refusal(&public("", "")).await;
    assert!(both.contains("keys.mode = \"required\"") && both.contains("server.operator_token"), "{both}");
    let operator = Proxy::refusal(&public("mode = \"required\"", "")).await;
    assert!(!operator.contains("keys.mode") && operator.contains("server.operator_token"), "{operator}");
    let proxy = Proxy::start(public("mode = \"required\"", "operator_token = \"t\"")).await;
    drop(proxy);
}

#[tokio::test]
async fn the_doctor_says_whether_clients_can_come_in() {
    let upstream = Server::always(Reply::json(200, &json!({"data": []}))).await;
    let required = configuration(&upstream, "", "");
    let examined = async |proxy: &Proxy| {
        let folder = proxy.directory().to_owned();
        let told = move || super::verb(&folder, &["doctor", "--format", "json"]);
        let told = tokio::task::spawn_blocking(told).await.unwrap();
        let findings = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        findings
            .filter(|finding| finding["check"] == "keys")
            .map(|finding| finding["status"].clone())
            .collect::<Vec<_>>()
    };
    let proxy = Proxy::start(required.clone()).await;
    assert_eq!(examined(&proxy).await, ["warn"], "nobody has a key");
    Key::create(&proxy, json!({"name": "ada"})).await;
    assert_eq!(examined(&proxy).await, ["ok"]);
    let proxy = proxy.stop().await.start_again_as(required.replace("mode = \"required\"", "")).await;
    assert_eq!(examined(&proxy).await, ["warn"], "there is a key, and nobody needs it");
}

#[tokio::test]
async fn clients_bring_their_own_keys_where_none_are_required() {
    let upstream = Server::always(text("hi")).await;
    let config = crate::support::config(&upstream.url("/v1"));
    let proxy = Proxy::start(config).await;
    Key::create(&proxy, json!({"name": "ada", "requests_per_minute": 1})).await;
    for _ in 0..3 {
        let answer = proxy.client().chat(&super::plain("Hello")).await;
        assert_eq!((answer.status.as_u16(), answer.header("x-ratelimit-limit-requests")), (200, None));
    }
    assert_eq!(upstream.last_request().header("authorization"), Some("Bearer sk-client"));
    let traces: Vec<Value> = proxy.traces_after_stop().await;
    assert!(traces.iter().all(|trace| trace.get("key").is_none()));
}
