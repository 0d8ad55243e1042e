//! Plans: the proxy executes planned calls, and gives those of the client's tools in the form of the protocol.

use serde_json::{Value, json};

use super::api::{APIS, Api, text};
use crate::support::office::{self, RULES};
use crate::support::planning::{self, Task};
use crate::support::{Proxy, Server, config};

const REQUEST: &str = "Book a room for Jack from 9 to 10";

#[tokio::test]
async fn planned_calls_are_executed_and_the_model_reads_their_results() {
    for api in APIS {
        for is_stream in [false, true] {
            let task = || office::meeting("Jack", ("09:00", "from 9"), ("10:00", "to 10"));
            let script = move |_: usize, received: &_| api.reply(received, &[text("Rome is booked for Jack.")]);
            let upstream = planning::upstream(move |_| task(), script).await;
            let office_api = Server::scripted(|_, received| office::api(received)).await;
            let proxy = office::proxy(&upstream, &office_api, RULES).await;
            let mut request = api.plain(REQUEST);
            request["model"] = json!("helper");
            let answer = match is_stream {
                true => api.streamed(&proxy, &request).await,
                false => api.send(&proxy, &request).await.ok(),
            };
            assert_eq!(api.outline(&answer), ["text Rome is booked for Jack."], "{api:?}");
            assert_eq!(office_api.received().len(), 3, "{api:?}");
            let (_, others) = planning::split(&upstream);
            assert_eq!(others.len(), 1, "{api:?}: the model makes none of the calls");
            let sent = others[0].text();
            assert!(sent.contains("booked") && sent.contains("R72"), "{api:?}: {sent}");
        }
    }
}

/// Returns the client's tools.
fn tools(api: Api) -> Value {
    let tool = |name: &str, parameters: &[&str]| {
        let properties: serde_json::Map<String, Value> = parameters
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "string", "description": name})))
            .collect();
        api.tool(name, json!({"type": "object", "properties": properties, "required": parameters}))
    };
    json!([
        tool("find_person", &["name"]),
        tool("find_room", &["start", "end"]),
        tool("book_room", &["person_id", "room_id", "start", "end"]),
    ])
}

fn meeting() -> Task {
    let times = ["book_room", "find_room"];
    let time = |tool| [(tool, "start", json!("09:00"), "from 9"), (tool, "end", json!("10:00"), "to 10")];
    let mut values: Vec<_> = times.into_iter().flat_map(time).collect();
    values.push(("find_person", "name", json!("Jack"), "Jack"));
    Task {
        goals: vec![("book_room", "book a room for Jack")],
        values,
        outputs: vec![
            ("book_room", "person_id", "find_person", "/id", None),
            ("book_room", "room_id", "find_room", "/id", None),
        ],
        choice: None,
    }
}

/// Returns the client's next request, with the results of its calls.
fn returned(api: Api, request: &Value, answer: &Value) -> Value {
    let mut next = request.clone();
    let parts = answer[api.parts_key()].as_array().unwrap();
    let result = |part: &Value| match part["name"].as_str().unwrap() {
        "find_person" => r#"{"id": "P-Jack"}"#,
        "find_room" => r#"{"id": "R-7"}"#,
        _ => "booked",
    };
    let conversation = next[api.conversation_key()].as_array_mut().unwrap();
    match api {
        Api::Responses => {
            conversation.extend(parts.iter().cloned());
            conversation.extend(parts.iter().map(
                |call| json!({"type": "function_call_output", "call_id": call["call_id"], "output": result(call)}),
            ));
        }
        Api::Messages => {
            conversation.push(json!({"role": "assistant", "content": parts}));
            let results = parts
                .iter()
                .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": result(call)}));
            conversation.push(json!({"role": "user", "content": results.collect::<Vec<_>>()}));
        }
    }
    next
}

#[tokio::test]
async fn planned_calls_of_the_client_are_answers_of_the_protocol() {
    for api in APIS {
        for is_stream in [false, true] {
            let script = move |_: usize, received: &_| api.reply(received, &[text("Room R-7 is booked.")]);
            let upstream = planning::upstream(|_| meeting(), script).await;
            let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
            let mut request = api.plain(REQUEST);
            request["tools"] = tools(api);
            let answered = async |request: &Value| match is_stream {
                true => api.streamed(&proxy, request).await,
                false => api.send(&proxy, request).await.ok(),
            };
            let first = answered(&request).await;
            let mut calls = api.outline(&first);
            calls.sort();
            let expected = [r#"call find_person {"name":"Jack"}"#, r#"call find_room {"start":"09:00","end":"10:00"}"#];
            assert_eq!(calls, expected, "{api:?}");
            let request = returned(api, &request, &first);
            let second = answered(&request).await;
            let expected = r#"call book_room {"person_id":"P-Jack","room_id":"R-7","start":"09:00","end":"10:00"}"#;
            assert_eq!(api.outline(&second), [expected], "{api:?}");
            if api == Api::Messages {
                assert_eq!((&first["stop_reason"], &second["stop_reason"]), (&json!("tool_use"), &json!("tool_use")));
            }
            let third = answered(&returned(api, &request, &second)).await;
            assert_eq!(api.outline(&third), ["text Room R-7 is booked."], "{api:?}");
        }
    }
}
