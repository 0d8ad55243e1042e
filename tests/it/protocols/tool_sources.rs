//! Tools that a request has in other places than its list: calls of them arrive as without the proxy, and faults in
//! those whose schema is known are found.

use serde_json::{Value, json};

use super::api::{Api, Part, call, text};
use crate::support::{Proxy, Received, Server, config};

/// Schema of the tools that are found.
fn customer() -> Value {
    json!({"type": "object", "properties": {"customer_id": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["customer_id"], "additionalProperties": false})
}

const RIGHT: &str = r#"{"customer_id":"c1","limit":5}"#;

/// Starts an upstream that gives `parts` once and then a text, and a proxy before it.
async fn answering(api: Api, parts: Vec<Part>) -> (Server, Proxy) {
    let script = move |_: usize, received: &Received| {
        let is_feedback = received.json().to_string().contains("was not run");
        if is_feedback { api.reply(received, &[text("I give up.")]) } else { api.reply(received, &parts) }
    };
    let upstream = Server::scripted(script).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    (upstream, proxy)
}

/// Sends a request in both ways, and returns the call in the answer. There is one request to the model for each.
async fn call_of(api: Api, request: &Value, name: &str, arguments: &str) -> String {
    let (upstream, proxy) = answering(api, vec![call("call_1", name, arguments)]).await;
    let [whole, streamed] = api.both(&proxy, request).await.map(|answer| api.outline(&answer));
    assert_eq!(whole, streamed, "{name}");
    assert_eq!(upstream.received().len(), 2, "nothing is sent back: {name} {arguments}");
    let sent = upstream.received()[0].json();
    assert_eq!((&sent["tools"], &sent["input"]), (&request["tools"], &request["input"]), "the request stays");
    whole.join("\n")
}

/// Checks that a call is sent back to the model.
async fn is_refused(api: Api, request: &Value, name: &str, arguments: &str) {
    let (upstream, proxy) = answering(api, vec![call("call_1", name, arguments)]).await;
    api.send(&proxy, request).await.ok();
    assert!(upstream.received().len() > 1, "{name} {arguments}");
}

/// Returns requests of Responses that have the tools `list_orders` and `ping` outside their list.
fn found_by_the_client() -> Vec<Value> {
    let tools = json!([
        {"type": "namespace", "name": "mcp__crm__", "description": "CRM", "tools": [Api::Responses.tool("list_orders", customer())]},
        Api::Responses.tool("ping", json!({"type": "object", "properties": {}, "additionalProperties": false})),
    ]);
    let search = json!({"type": "tool_search", "execution": "client", "description": "", "parameters": {}});
    let searched = json!({"model": "gpt-test", "tools": [search], "input": [
        {"role": "user", "content": "Orders of c1?"},
        {"type": "tool_search_call", "call_id": "s", "execution": "client", "status": "completed", "arguments": {"query": "orders"}},
        {"type": "tool_search_output", "call_id": "s", "execution": "client", "status": "completed", "tools": tools},
    ]});
    let item = json!({"type": "additional_tools", "role": "developer", "tools": tools});
    let additional = json!({"model": "gpt-test", "tools": [],
        "input": [item, {"role": "user", "content": "Orders of c1?"}]});
    let mut beside = Api::Responses.with_tools("Orders of c1?");
    beside["input"] = additional["input"].clone();
    vec![searched, additional, beside]
}

#[tokio::test]
async fn a_found_tool_is_judged_like_a_listed_one() {
    let api = Api::Responses;
    for request in found_by_the_client() {
        let right = format!("call list_orders {RIGHT}");
        assert_eq!(call_of(api, &request, "list_orders", RIGHT).await, right);
        assert_eq!(call_of(api, &request, "ping", "{}").await, "call ping {}");
        let qualified = call_of(api, &request, "mcp__crm__list_orders", RIGHT).await;
        assert_eq!(qualified, format!("call mcp__crm__list_orders {RIGHT}"), "the client knows both forms");
        is_refused(api, &request, "mcp__crm__list_orders", r#"{"limit":5}"#).await;
        for faulty in [r#"{"customerId":"c1","limit":5}"#, r#"{"customer_id":"c1","limit":"5"}"#] {
            assert_eq!(call_of(api, &request, "list_orders", faulty).await, right, "{faulty}");
        }
        is_refused(api, &request, "list_orders", r#"{"limit":5}"#).await;
        is_refused(api, &request, "ping", r#"{"cellId":"1"}"#).await;
    }
}

#[tokio::test]
async fn only_a_complete_set_refuses_an_unknown_name() {
    let api = Api::Responses;
    let [searched, additional, _] = <[Value; 3]>::try_from(found_by_the_client()).unwrap();
    is_refused(api, &additional, "cancel_order", RIGHT).await;
    assert_eq!(call_of(api, &searched, "cancel_order", "{\"x\": 1}").await, "call cancel_order {\"x\": 1}");
    for (member, value) in [("previous_response_id", json!("resp_0")), ("conversation", json!("conv_1"))] {
        let mut request = api.with_tools("Cancel it.");
        request[member] = value;
        assert_eq!(call_of(api, &request, "cancel_order", "{\"x\": 1}").await, "call cancel_order {\"x\": 1}");
        assert_eq!(
            call_of(api, &request, "getWeather", r#"{"city":"Ulm"}"#).await,
            r#"call get_weather {"city":"Ulm"}"#
        );
    }
    is_refused(api, &api.with_tools("Cancel it."), "cancel_order", "{}").await;
}

#[tokio::test]
async fn an_unknown_call_is_counted_and_noted_as_advice() {
    let mut request = Api::Responses.with_tools("Cancel it.");
    request["previous_response_id"] = json!("resp_0");
    let (_upstream, proxy) = answering(Api::Responses, vec![call("call_1", "cancel_order", "{}")]).await;
    assert_eq!(Api::Responses.send(&proxy, &request).await.verdict(), "clean");
    assert_eq!(proxy.metrics_now().await.sum("advice_total", &[("code", "E2")]), 1.0);
    let trace = proxy.traces_after_stop().await.remove(0);
    assert_eq!(trace["attempts"][0]["advice"][0]["code"], "E2");
    assert_eq!(trace["attempts"][0]["diagnoses"], json!([]));
}

#[tokio::test]
async fn a_deferred_tool_known_by_name_passes_without_a_suggestion() {
    let api = Api::Messages;
    let announced = "<system-reminder>\nDeferred:\nmcp__big__tool_5\nmcp__big__tool_7\nsleep\n</system-reminder>";
    let loaded = json!({"name": "mcp__big__tool_5", "defer_loading": true, "input_schema": customer()});
    let reminded = |role: &str, content: Value| {
        let mut request = api.with_tools("Use tool 7.");
        request["tools"].as_array_mut().unwrap().push(loaded.clone());
        request["messages"].as_array_mut().unwrap().insert(0, json!({"role": role, "content": content}));
        request
    };
    let mut in_system = reminded("user", json!("Hi"));
    in_system["system"] = json!([{"type": "text", "text": format!("# Tools\n{announced}")}]);
    let referenced = json!([{"type": "tool_result", "tool_use_id": "t", "content": [
        {"type": "tool_reference", "tool_name": "mcp__big__tool_7"}, {"type": "tool_reference", "tool_name": "sleep"}]}]);
    for (request, searches) in [
        (reminded("user", json!(announced)), false),
        (reminded("user", json!([{"type": "text", "text": announced}, {"type": "text", "text": "Hi"}])), false),
        (reminded("user", referenced), true),
        (in_system, false),
    ] {
        assert_eq!(call_of(api, &request, "mcp__big__tool_7", "{\"x\":1}").await, "call mcp__big__tool_7 {\"x\":1}");
        assert_eq!(call_of(api, &request, "sleep", "{}").await, "call sleep {}");
        let right = format!("call mcp__big__tool_5 {RIGHT}");
        assert_eq!(call_of(api, &request, "mcp__big__tool_5", RIGHT).await, right);
        let faulty = r#"{"customerId":"c1","limit":"5"}"#;
        assert_eq!(call_of(api, &request, "mcp__big__tool_5", faulty).await, right);
        is_refused(api, &request, "mcp__big__tool_5", "{}").await;
        if searches {
            // A client that searches for tools has others than those that it found.
            assert_eq!(call_of(api, &request, "mcp__big__tool_8", "{}").await, "call mcp__big__tool_8 {}");
        } else {
            is_refused(api, &request, "mcp__big__tool_8", "{}").await;
        }
    }
}

#[tokio::test]
async fn the_feedback_on_an_unknown_name_proposes_no_sibling() {
    let api = Api::Messages;
    let mut request = api.plain("Use it.");
    let names = ["tool_5", "update_row", "enable_alarm", "get_value"];
    request["tools"] = names.iter().map(|name| api.tool(name, customer())).collect();
    for name in ["tool_7", "delete_row", "disable_alarm", "set_value"] {
        let (upstream, proxy) = answering(api, vec![call("call_1", name, RIGHT)]).await;
        api.send(&proxy, &request).await.ok();
        let feedback = api.added(&upstream.received()[1]);
        assert!(!json!(feedback).to_string().contains("The closest is"), "{name}: {feedback:?}");
    }
}

#[tokio::test]
async fn tools_of_one_name_in_two_namespaces_are_both_right() {
    let api = Api::Responses;
    let other = json!({"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"], "additionalProperties": false});
    let mut request = api.plain("Search.");
    request["tools"] = json!([
        {"type": "namespace", "name": "mcp__a__", "description": "a", "tools": [api.tool("search", customer())]},
        {"type": "namespace", "name": "mcp__b__", "description": "b", "tools": [api.tool("search", other)]},
    ]);
    assert_eq!(call_of(api, &request, "search", RIGHT).await, format!("call search {RIGHT}"));
    let query = r#"{"query":"x","limit":5}"#;
    assert_eq!(call_of(api, &request, "search", query).await, format!("call search {query}"));
    let faulty = r#"{"query":"x","limit":"5"}"#;
    assert_eq!(call_of(api, &request, "search", faulty).await, format!("call search {query}"));
    is_refused(api, &request, "search", "{}").await;
}
