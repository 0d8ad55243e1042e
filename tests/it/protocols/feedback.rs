//! Answers that only the model can correct: the form of the feedback request, and the one stream that the client gets.

use serde_json::{Value, json};

use super::api::{APIS, Api, Part, call, text, thought};
use crate::support::{Proxy, Received, Server, config, policy};

const PARIS: &str = r#"{"city":"Paris"}"#;
const ROME: &str = r#"{"city":"Rome"}"#;

/// Starts an upstream that gives `first`, and `second` once it gets feedback.
async fn corrected(api: Api, first: Vec<Part>, second: Vec<Part>) -> (Server, Proxy) {
    let script = move |_: usize, received: &Received| {
        api.reply(received, if api.is_continued(received) { &second } else { &first })
    };
    let upstream = Server::scripted(script).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    (upstream, proxy)
}

/// Checks the feedback request: the conversation, the answer as it came, and one result for every call. Returns the
/// results.
fn check_feedback(api: Api, request: &Value, first: &[Part], received: &Received) -> Vec<Value> {
    let conversation = api.conversation(received);
    let before = request[api.conversation_key()].as_array().unwrap();
    assert_eq!(conversation[..before.len()], **before, "the client's conversation stays");
    let added = &conversation[before.len()..];
    let answer = api.answer(first);
    let parts = answer[api.parts_key()].as_array().unwrap();
    match api {
        Api::Responses => {
            assert_eq!(added[..parts.len()], **parts, "every item goes back as it came, reasoning before its call");
            added[parts.len()..].to_vec()
        }
        Api::Messages => {
            assert_eq!(added.len(), 2, "one answer and one user message: {added:#?}");
            assert_eq!(added[0], json!({"role": "assistant", "content": parts}));
            assert_eq!(added[1]["role"], "user");
            added[1]["content"].as_array().unwrap().clone()
        }
    }
}

/// Checks that a result is the feedback on this call.
fn check_result(api: Api, result: &Value, id: &str, kind: &str) -> String {
    let (id_key, text_key) = match api {
        Api::Responses => ("call_id", "output"),
        Api::Messages => ("tool_use_id", "content"),
    };
    assert_eq!((&result["type"], &result[id_key]), (&json!(kind), &json!(id)), "{result}");
    if api == Api::Messages {
        assert_eq!(result["is_error"], true, "{result}");
    } else {
        assert_eq!(result.as_object().unwrap().len(), 3, "no other members: {result}");
    }
    result[text_key].as_str().unwrap().to_owned()
}

fn result_kind(api: Api) -> &'static str {
    if api == Api::Responses { "function_call_output" } else { "tool_result" }
}

#[tokio::test]
async fn a_missing_parameter_and_an_unknown_tool_are_fed_back() {
    for api in APIS {
        for (wrong, told) in [
            (call("call_1", "get_weather", "{}"), "city"),
            (call("call_1", "launch_rocket", r#"{"target":"moon"}"#), "launch_rocket"),
        ] {
            let first = vec![thought("Rain?"), wrong];
            let second = vec![thought("The city."), call("call_2", "get_weather", PARIS)];
            let (upstream, proxy) = corrected(api, first.clone(), second).await;
            let request = api.with_tools("Weather?");
            let plain = api.send(&proxy, &request).await;
            assert_eq!((plain.verdict(), plain.header("x-callwright-attempts")), ("corrected", Some("2")));
            let streamed = api.streamed(&proxy, &request).await;
            let expected = ["thought Rain?", "thought The city.", r#"call get_weather {"city":"Paris"}"#];
            assert_eq!(api.outline(&plain.ok()), expected[1..], "{api:?}");
            assert_eq!(api.outline(&streamed), expected, "{api:?}: reasoning is live");
            let received = upstream.received();
            assert_eq!(received.len(), 4);
            for feedback in [&received[1], &received[3]] {
                let results = check_feedback(api, &request, &first, feedback);
                assert_eq!(results.len(), 1, "{results:#?}");
                let said = check_result(api, &results[0], "call_1", result_kind(api));
                assert!(said.contains(told), "{said}");
                assert_eq!(feedback.json()["tools"], request["tools"]);
            }
        }
    }
}

#[tokio::test]
async fn text_that_the_client_has_is_continued_as_one_stream() {
    for api in APIS {
        let first = vec![thought("Rain?"), text("I look it up."), call("call_1", "get_weather", "{}")];
        let second = vec![thought("The city."), text("I look it up. In Paris."), call("call_2", "get_weather", PARIS)];
        let (_upstream, proxy) = corrected(api, first, second.clone()).await;
        let request = api.with_tools("Weather?");
        let plain = api.send(&proxy, &request).await.ok();
        assert_eq!(api.outline(&plain).len(), 3);
        let events = api.stream_events(&proxy, &request).await;
        let streamed = api.assembled(&events);
        let outline = api.outline(&streamed);
        assert_eq!(outline[..2], ["thought Rain?", "text I look it up."], "{api:?}");
        assert_eq!(outline.last().unwrap(), r#"call get_weather {"city":"Paris"}"#);
        let texts: String = outline.iter().filter_map(|part| part.strip_prefix("text ")).collect();
        assert_eq!(texts, "I look it up. In Paris.", "{api:?}: no text comes twice");
    }
}

#[tokio::test]
async fn every_call_of_a_faulty_answer_gets_a_result() {
    for api in APIS {
        let first = vec![text("Both."), call("call_1", "get_weather", PARIS), call("call_2", "get_weather", "{}")];
        let second = vec![call("call_3", "get_weather", ROME)];
        let (upstream, proxy) = corrected(api, first.clone(), second).await;
        let request = api.with_tools("Weather?");
        for answer in api.both(&proxy, &request).await {
            let outline = api.outline(&answer);
            let calls: Vec<&String> = outline.iter().filter(|part| part.starts_with("call ")).collect();
            assert_eq!(
                calls,
                [r#"call get_weather {"city":"Paris"}"#, r#"call get_weather {"city":"Rome"}"#],
                "{api:?}"
            );
        }
        let results = check_feedback(api, &request, &first, &upstream.received()[1]);
        assert_eq!(results.len(), 2, "{results:#?}");
        for (result, id) in results.iter().zip(["call_1", "call_2"]) {
            check_result(api, result, id, result_kind(api));
        }
    }
}

#[tokio::test]
async fn calls_that_are_not_judged_get_a_result_too() {
    for api in APIS {
        let (tool, part, id, kind) = match api {
            Api::Responses => (
                json!({"type": "custom", "name": "sql"}),
                json!({"id": "ctc_0", "type": "custom_tool_call", "status": "completed", "call_id": "call_sql", "name": "sql", "input": "select 1"}),
                "call_sql",
                "custom_tool_call_output",
            ),
            Api::Messages => (
                json!({"type": "bash_20250124", "name": "bash"}),
                json!({"type": "tool_use", "id": "toolu_bash", "name": "bash", "input": {"command": "ls"}}),
                "toolu_bash",
                "tool_result",
            ),
        };
        let first = vec![Part::Other(part.clone()), call("call_2", "get_weather", "{}")];
        let right = call("call_3", "get_weather", PARIS);
        let whole = vec![Part::Other(part), right.clone()];
        // The proxy keeps correct calls, those of typed tools too; the model repeats all others.
        let second = if api == Api::Messages { vec![right] } else { whole.clone() };
        let (upstream, proxy) = corrected(api, first.clone(), second).await;
        let mut request = api.with_tools("Weather?");
        request["tools"].as_array_mut().unwrap().push(tool);
        for answer in api.both(&proxy, &request).await {
            assert_eq!(answer[api.parts_key()], api.answer(&whole)[api.parts_key()], "{api:?}");
        }
        let results = check_feedback(api, &request, &first, &upstream.received()[1]);
        let mut ids: Vec<(&str, &str)> = results
            .iter()
            .map(|result| {
                let id = result.get("call_id").or_else(|| result.get("tool_use_id")).unwrap();
                (id.as_str().unwrap(), result["type"].as_str().unwrap())
            })
            .collect();
        ids.sort_unstable();
        let mut expected = [("call_2", result_kind(api)), (id, kind)];
        expected.sort_unstable();
        assert_eq!(ids, expected, "{api:?}: providers refuse a conversation with an open call");
    }
}

#[tokio::test]
async fn a_conversation_that_is_one_string_is_continued() {
    for api in APIS {
        let first = vec![call("call_1", "get_weather", "{}")];
        let (upstream, proxy) = corrected(api, first, vec![call("call_2", "get_weather", PARIS)]).await;
        let mut request = api.with_tools("Weather?");
        if api == Api::Responses {
            request["input"] = json!("Weather?");
            request["instructions"] = json!("Be brief.");
        } else {
            request["system"] = json!("Be brief.");
        }
        api.both(&proxy, &request).await;
        let received = upstream.received();
        assert_eq!(received[0].json()[api.conversation_key()], request[api.conversation_key()]);
        let sent = api.conversation(&received[1]);
        assert_eq!((&sent[0]["role"], &sent[0]["content"]), (&json!("user"), &json!("Weather?")), "{sent:#?}");
        for member in ["instructions", "system"] {
            assert_eq!(received[1].json()[member], request[member]);
        }
    }
}

#[tokio::test]
async fn a_conversation_with_earlier_results_stays_as_sent() {
    for api in APIS {
        let history = match api {
            Api::Responses => json!([
                {"role": "developer", "content": "Use tools."},
                {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
                {"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "gAAAA9"},
                {"type": "function_call", "call_id": "old", "name": "get_weather", "arguments": PARIS},
                {"type": "function_call_output", "call_id": "old", "output": [{"type": "input_text", "text": "rain"}]},
                {"type": "item_reference", "id": "msg_9"},
                {"role": "user", "content": "And tomorrow?"},
            ]),
            Api::Messages => json!([
                {"role": "user", "content": [{"type": "text", "text": "Weather?", "cache_control": {"type": "ephemeral"}}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Rain?", "signature": "EqQB"},
                    {"type": "tool_use", "id": "old", "name": "get_weather", "input": {"city": "Paris"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "old", "content": [{"type": "text", "text": "rain"}]},
                    {"type": "text", "text": "And tomorrow?"},
                ]},
            ]),
        };
        let mut request = api.with_tools("");
        request[api.conversation_key()] = history;
        let first = [thought("Rain?"), call("call_1", "get_weather", "{}")];
        let replies = [&first[..], &[call("call_2", "get_weather", PARIS)]].map(<[Part]>::to_vec);
        let upstream = Server::scripted(move |number, received| api.reply(received, &replies[number % 2])).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let [plain, streamed] = api.both(&proxy, &request).await;
        let expected = ["thought Rain?", r#"call get_weather {"city":"Paris"}"#];
        assert_eq!(api.outline(&plain), expected[1..], "{api:?}");
        assert_eq!(api.outline(&streamed), expected, "{api:?}: reasoning is live");
        check_feedback(api, &request, &first, &upstream.received()[1]);
    }
}

#[tokio::test]
async fn parameters_of_the_request_hold_in_the_feedback_request() {
    for api in APIS {
        let first = vec![call("call_1", "get_weather", "{}")];
        let (upstream, proxy) = corrected(api, first, vec![call("call_2", "get_weather", PARIS)]).await;
        let mut request = api.with_tools("Weather?");
        let members = match api {
            Api::Responses => {
                json!({"temperature": 0.3, "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"], "store": false,
                "previous_response_id": "resp_9", "tool_choice": "required", "max_output_tokens": 50, "x_vendor": {"a": 1}})
            }
            Api::Messages => json!({"temperature": 0.3, "thinking": {"type": "adaptive"}, "system": "Be brief.",
                "tool_choice": {"type": "auto"}, "stop_sequences": ["x"], "x_vendor": {"a": 1}}),
        };
        for (key, value) in members.as_object().unwrap() {
            request[key] = value.clone();
        }
        api.both(&proxy, &request).await;
        let received = upstream.received();
        for (key, value) in request.as_object().unwrap() {
            if key != api.conversation_key() {
                assert_eq!(received[1].json()[key], *value, "{api:?} {key}");
            }
        }
        assert_eq!(received[1].header("anthropic-version"), Some("2023-06-01"));
    }
}

#[tokio::test]
async fn a_model_that_never_corrects_itself_ends_at_the_limit() {
    for api in APIS {
        let wrong = vec![text("I look."), call("call_1", "get_weather", "{}")];
        let upstream = Server::scripted(move |_, received| api.reply(received, &wrong)).await;
        let rules = policy::file("short", "limits: {static_feedback: 1}");
        let proxy = Proxy::start_with_files(
            config(&upstream.url("/v1")) + &policy::table("short"),
            &[("policies/short.yaml", rules.as_str())],
        )
        .await;
        let plain = api.send(&proxy, &api.with_tools("Weather?")).await;
        assert_eq!(plain.verdict(), "faulty");
        let streamed = api.streamed(&proxy, &api.with_tools("Weather?")).await;
        for answer in [plain.ok(), streamed] {
            assert_eq!(api.outline(&answer).last().unwrap(), "call get_weather {}", "{api:?}");
        }
    }
}
