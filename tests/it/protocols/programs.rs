//! Calls that a program of the model made (`caller`): feedback goes back in the form that the program reads, to the
//! container in which it waits.

use serde_json::{Value, json};

use super::api::{APIS, Api, Part, call};
use super::sse;
use crate::support::{Proxy, Received, Reply, Server, config, policy, rooms};

const RIGHT: &str = r#"{"city":"Paris"}"#;

/// Returns the caller of a program's call.
fn caller(api: Api) -> Value {
    match api {
        Api::Responses => json!({"type": "program", "caller_id": "prog_1"}),
        Api::Messages => json!({"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}),
    }
}

/// Makes each call in an answer or event that of a program.
fn mark(api: Api, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mark(api, item)),
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| kind == "tool_use" || kind == "function_call") {
                members.insert("caller".to_owned(), caller(api));
            }
            members.values_mut().for_each(|member| mark(api, member));
        }
        _ => {}
    }
}

/// Replies with a call of a program. Messages: in a container that the answer states, in a stream with its last events.
fn reply(api: Api, received: &Received, parts: &[Part]) -> Reply {
    let container = json!({"id": "container_2", "expires_at": "2026-11-28T12:00:00Z"});
    if received.json()["stream"] == json!(true) {
        let mut events = api.events(parts);
        for event in &mut events {
            mark(api, event);
            if event["type"] == "message_delta" {
                event["delta"]["container"] = container.clone();
            }
        }
        return sse::reply(&events);
    }
    let mut answer = api.answer(parts);
    mark(api, &mut answer);
    if api == Api::Messages {
        answer["container"] = container;
    }
    Reply::json(200, &answer)
}

/// Starts an upstream that calls wrongly until it has got feedback `rounds` times.
async fn upstream_of(api: Api, rounds: usize) -> Server {
    Server::scripted(move |requests, received| {
        let arguments = if requests < rounds { r#"{"town":"Paris"}"# } else { RIGHT };
        reply(api, received, &[call("call_1", "get_weather", arguments)])
    })
    .await
}

/// Returns the choice that forbids calls.
fn closing_choice(api: Api) -> Value {
    match api {
        Api::Responses => json!("none"),
        Api::Messages => json!({"type": "none"}),
    }
}

fn check_results(api: Api, received: &Received) {
    let added = api.added(received);
    match api {
        Api::Responses => {
            assert!(!added.is_empty());
            for item in &added {
                assert_eq!((&item["type"], &item["caller"]), (&json!("function_call_output"), &caller(api)), "{item}");
                assert!(item["output"].is_string(), "{item}");
            }
        }
        Api::Messages => {
            assert_eq!(received.json()["container"], "container_2");
            for block in added.iter().flat_map(|message| message["content"].as_array().unwrap()) {
                assert_eq!((&block["type"], &block["is_error"]), (&json!("tool_result"), &json!(true)), "{block}");
                assert!(block["content"].is_string(), "{block}");
            }
        }
    }
}

#[tokio::test]
async fn feedback_goes_to_the_program_in_its_container() {
    for api in APIS {
        for is_stream in [false, true] {
            let upstream = upstream_of(api, 1).await;
            let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
            let mut request = api.with_tools("Weather?");
            if api == Api::Messages {
                request["container"] = json!({"id": "container_1", "skills": []});
            }
            let answer = match is_stream {
                true => api.streamed(&proxy, &request).await,
                false => api.send(&proxy, &request).await.json(),
            };
            assert_eq!(api.outline(&answer), [format!("call get_weather {RIGHT}")], "{api:?}");
            let made = answer[api.parts_key()].as_array().unwrap().last().unwrap();
            assert_eq!(made["caller"], caller(api), "{made}");
            let received = upstream.received();
            assert_eq!(received.len(), 2);
            assert_eq!(received[0].json()["container"], request["container"]);
            match api {
                Api::Responses => check_results(api, &received[1]),
                Api::Messages => {
                    let container = json!({"id": "container_2", "skills": []});
                    assert_eq!(received[1].json()["container"], container, "settings of the client stay");
                    assert_eq!(answer["container"]["id"], "container_2");
                }
            }
        }
    }
}

#[tokio::test]
async fn the_closing_request_has_no_text_beside_the_results() {
    for api in APIS {
        let upstream =
            Server::scripted(move |_, received| reply(api, received, &[call("call_1", "listRooms", "{}")])).await;
        // Only faulty calls of the proxy's own tools end in a closing request.
        let rooms_api = Server::always(Reply::json(200, &json!([]))).await;
        let rules = policy::file("short", "limits: {static_feedback: 1}");
        let files = [rooms::FILES[0], ("policies/short.yaml", &rules)];
        let config = rooms::config_of(&upstream, &rooms_api) + &policy::table("short");
        let proxy = Proxy::start_with_files(config, &files).await;
        let mut request = api.plain("Which rooms?");
        request["model"] = json!("helper");
        api.send(&proxy, &request).await;
        let received = upstream.received();
        assert_eq!(received.len(), 3, "the first request, feedback, and the closing request");
        received.iter().skip(1).for_each(|received| check_results(api, received));
        let [feedback, closing] = [1, 2].map(|request: usize| {
            let added = api.added(&received[request]);
            assert_eq!(added.len(), 1, "{added:#?}");
            let result = match api {
                Api::Responses => &added[0]["output"],
                Api::Messages => &added[0]["content"][0]["content"],
            };
            result.as_str().unwrap().to_owned()
        });
        assert_eq!(received[2].json()["tool_choice"], closing_choice(api));
        let text = closing.strip_prefix(&feedback).unwrap_or_else(|| panic!("{feedback}\n---\n{closing}"));
        assert!(text.starts_with("\n\n") && text.len() > 2, "the closing text follows the feedback: {closing}");
    }
}
