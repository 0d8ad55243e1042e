//! Every turn leaves a trace. A store that does not accept writes costs memory, but no responses.

use std::collections::BTreeSet;

use crate::support::answer::{self, call_chunks, one_call};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Proxy, Reply, Server, config, policy, rooms};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

#[tokio::test]
async fn every_turn_is_in_the_store_after_a_graceful_stop() {
    let upstream = Server::scripted(|number, received| match number % 4 {
        0 => answer::text("hi"),
        1 => Reply::json(429, &json!({"error": {"message": "no", "type": "t", "param": null, "code": null}})),
        2 => Reply::reset(),
        _ if received.json()["stream"] == true => Reply::events(&call_chunks(&[("a", "getWeather", PARIS)])),
        _ => one_call("getWeather", PARIS),
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let mut expected = Vec::new();
    for number in 0..40 {
        let request = if number % 8 < 4 { with_tools("Weather?") } else { streamed(with_tools("Weather?")) };
        // Another test covers an upstream that responds to a stream request with JSON.
        let request = if number % 4 == 0 { with_tools("Weather?") } else { request };
        let answer = proxy.client().chat(&request).await;
        expected.push((answer.header("x-callwright-trace").unwrap().to_owned(), answer.status.as_u16()));
    }
    let proxy = proxy.stop().await.start_again().await;
    for (id, status) in &expected {
        let trace = proxy.operator().get(&format!("/admin/traces/{id}")).await.ok();
        assert_eq!(trace["status"], *status, "{trace:#}");
    }
}

#[tokio::test]
async fn turns_side_by_side_are_all_recorded() {
    let upstream = Server::always(one_call("get_weather", PARIS)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let request = with_tools("Weather?");
    let turns = (0..200).map(|_| proxy.client().chat(&request));
    let answers = futures_util::future::join_all(turns).await;
    let ids: Vec<String> =
        answers.iter().map(|answer| answer.header("x-callwright-trace").unwrap().to_owned()).collect();
    let proxy = proxy.stop().await.start_again().await;
    for id in ids {
        proxy.operator().get(&format!("/admin/traces/{id}")).await.ok();
    }
}

#[tokio::test]
async fn a_trace_tells_what_happened() {
    let upstream = Server::replying([
        one_call("listRooms", "{}"),
        one_call("list_rooms", r#"{"floor":"5"}"#),
        one_call("listRooms", r#"{"floor":2}"#),
        answer::text("Two rooms."),
    ])
    .await;
    let api = Server::scripted(|number, _| {
        if number == 0 { Reply::json(400, &json!({"code": 4711})) } else { Reply::json(200, &json!([])) }
    })
    .await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let mut request = plain("Which rooms?");
    request["model"] = json!("helper");
    let answer = proxy.client().chat_with(&request, &[("x-callwright-session", "journey-1")]).await;
    let trace = proxy.traces_after_stop().await.remove(0);
    assert_eq!(trace["id"].as_str(), answer.header("x-callwright-trace"));
    for (member, value) in [
        ("session", json!("journey-1")),
        ("endpoint", json!("/v1/chat/completions")),
        ("model", json!("helper")),
        ("upstream", json!("scripted")),
        ("mode", json!("guard")),
        ("stream", json!(false)),
        ("status", json!(200)),
        ("usage", json!({"prompt_tokens": 80, "completion_tokens": 20, "total_tokens": 100})),
    ] {
        assert_eq!(trace[member], value, "{member}: {trace:#}");
    }
    let of_each = |list: &str, member: &str| -> Vec<Value> {
        trace[list].as_array().unwrap().iter().map(|entry| entry[member].clone()).collect()
    };
    assert_eq!(of_each("attempts", "purpose"), ["first", "static_feedback", "dynamic_feedback", "tool_results"]);
    assert_eq!(of_each("attempts", "verdict"), ["faulty", "repaired", "clean", "text"]);
    assert_eq!(trace["attempts"][0]["diagnoses"][0]["code"], "E3.4");
    assert_eq!(trace["attempts"][1]["repairs"].as_array().unwrap().len(), 2);
    assert_eq!(of_each("executions", "outcome"), ["client_error", "success"]);
    assert_eq!(trace["executions"][0]["operation"], "GET /rooms");
    assert!(trace["executions"][0]["explanation"].to_string().contains("renovation"), "{trace:#}");
    assert_eq!(of_each("record", "kind"), ["static", "dynamic"]);
}

#[tokio::test]
async fn bodies_are_stored_where_policy_says_so_and_nowhere_else() {
    for (rules, stored) in [("record: {bodies: false}", false), ("record: {bodies: true}", true)] {
        let upstream = Server::replying([
            one_call("get_weather", r#"{"days":3}"#),
            one_call("get_weather", r#"{"city":"answer-marker"}"#),
        ])
        .await;
        let config = config(&upstream.url("/v1")) + &policy::table("ruled");
        let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", rules))]).await;
        proxy.client().chat(&with_tools("question-marker")).await.ok();
        let trace = proxy.traces_after_stop().await.remove(0).to_string();
        assert_eq!(trace.contains("question-marker"), stored, "{trace}");
        assert_eq!(trace.contains("answer-marker"), stored, "{trace}");
    }
}

#[tokio::test]
async fn keys_are_in_no_trace_and_no_log() {
    let upstream = Server::always(one_call("get_weather", PARIS)).await;
    let keyed = config(&upstream.url("/v1")) + "api_key = \"sk-operator\"\n" + &policy::table("ruled");
    let proxy =
        Proxy::start_with_files(keyed, &[("policies/ruled.yaml", &policy::file("ruled", "record: {bodies: true}"))])
            .await;
    proxy.client().chat(&with_tools("Weather?")).await.ok();
    let stopped = proxy.stop().await;
    let log = stopped.log();
    let stored = std::fs::read(stopped.directory().join("traces.sqlite3")).unwrap();
    let stored = String::from_utf8_lossy(&stored);
    for key in ["sk-operator", "sk-client"] {
        assert!(!log.contains(key) && !stored.contains(key), "{key}");
    }
}

/// Checks that requests are served, the proxy is ready, and both `/readyz` and a metric report the store's failure.
async fn check_degraded(store: &str) {
    let upstream = Server::always(one_call("getWeather", PARIS)).await;
    let proxy = Proxy::start(crate::support::config::config_with_store(&upstream.url("/v1"), store)).await;
    for _ in 0..3 {
        assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.verdict(), "repaired");
    }
    let ready = proxy.operator().get("/readyz").await;
    assert_eq!(ready.status, 200);
    let body = ready.text();
    assert_eq!(ready.json()["degraded"][0]["part"], "store", "{body}");
    assert!(ready.json()["degraded"][0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{body}");
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("store_up", &[]), 0.0);
    proxy.stop().await;
}

#[tokio::test]
async fn an_unwritable_store_costs_no_answer() {
    check_degraded("sqlite:/proc/callwright/traces.sqlite3").await;
}

#[tokio::test]
async fn a_store_that_is_no_database_costs_no_answer() {
    check_degraded("sqlite:callwright.toml").await;
}

#[tokio::test]
async fn a_sound_store_is_not_called_degraded() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    proxy.client().chat(&plain("Hello")).await.ok();
    let ready = proxy.operator().get("/readyz").await;
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json()["degraded"], json!([]));
    assert_eq!(proxy.metrics().await.sum("store_up", &[]), 1.0);
    assert_eq!(proxy.metrics().await.sum("traces_dropped_total", &[]), 0.0);
}

#[tokio::test]
async fn without_a_store_the_proxy_is_a_plain_proxy() {
    let upstream = Server::always(one_call("getWeather", PARIS)).await;
    let proxy = Proxy::start(crate::support::config::config_with_store(&upstream.url("/v1"), "")).await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.verdict(), "repaired");
    assert_eq!(proxy.operator().get("/readyz").await.status, 200);
    proxy.stop().await;
}

#[tokio::test]
async fn the_operators_side_answers_the_operators_questions() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    assert_eq!(proxy.operator().get("/healthz").await.status, 200);
    assert_eq!(proxy.operator().get("/admin/traces/0123").await.status, 404);
    for query in ["limit=x", "no_such=1", "cursor=%00"] {
        proxy.operator().get(&format!("/admin/traces?{query}")).await.error(400);
    }
    assert_eq!(proxy.operator().get("/v1/models").await.status, 404, "models are the client side's");
    proxy.client().chat(&plain("Hello")).await.ok();
    let metrics = proxy.operator().get("/metrics").await;
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain"), "{:?}", metrics.headers);
    let sum = proxy.metrics().await.sum("requests_total", &[("endpoint", "/v1/chat/completions"), ("status", "200")]);
    assert_eq!(sum, 1.0);
    assert_eq!(proxy.metrics().await.sum("tokens_total", &[]), 25.0);
}

#[tokio::test]
async fn labels_stay_few_whatever_names_come() {
    let upstream = Server::scripted(|number, _| one_call(&format!("made_up_{number}"), "{}")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    // More models than have separate series.
    for number in 0..120 {
        let mut request = with_tools("Weather?");
        request["model"] = json!(format!("model-{number}"));
        proxy.client().chat(&request).await.ok();
        proxy.client().get(&format!("/v1/odd/{number}")).await;
    }
    let text = proxy.operator().get("/metrics").await.text();
    for name in ["made_up_3", "odd/3"] {
        assert!(!text.contains(name), "{name} is a label");
    }
    let models: BTreeSet<&str> = text.split("model=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(models.contains("other") && models.len() <= 101, "{models:?}");
}
