//! Tools of the catalog: the proxy executes their calls, alone and beside those of the client.

use serde_json::{Value, json};

use super::api::{APIS, Api, Part, call, text, thought};
use crate::support::{Proxy, Received, Reply, Server, rooms};

const PARIS: &str = r#"{"city":"Paris"}"#;
const FLOOR: &str = r#"{"floor":2}"#;
const AMBER: &str = r#"{"room":"Amber"}"#;

/// Starts an upstream that gives these answers one after the other, in the requested form.
async fn answering(api: Api, answers: Vec<Vec<Part>>) -> Server {
    Server::scripted(move |number, received| api.reply(received, &answers[number % answers.len()])).await
}

async fn rooms_api() -> Server {
    Server::scripted(|_, received| Reply::json(200, &json!({"from": received.target}))).await
}

async fn proxy_of(upstream: &Server, rooms_api: &Server) -> Proxy {
    Proxy::start_with_files(rooms::config_of(upstream, rooms_api), &rooms::FILES).await
}

/// Returns a request to the alias that offers the rooms.
fn ask(api: Api, mut request: Value) -> Value {
    request["model"] = json!("helper");
    request["stream"] = json!(false);
    let _ = api;
    request
}

/// Returns the results in a request: id of the call, text, and whether it failed.
fn results(api: Api, received: &Received) -> Vec<(String, String, bool)> {
    let string = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned();
    let blocks: Vec<Value> = match api {
        Api::Responses => api.conversation(received),
        Api::Messages => api
            .conversation(received)
            .iter()
            .filter_map(|message| message["content"].as_array())
            .flatten()
            .cloned()
            .collect(),
    };
    let result = |block: &Value| match block["type"].as_str() {
        Some("function_call_output") => Some((string(&block["call_id"]), string(&block["output"]), false)),
        Some("tool_result") => {
            Some((string(&block["tool_use_id"]), string(&block["content"]), block["is_error"] == true))
        }
        _ => None,
    };
    blocks.iter().filter_map(result).collect()
}

/// Returns the order of a conversation: roles or types, with the ids of calls and results.
fn order(api: Api, received: &Received) -> Vec<String> {
    let block = |block: &Value| {
        let id = ["call_id", "tool_use_id", "id"].iter().find_map(|key| block[*key].as_str()).unwrap_or_default();
        let kind = block["type"].as_str().unwrap_or("message");
        let id =
            if ["function_call", "function_call_output", "tool_use", "tool_result"].contains(&kind) { id } else { "" };
        format!("{kind} {id}").trim_end().to_owned()
    };
    let element = |element: &Value| match element["content"].as_array() {
        Some(blocks) if api == Api::Messages => {
            format!(
                "{}: {}",
                element["role"].as_str().unwrap(),
                blocks.iter().map(block).collect::<Vec<_>>().join(", ")
            )
        }
        _ if api == Api::Messages => element["role"].as_str().unwrap().to_owned(),
        _ => block(element),
    };
    api.conversation(received).iter().map(element).collect()
}

#[tokio::test]
async fn the_proxy_executes_and_the_client_sees_only_text() {
    for api in APIS {
        let upstream = answering(
            api,
            vec![
                vec![thought("Rooms?"), text("I look it up. "), call("ours_1", "listRooms", FLOOR)],
                vec![thought("Two."), text("Two rooms.")],
            ],
        )
        .await;
        let rooms_api = rooms_api().await;
        let proxy = proxy_of(&upstream, &rooms_api).await;
        let request = ask(api, api.plain("Which rooms?"));
        let plain = api.send(&proxy, &request).await;
        assert_eq!(plain.verdict(), "clean");
        assert_eq!(api.outline(&plain.ok()), ["thought Two.", "text Two rooms."], "{api:?}");
        if api == Api::Messages {
            assert_eq!(plain.ok()["stop_reason"], "end_turn");
        }
        let streamed = api.streamed(&proxy, &request).await;
        let texts: String = api.outline(&streamed).iter().filter_map(|part| part.strip_prefix("text ")).collect();
        assert!(texts.ends_with("Two rooms.") && !streamed.to_string().contains("listRooms"), "{api:?}: {streamed:#}");
        assert_eq!(rooms_api.received().len(), 2);
        let received = upstream.received();
        check_tools(api, &received[0]);
        for second in [&received[1], &received[3]] {
            let results = results(api, second);
            assert_eq!(results.len(), 1);
            assert!(
                results[0].0 == "ours_1" && results[0].1.contains("/rooms?floor=2") && !results[0].2,
                "{results:?}"
            );
            let order = order(api, second);
            let expected: &[&str] = match api {
                Api::Responses => {
                    &["message", "reasoning", "message", "function_call ours_1", "function_call_output ours_1"]
                }
                Api::Messages => &["user", "assistant: thinking, text, tool_use ours_1", "user: tool_result ours_1"],
            };
            assert_eq!(order, expected, "{api:?}");
        }
    }
}

/// Checks the tools of the catalog in a request.
fn check_tools(api: Api, received: &Received) {
    let tools = received.json()["tools"].as_array().cloned().unwrap();
    let list = tools.iter().find(|tool| tool["name"] == "listRooms").unwrap_or_else(|| panic!("{tools:#?}"));
    match api {
        Api::Responses => {
            assert_eq!(
                (&list["type"], &list["strict"]),
                (&json!("function"), &json!(false)),
                "tools are strict by default"
            );
            assert_eq!(list["parameters"]["required"], json!(["floor"]));
        }
        Api::Messages => {
            assert!(list.get("type").is_none(), "{list}");
            assert_eq!(list["input_schema"]["required"], json!(["floor"]));
        }
    }
    assert!(list["description"].as_str().unwrap().contains("Lists the rooms"));
}

#[tokio::test]
async fn the_clients_tools_stay_before_those_of_the_catalog() {
    for api in APIS {
        let upstream = answering(api, vec![vec![text("Hello.")]]).await;
        let rooms_api = rooms_api().await;
        let proxy = proxy_of(&upstream, &rooms_api).await;
        let request = ask(api, api.with_tools("Hello"));
        api.both(&proxy, &request).await;
        let tools = upstream.received()[0].json()["tools"].clone();
        let own = request["tools"].as_array().unwrap();
        assert_eq!(tools.as_array().unwrap()[..own.len()], **own, "{api:?}");
        let none = if api == Api::Responses { json!("none") } else { json!({"type": "none"}) };
        let mut request = request;
        request["tool_choice"] = none;
        api.send(&proxy, &request).await.ok();
        assert_eq!(upstream.last_request().json()["tools"], request["tools"], "{api:?}: the model may call nothing");
    }
}

#[tokio::test]
async fn a_failed_execution_is_explained_to_the_model() {
    for api in APIS {
        let upstream =
            answering(api, vec![vec![call("ours_1", "listRooms", FLOOR)], vec![text("The floor is closed.")]]).await;
        let refusal = json!({"code": 4711, "message": "no such floor"});
        let rooms_api = Server::always(Reply::json(400, &refusal)).await;
        let proxy = proxy_of(&upstream, &rooms_api).await;
        let answer = api.send(&proxy, &ask(api, api.plain("Which rooms?"))).await.ok();
        assert_eq!(api.outline(&answer), ["text The floor is closed."], "{api:?}");
        let results = results(api, &upstream.received()[1]);
        assert_eq!(results[0].2, api == Api::Messages, "{results:?}");
        assert!(results[0].1.contains("renovation"), "{results:?}");
    }
}

#[tokio::test]
async fn a_required_choice_holds_until_a_tool_was_executed() {
    for api in APIS {
        let upstream = answering(
            api,
            vec![
                vec![call("ours_1", "listRooms", "{}")],
                vec![call("ours_2", "listRooms", FLOOR)],
                vec![text("Two rooms.")],
            ],
        )
        .await;
        let rooms_api = rooms_api().await;
        let proxy = proxy_of(&upstream, &rooms_api).await;
        let mut request = ask(api, api.plain("Which rooms?"));
        let required = if api == Api::Responses { json!("required") } else { json!({"type": "any"}) };
        request["tool_choice"] = required.clone();
        let answer = api.send(&proxy, &request).await.ok();
        assert_eq!(api.outline(&answer), ["text Two rooms."], "{api:?}");
        let choices: Vec<Value> =
            upstream.received().iter().map(|received| received.json()["tool_choice"].clone()).collect();
        assert_eq!(choices[..2], [required.clone(), required], "feedback comes before any execution");
        assert!(choices[2].is_null() || choices[2] == "auto" || choices[2]["type"] == "auto", "{choices:?}");
    }
}

/// Returns an answer with calls of the proxy's tools before and after one of the client's.
fn mixed() -> Vec<Part> {
    vec![
        thought("Both."),
        text("I look."),
        call("ours_1", "listRooms", FLOOR),
        call("mine", "get_weather", PARIS),
        call("ours_2", "getRoom", AMBER),
    ]
}

/// Returns the client's next request after `answer`, with results for its own calls.
fn returned(api: Api, request: &Value, answer: &Value) -> Value {
    let mut next = request.clone();
    let conversation = next[api.conversation_key()].as_array_mut().unwrap();
    let parts = answer[api.parts_key()].as_array().unwrap().clone();
    match api {
        Api::Responses => {
            let calls: Vec<Value> = parts.iter().filter(|item| item["type"] == "function_call").cloned().collect();
            conversation.extend(parts);
            let output = |call: &Value| json!({"type": "function_call_output", "call_id": call["call_id"], "output": "It rains."});
            conversation.extend(calls.iter().map(output));
        }
        Api::Messages => {
            let calls: Vec<&Value> = parts.iter().filter(|block| block["type"] == "tool_use").collect();
            let result =
                |call: &&Value| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "It rains."});
            let results: Vec<Value> = calls.iter().map(result).collect();
            conversation.push(json!({"role": "assistant", "content": parts}));
            conversation.push(json!({"role": "user", "content": results}));
        }
    }
    next
}

#[tokio::test]
async fn the_client_gets_its_calls_and_the_model_later_sees_all() {
    for api in APIS {
        for is_stream in [false, true] {
            let upstream = answering(api, vec![mixed(), vec![text("Rain, and two rooms.")]]).await;
            let rooms_api = rooms_api().await;
            let proxy = proxy_of(&upstream, &rooms_api).await;
            let request = ask(api, api.with_tools("Both"));
            let first = match is_stream {
                true => api.streamed(&proxy, &request).await,
                false => api.send(&proxy, &request).await.ok(),
            };
            let expected = ["thought Both.", "text I look.", r#"call get_weather {"city":"Paris"}"#];
            assert_eq!(api.outline(&first), expected, "{api:?}");
            if api == Api::Messages {
                assert_eq!(first["stop_reason"], "tool_use");
            }
            assert_eq!(rooms_api.received().len(), 2);
            let next = returned(api, &request, &first);
            let second = match is_stream {
                true => api.streamed(&proxy, &next).await,
                false => api.send(&proxy, &next).await.ok(),
            };
            assert_eq!(api.outline(&second), ["text Rain, and two rooms."], "{api:?}");
            let received = upstream.last_request();
            let expected: &[&str] = match api {
                Api::Responses => &[
                    "message", "reasoning", "message", "function_call ours_1", "function_call mine",
                    "function_call ours_2", "function_call_output ours_1", "function_call_output ours_2",
                    "function_call_output mine",
                ],
                Api::Messages => &[
                    "user",
                    "assistant: thinking, text, tool_use ours_1, tool_use mine, tool_use ours_2",
                    "user: tool_result ours_1, tool_result ours_2, tool_result mine",
                ],
            };
            assert_eq!(order(api, &received), expected, "{api:?}");
            let found = results(api, &received);
            assert!(found[0].1.contains("/rooms?floor=2") && found[1].1.contains("/rooms/Amber"), "{found:?}");
            assert_eq!(rooms_api.received().len(), 2, "nothing is executed again");
        }
    }
}

#[tokio::test]
async fn executed_rounds_before_a_call_of_the_client_are_restored_too() {
    for api in APIS {
        let upstream = answering(
            api,
            vec![
                vec![thought("Rooms."), call("ours_1", "listRooms", FLOOR)],
                vec![thought("Weather."), call("mine", "get_weather", PARIS)],
                vec![text("Done.")],
            ],
        )
        .await;
        let rooms_api = rooms_api().await;
        let proxy = proxy_of(&upstream, &rooms_api).await;
        let request = ask(api, api.with_tools("Both"));
        let first = api.streamed(&proxy, &request).await;
        let expected = ["thought Rooms.", "thought Weather.", r#"call get_weather {"city":"Paris"}"#];
        assert_eq!(api.outline(&first), expected, "{api:?}");
        let second = api.send(&proxy, &returned(api, &request, &first)).await.ok();
        assert_eq!(api.outline(&second), ["text Done."], "{api:?}");
        let expected: &[&str] = match api {
            Api::Responses => &[
                "message", "reasoning", "function_call ours_1", "function_call_output ours_1", "reasoning",
                "function_call mine", "function_call_output mine",
            ],
            Api::Messages => &[
                "user", "assistant: thinking, tool_use ours_1", "user: tool_result ours_1",
                "assistant: thinking, tool_use mine", "user: tool_result mine",
            ],
        };
        assert_eq!(order(api, &upstream.last_request()), expected, "{api:?}");
        assert_eq!(rooms_api.received().len(), 1);
    }
}
