//! The kill switch, turned on over HTTP and by signal, for all turns and for one policy.

use crate::support::answer::one_call;
use crate::support::config::config;
use crate::support::request::with_tools;
use crate::support::{Proxy, Server, guarded};
use reqwest::Method;
use serde_json::{Value, json};

/// A call whose name a guarded turn would repair.
const CALL: (&str, &str) = ("getWeather", r#"{"city": "Oslo"}"#);

async fn throw(proxy: &Proxy, body: Value) -> Value {
    let headers = [("content-type", "application/json")];
    proxy.operator().send(Method::POST, "/admin/switch", &headers, body.to_string()).await.ok()
}

/// Returns the verdict on a turn with that call, and the name that the client receives.
async fn turn(proxy: &Proxy) -> (String, String) {
    let answer = proxy.client().chat(&with_tools("What is the weather in Oslo?")).await;
    let name = answer.message()["tool_calls"][0]["function"]["name"].as_str().unwrap().to_owned();
    (answer.verdict().to_owned(), name)
}

async fn is_guarded(proxy: &Proxy) -> bool {
    let (verdict, name) = turn(proxy).await;
    match (verdict.as_str(), name.as_str()) {
        ("repaired", "get_weather") => true,
        ("unguarded", "getWeather") => false,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn everything_or_one_policy_is_turned_off_and_on_over_http() {
    let upstream = Server::always(one_call(CALL.0, CALL.1)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    assert!(is_guarded(&proxy).await);
    let thrown = throw(&proxy, json!({"off": true, "reason": "an incident"})).await;
    assert_eq!(thrown["everything"]["reason"], "an incident");
    assert!(!is_guarded(&proxy).await);
    let ready = proxy.operator().get("/readyz").await;
    assert_eq!((ready.status.as_u16(), &ready.json()["degraded"][0]["part"]), (200, &json!("guard")));
    assert_eq!(proxy.metrics_now().await.sum("switched_off", &[]), 1.0);
    throw(&proxy, json!({"off": false})).await;
    assert!(is_guarded(&proxy).await);
    throw(&proxy, json!({"off": true, "policy": "strict"})).await;
    assert!(is_guarded(&proxy).await, "another policy");
    let thrown = throw(&proxy, json!({"off": true, "policy": "default"})).await;
    assert_eq!(thrown["policies"].as_object().unwrap().len(), 2);
    assert!(!is_guarded(&proxy).await);
    throw(&proxy, json!({"off": false, "policy": "default"})).await;
    assert!(is_guarded(&proxy).await);
    let modes: Vec<Value> = proxy.traces_after_stop().await.iter().map(|trace| trace["mode"].clone()).collect();
    assert_eq!(modes.iter().filter(|mode| *mode == "off").count(), 2, "{modes:?}");
}

#[tokio::test]
async fn signals_throw_it_too() {
    let upstream = Server::always(one_call(CALL.0, CALL.1)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for (signal, guarded_then) in [("USR1", false), ("USR2", true)] {
        proxy.signal(signal);
        guarded(signal, async {
            while is_guarded(&proxy).await != guarded_then {
                tokio::time::sleep(crate::support::POLL).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn what_is_no_order_is_refused_and_changes_nothing() {
    let upstream = Server::always(one_call(CALL.0, CALL.1)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let json_type = [("content-type", "application/json")];
    for body in ["", "[]", "{}", r#"{"off":"yes"}"#, r#"{"off":true,"policy":"nobody"}"#, r#"{"off":true,"of":"all"}"#]
    {
        let answer = proxy.operator().send(Method::POST, "/admin/switch", &json_type, body).await;
        assert_eq!(answer.status, 400, "{body}");
    }
    let long = json!({"off": true, "reason": "x".repeat(10_000)}).to_string();
    assert_eq!(proxy.operator().send(Method::POST, "/admin/switch", &json_type, long).await.status, 400);
    let plain = [("content-type", "text/plain")];
    assert_eq!(proxy.operator().send(Method::POST, "/admin/switch", &plain, r#"{"off":true}"#).await.status, 415);
    assert_eq!(proxy.operator().get("/admin/switch").await.ok(), json!({"everything": null, "policies": {}}));
    assert!(is_guarded(&proxy).await);
}
