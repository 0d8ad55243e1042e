//! Whether a model returns calls as `tool_calls` is learned per model, can change at any time, and is visible to
//! operators.

use crate::support::answer::{one_call, text};
use crate::support::request::with_tools;
use crate::support::{Proxy, Received, Reply, Server, config};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

/// A call between reserved marks.
const WRITTEN: &str = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";

/// A model that makes calls natively, in text, or not at all, as the user requests.
fn obedient(_: usize, request: &Received) -> Reply {
    match request.last_message()["content"].as_str() {
        Some("native") => one_call("get_weather", PARIS),
        Some("text") => text(WRITTEN),
        _ => text("It is sunny."),
    }
}

async fn ask(proxy: &Proxy, model: &str, wish: &str, times: usize) {
    for _ in 0..times {
        let mut request = with_tools(wish);
        request["model"] = json!(model);
        proxy.client().chat(&request).await.ok();
    }
}

/// Returns a model's entry of `/admin/upstreams`.
async fn model(proxy: &Proxy, name: &str) -> Value {
    let shown = proxy.operator().get("/admin/upstreams").await.ok();
    let models = shown["upstreams"][0]["models"].as_array().unwrap().clone();
    models.into_iter().find(|model| model["model"] == name).unwrap_or(Value::Null)
}

async fn obedient_proxy(keys: &str) -> (Server, Proxy) {
    let upstream = Server::scripted(obedient).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + keys).await;
    (upstream, proxy)
}

#[tokio::test]
async fn it_is_learned_for_each_model_and_unlearned_again() {
    let (_upstream, proxy) = obedient_proxy("").await;
    ask(&proxy, "m", "text only", 2).await;
    assert_eq!(model(&proxy, "m").await, Value::Null, "no call shows nothing");
    ask(&proxy, "m", "native", 1).await;
    assert_eq!(model(&proxy, "m").await["delivers_calls"], false, "one native call decides nothing");
    ask(&proxy, "m", "native", 5).await;
    ask(&proxy, "other", "text", 1).await;
    let learned = model(&proxy, "m").await;
    assert_eq!((&learned["delivers_calls"], &learned["native_share"]), (&json!(true), &json!(1.0)));
    let other = model(&proxy, "other").await;
    assert_eq!((&other["delivers_calls"], &other["native_share"]), (&json!(false), &json!(0.0)));
    ask(&proxy, "m", "text", 1).await;
    assert_eq!(model(&proxy, "m").await["delivers_calls"], true, "nor does one rescued call");
    ask(&proxy, "m", "text", 12).await;
    let unlearned = model(&proxy, "m").await;
    assert_eq!(unlearned["delivers_calls"], false);
    let share = unlearned["native_share"].as_f64().unwrap();
    let metrics = proxy.metrics().await;
    let shown = metrics.sum("native_call_share", &[("model", "m"), ("upstream", "scripted")]);
    assert!(share > 0.0 && share < 0.5 && (shown - share).abs() < 1e-9, "{share} {shown}");
    ask(&proxy, "m", "native", 40).await;
    assert_eq!(model(&proxy, "m").await["delivers_calls"], true, "and it is learned again");
}

#[tokio::test]
async fn a_setting_pins_it_and_the_share_is_shown_all_the_same() {
    for (key, expected) in [("native", true), ("text", false)] {
        let (_upstream, proxy) = obedient_proxy(&format!("tool_calls = \"{key}\"\n")).await;
        ask(&proxy, "m", if expected { "text" } else { "native" }, 6).await;
        let learned = model(&proxy, "m").await;
        assert_eq!(
            (&learned["delivers_calls"], &learned["native_share"]),
            (&json!(expected), &json!(f64::from(u8::from(!expected))))
        );
        let shown = proxy.operator().get("/admin/upstreams").await.ok();
        let upstream = &shown["upstreams"][0];
        assert_eq!((&upstream["name"], &upstream["tool_calls"]), (&json!("scripted"), &json!(key)));
        assert_eq!((&upstream["circuit"], &upstream["in_flight"]), (&json!("closed"), &json!(0)));
    }
}

#[tokio::test]
async fn operators_see_models_that_write_calls_and_tools_that_fail() {
    let (_upstream, proxy) = obedient_proxy("").await;
    ask(&proxy, "writer", "text", 3).await;
    ask(&proxy, "caller", "native", 2).await;
    let metrics = proxy.metrics().await;
    let rescued = |model| metrics.sum("rescued_calls_total", &[("model", model), ("notation", "tool_call")]);
    assert_eq!((rescued("writer"), rescued("caller")), (3.0, 0.0));
    let judged = |model, verdict| metrics.sum("model_calls_total", &[("model", model), ("verdict", verdict)]);
    assert_eq!((judged("writer", "repaired"), judged("caller", "clean")), (3.0, 2.0));
    // The metric label has the name of the client's own tool, because it was offered.
    assert_eq!(metrics.sum("calls_judged_total", &[("tool", "get_weather")]), 5.0);
}

#[tokio::test]
async fn names_that_only_a_model_invents_are_no_labels() {
    let upstream = Server::replying(vec![one_call("invented_tool", "{}"), text("Sorry.")]).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    proxy.client().chat(&with_tools("Weather?")).await.ok();
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("calls_judged_total", &[("tool", "invented_tool")]), 0.0);
    assert_eq!(metrics.sum("calls_judged_total", &[("tool", "other"), ("verdict", "faulty")]), 1.0);
    let faults = metrics.sum("model_diagnoses_total", &[("model", "gpt-test"), ("upstream", "scripted")]);
    assert!(faults >= 1.0);
}
