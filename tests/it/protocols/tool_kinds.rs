//! Tools and parts that the proxy does not judge stay as they came, in their place.

use serde_json::{Value, json};

use super::api::{APIS, Api, Part, call, text, thought};
use crate::support::{Proxy, Server, config};

/// Returns parts that are not judged: calls of hosted, custom and typed tools, and their results.
fn unjudged(api: Api) -> Vec<Value> {
    match api {
        Api::Responses => vec![
            json!({"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}),
            json!({"id": "mcp_1", "type": "mcp_call", "server_label": "s", "name": "getWeather", "arguments": "{}", "output": "rain", "error": null}),
            json!({"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "call_c", "name": "sql", "input": "select 'getWeather'"}),
            json!({"id": "lsh_1", "type": "local_shell_call", "status": "completed", "call_id": "call_s", "action": {"type": "exec", "command": ["ls"], "env": {}}}),
            json!({"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "AAAA"}),
        ],
        Api::Messages => vec![
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}),
            json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
            json!({"type": "tool_use", "id": "toolu_b", "name": "bash", "input": {"command": "ls"}}),
            json!({"type": "redacted_thinking", "data": "EmwK"}),
            json!({"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "getWeather", "server_name": "s", "input": {}}),
        ],
    }
}

/// Returns the elements of `tools` for them.
fn tools(api: Api) -> Vec<Value> {
    match api {
        Api::Responses => vec![
            json!({"type": "web_search"}),
            json!({"type": "mcp", "server_label": "s", "server_url": "https://mcp.example", "require_approval": "never"}),
            json!({"type": "custom", "name": "sql", "format": {"type": "text"}}),
            json!({"type": "local_shell"}),
            json!({"type": "x_new_tool", "x": 1.5}),
        ],
        Api::Messages => vec![
            json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 5}),
            json!({"type": "bash_20250124", "name": "bash"}),
            json!({"type": "x_new_tool_20300101", "name": "x_new", "x": 1.5}),
        ],
    }
}

fn request(api: Api) -> Value {
    let mut request = api.with_tools("Weather?");
    request["tools"].as_array_mut().unwrap().extend(tools(api));
    request
}

#[tokio::test]
async fn they_stay_around_a_repaired_call() {
    for api in APIS {
        let mut parts: Vec<Part> = unjudged(api).into_iter().map(Part::Other).collect();
        parts.insert(0, thought("Rain?"));
        parts.insert(3, call("call_w", "getWeather", r#"{"city":"Paris"}"#));
        parts.insert(4, text("Then."));
        let mut expected = parts.clone();
        expected[3] = call("call_w", "get_weather", r#"{"city":"Paris"}"#);
        let upstream = Server::scripted(move |_, received| api.reply(received, &parts)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let request = request(api);
        for answer in api.both(&proxy, &request).await {
            assert_eq!(answer[api.parts_key()], api.answer(&expected)[api.parts_key()], "{api:?}");
        }
        assert_eq!(upstream.received()[0].json(), request, "the client's tools stay as sent");
    }
}

#[tokio::test]
async fn alone_they_pass_as_they_came() {
    for api in APIS {
        let parts: Vec<Part> = unjudged(api).into_iter().map(Part::Other).collect();
        let events = api.events(&parts);
        let upstream = Server::scripted(move |_, received| api.reply(received, &parts)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        assert_eq!(api.stream_events(&proxy, &request(api)).await, events, "{api:?}");
        let upstream = upstream.received();
        assert_eq!(upstream.len(), 1);
    }
}

#[tokio::test]
async fn a_choice_of_a_hosted_tool_reaches_the_upstream() {
    for api in APIS {
        let parts = [text("It rains.")];
        let upstream = Server::scripted(move |_, received| api.reply(received, &parts)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let mut request = request(api);
        request["tool_choice"] = match api {
            Api::Responses => json!({"type": "web_search"}),
            Api::Messages => json!({"type": "tool", "name": "web_search"}),
        };
        for answer in api.both(&proxy, &request).await {
            assert_eq!(api.outline(&answer), ["text It rains."], "{api:?}");
        }
        assert_eq!(upstream.received()[0].json(), request);
        assert_eq!(upstream.received().len(), 2, "{api:?}: no call of a function is requested");
    }
}

#[tokio::test]
async fn functions_in_a_namespace_are_judged() {
    let api = Api::Responses;
    let mut part = json!({"id": "fc_0", "type": "function_call", "status": "completed", "call_id": "call_w", "namespace": "weather",
        "name": "getWeather", "arguments": r#"{"city":"Paris"}"#});
    let wrong = part.clone();
    let upstream = Server::scripted(move |_, received| {
        let mut answer = api.answer(&[]);
        answer["output"] = json!([wrong.clone()]);
        assert!(!super::api::is_stream(received));
        crate::support::Reply::json(200, &answer)
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let mut request = api.plain("Weather?");
    let tool = api.with_tools("")["tools"][0].clone();
    request["tools"] = json!([{"type": "namespace", "name": "weather", "description": "d", "tools": [tool]}]);
    part["name"] = json!("get_weather");
    assert_eq!(api.send(&proxy, &request).await.ok()["output"], json!([part]));
    assert_eq!(upstream.only_request().json(), request);
}
