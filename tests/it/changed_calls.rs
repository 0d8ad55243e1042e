//! "Why was this call changed?": an installation without any configuration of recording answers with names, locations
//! and types; values need recording.

use crate::support::answer::{call, calls, one_call};
use crate::support::request::{plain, with_tools};
use crate::support::verb::command;
use crate::support::{Proxy, Server, config};
use serde_json::{Value, json};

/// A call whose name, parameter and value are repaired.
const ARGUMENTS: &str = r#"{"city":"canary","Days":"3"}"#;

fn request() -> Value {
    let mut request = plain("Weather? canary");
    let schema = json!({"type": "object", "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
    request["tools"] = json!([{"type": "function", "function": {"name": "get_forecast", "parameters": schema}}]);
    request
}

/// Returns the output of `traces show` for a running proxy.
async fn shown(proxy: &Proxy, id: &str) -> String {
    let address = proxy.operator().url("").replace("http://", "");
    let mut command = command(proxy.directory(), &["traces", "show", id, "--operator", &address]);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Sends the request and returns the trace's id.
async fn repaired(proxy: &Proxy, headers: &[(&str, &str)]) -> String {
    let answer = proxy.client().chat_with(&request(), headers).await;
    assert_eq!((answer.verdict(), answer.header("x-callwright-outcome")), ("repaired", Some("call")));
    assert_eq!(answer.header("x-callwright-actions"), Some("repaired"));
    answer.header("x-callwright-trace").unwrap().to_owned()
}

#[tokio::test]
async fn a_default_installation_names_the_change_and_stores_no_value() {
    let upstream = Server::always(one_call("getForecast", ARGUMENTS)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let id = repaired(&proxy, &[]).await;
    let proxy = proxy.stop().await.start_again().await;
    let text = shown(&proxy, &id).await;
    for part in [
        "outcome call, actions: repaired",
        "CHANGED: tool_renamed get_forecast: getForecast → get_forecast",
        "CHANGED: parameter_renamed get_forecast/days: Days → days",
        "CHANGED: type_coerced get_forecast/days: string → integer",
        "`serve --record`",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("null") && !text.contains("canary"), "{text}");
    let page = proxy.operator().get("/admin/traces?finding=repair:type_coerced&tool=get_forecast").await.ok();
    assert_eq!(page["traces"][0]["id"], id.as_str(), "{page:#}");
    let overview = proxy.operator().get("/admin/overview").await.ok();
    assert_eq!(overview["tools"][0]["tool"], "get_forecast", "{overview:#}");
    let usage = proxy.operator().get("/admin/tools/usage").await.ok();
    let of_tool = usage["tools"].as_array().unwrap().iter().find(|tool| tool["tool"] == "get_forecast").unwrap();
    assert_eq!((&of_tool["repaired"], &of_tool["wrong"]), (&json!(1), &json!(0)), "{usage:#}");
}

#[tokio::test]
async fn an_operator_has_one_request_recorded() {
    let upstream = Server::always(one_call("getForecast", ARGUMENTS)).await;
    let token = "operator_token = \"operators-only\"\n";
    let configuration = config(&upstream.url("/v1")).replacen("[server]\n", &format!("[server]\n{token}"), 1);
    let proxy = Proxy::start(configuration).await;
    let full = ("x-callwright-record", "full");
    for headers in [&[full][..], &[full, ("x-callwright-operator-key", "wrong")]] {
        let answer = proxy.client().chat_with(&request(), headers).await;
        assert_eq!(answer.error(403)["code"], "record_not_allowed");
    }
    let odd = [("x-callwright-record", "yes"), ("x-callwright-operator-key", "operators-only")];
    assert_eq!(proxy.client().chat_with(&request(), &odd).await.error(400)["code"], "invalid_record_header");
    assert!(upstream.received().is_empty());
    let recorded = repaired(&proxy, &[full, ("x-callwright-operator-key", "operators-only")]).await;
    let other = repaired(&proxy, &[]).await;
    assert!(upstream.received().iter().all(|request| request.header("x-callwright-operator-key").is_none()));
    let stopped = proxy.stop().await;
    let proxy = stopped.start_again_as(config(&upstream.url("/v1"))).await;
    let text = shown(&proxy, &recorded).await;
    assert!(text.contains("\"3\" → 3") && text.contains("Weather? canary"), "{text}");
    assert!(!shown(&proxy, &other).await.contains("canary"));
}

#[tokio::test]
async fn changes_of_ids_and_of_the_number_of_calls_are_no_clean_turns() {
    let paris = r#"{"city":"Paris"}"#;
    let shared = calls(&[call("a", "get_weather", paris), call("a", "get_weather", r#"{"city":"Oslo"}"#)]);
    let upstream = Server::always(shared).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), answer.header("x-callwright-actions")), ("repaired", Some("repaired")));
    let upstream = Server::always(calls(&[
        call("a", "get_weather", paris),
        call("b", "get_weather", r#"{"city":"Oslo"}"#),
        call("c", "get_weather", r#"{"city":"Ulm"}"#),
    ]))
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let mut request = with_tools("Weather?");
    request["parallel_tool_calls"] = json!(false);
    let answer = proxy.client().chat(&request).await;
    assert_eq!((answer.verdict(), answer.header("x-callwright-actions")), ("repaired", Some("cut=2")));
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.verdict(), "clean");
}

#[tokio::test]
async fn a_model_that_gives_up_corrects_nothing() {
    let replies = [one_call("get_weather", "{}"), crate::support::answer::text("I cannot.")];
    let upstream = Server::replying(replies).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), answer.header("x-callwright-outcome")), ("text", Some("no_call")));
    assert_eq!(answer.header("x-callwright-actions"), Some("sent_back=1"));
}

#[tokio::test]
async fn an_error_of_the_provider_is_a_failure() {
    for status in [400_u16, 500] {
        let body = json!({"error": {"message": "no", "type": "t", "param": null, "code": null}});
        let upstream = Server::always(crate::support::Reply::json(status, &body)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!(answer.status, status);
        assert_eq!((answer.verdict(), answer.header("x-callwright-outcome")), ("failed", Some("upstream_failed")));
    }
}

#[tokio::test]
async fn a_call_whose_schema_was_not_compiled_is_unguarded() {
    let steps = |count: usize| -> Value {
        let step = |at: usize| (format!("s{at}"), json!({"$ref": format!("#/$defs/s{}", at + 1)}));
        let mut definitions: serde_json::Map<String, Value> = (0..count).map(step).collect();
        definitions.insert(format!("s{count}"), json!({"type": "string"}));
        json!({"type": "object", "properties": {"city": {"$ref": "#/$defs/s0"}}, "$defs": definitions})
    };
    let many: serde_json::Map<String, Value> =
        (0..20_000).map(|at| (format!("p{at}"), json!({"type": "string"}))).collect();
    let values: Vec<String> = (0..50_000).map(|at| format!("value {at}")).collect();
    let one = |city: Value| json!({"type": "object", "properties": {"city": city}});
    let schemas = [
        ("remote reference", one(json!({"$ref": "https://example.org/city.json"}))),
        ("reference without a target", one(json!({"$ref": "#/$defs/city"}))),
        ("100 steps", steps(100)),
        ("20,000 properties", json!({"type": "object", "properties": many})),
        ("50,000 values", one(json!({"enum": values}))),
        ("a constant of 1 MB", one(json!({"const": "x".repeat(1_000_000)}))),
    ];
    let upstream = Server::always(one_call("lookup", r#"{"city":"Paris"}"#)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let of_schema = |schema: &Value| {
        let mut request = plain("Weather?");
        request["tools"] = json!([{"type": "function", "function": {"name": "lookup", "parameters": schema}}]);
        request
    };
    for (what, schema) in &schemas {
        let answer = proxy.client().chat_with(&of_schema(schema), &[("x-callwright-debug", "true")]).await;
        assert_eq!(answer.verdict(), "unguarded", "{what}");
        assert_eq!(answer.json()["callwright"]["unjudged"], "schema", "{what}");
    }
    let counted = proxy.metrics().await.sum("unjudged_answers_total", &[("reason", "schema")]);
    assert_eq!(counted, schemas.len() as f64);
    let beside = json!({"type": "object", "properties": {"city": {"type": "string"}, "other": {"$ref": "https://example.org/x"}}});
    assert_eq!(proxy.client().chat(&of_schema(&beside)).await.verdict(), "clean", "the call has no value there");
}
