//! Calls in the form of another kind of tool, and calls of other kinds that the model wrote as text.

use serde_json::{Value, json};

use super::api::{Api, Part, call, text, thought, written};
use super::{responses_api, sse};
use crate::support::{Proxy, Received, Reply, Server, config, policy};

const API: Api = Api::Responses;

/// Texts that a custom tool takes: programs and patches with quotes, markup, escapes and other letters.
const TEXTS: [&str; 4] = [
    "*** Begin Patch\n*** Update File: naïve.rs\n@@\n-let a = \"x\";\n+let a = \"<y>{z}\";\n*** End Patch\n",
    "SELECT '<your_city>' FROM städte -- TODO\n",
    "{ return x; }",
    "42",
];

/// Returns a request that offers functions, and custom tools of this name.
fn request(names: &[&str]) -> Value {
    let mut request = API.with_tools("Change it.");
    let tools = request["tools"].as_array_mut().unwrap();
    tools.extend(names.iter().map(|name| {
        json!({"type": "custom", "name": name, "description": "For a test",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/s"}})
    }));
    request
}

/// Starts an upstream that gives `first`, and `second` once it gets feedback, and a proxy before it.
async fn answering(api: Api, first: Vec<Part>, second: Vec<Part>) -> (Server, Proxy) {
    let script = move |_: usize, received: &Received| {
        api.reply(received, if api.is_continued(received) { &second } else { &first })
    };
    let upstream = Server::scripted(script).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    (upstream, proxy)
}

/// Checks that an item is the call of a custom tool, and returns its input.
fn input_of(item: &Value, call_id: &str, name: &str) -> String {
    assert_eq!((&item["type"], &item["name"]), (&json!("custom_tool_call"), &json!(name)), "{item}");
    assert!(call_id.is_empty() || item["call_id"] == call_id, "{item}");
    assert!(item["id"].as_str().unwrap().starts_with("ctc_"), "{item}");
    assert_eq!((&item["status"], item.get("arguments")), (&json!("completed"), None), "{item}");
    item["input"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_function_call_of_a_custom_tool_becomes_its_own_call() {
    for input in TEXTS {
        let wrapped = ["input", "patch", "code"].map(|member| json!({ member: input }).to_string());
        for arguments in wrapped.into_iter().chain([input.to_owned(), json!(input).to_string()]) {
            let parts = vec![thought("So."), text("I change it."), call("call_1", "edit_file", &arguments)];
            let (upstream, proxy) = answering(API, parts, vec![text("never")]).await;
            for answer in API.both(&proxy, &request(&["edit_file"])).await {
                let output = answer["output"].as_array().unwrap();
                assert_eq!(API.outline(&answer)[..2], ["thought So.", "text I change it."]);
                assert_eq!(input_of(&output[2], "call_1", "edit_file"), input, "{arguments}");
            }
            let answer = API.send(&proxy, &request(&["edit_file"])).await;
            assert_eq!(answer.verdict(), "repaired");
            assert_eq!(upstream.received().len(), 3, "nothing is sent back: {arguments}");
        }
    }
}

#[tokio::test]
async fn its_name_may_be_spelt_otherwise_beside_other_calls() {
    let weather = call("call_2", "get_weather", r#"{"city":"Paris"}"#);
    let parts = vec![call("call_1", "functions.EditFile", r#"{"text":"a"}"#), weather];
    let (_upstream, proxy) = answering(API, parts, vec![text("never")]).await;
    for answer in API.both(&proxy, &request(&["edit_file"])).await {
        assert_eq!(input_of(&answer["output"][0], "call_1", "edit_file"), "a");
        assert_eq!(API.outline(&answer)[1], r#"call get_weather {"city":"Paris"}"#);
    }
}

#[tokio::test]
async fn its_own_call_stays_byte_by_byte() {
    let own = json!({"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "call_c", "name": "edit_file",
        "input": "{\"city\": \"Paris\"}"});
    let parts = vec![text("I change it."), Part::Other(own)];
    let sent = sse::bytes(&API.events(&parts));
    let (_upstream, proxy) = answering(API, parts, vec![text("never")]).await;
    let mut stream = API.stream(&proxy, &request(&["edit_file"])).await;
    stream.rest().await;
    assert_eq!(stream.raw(), sent);
}

#[tokio::test]
async fn a_call_without_its_one_text_is_sent_back() {
    for arguments in ["{}", "", "null", r#"{"input":"a","path":"b"}"#, r#"{"input":["a"]}"#, r#"{"patch":"*** Beg"#] {
        let second = vec![call("call_2", "edit_file", r#"{"input":"whole"}"#)];
        let (upstream, proxy) = answering(API, vec![call("call_1", "edit_file", arguments)], second).await;
        for answer in API.both(&proxy, &request(&["edit_file"])).await {
            assert_eq!(input_of(&answer["output"][0], "call_2", "edit_file"), "whole", "{arguments}");
        }
        let feedback = upstream.received()[1].json()["input"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&feedback["type"], &feedback["call_id"]), (&json!("function_call_output"), &json!("call_1")));
        let feedback = feedback["output"].as_str().unwrap().to_owned();
        assert!(feedback.contains("edit_file") && !feedback.contains("not offered"), "{arguments}: {feedback}");
    }
}

#[tokio::test]
async fn a_custom_call_that_names_a_function_becomes_its_call() {
    for (input, expected) in [
        (r#"{"city":"Paris"}"#, Some(r#"{"city":"Paris"}"#)),
        ("{\"city\": \"Łódź\", \"days\": \"3\"}", Some(r#"{"city":"Łódź","days":3}"#)),
        ("Paris", None),
        ("[1]", None),
    ] {
        let custom = json!({"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "call_c",
            "name": "get_weather", "input": input});
        let (upstream, proxy) = answering(API, vec![Part::Other(custom.clone())], vec![text("never")]).await;
        for answer in API.both(&proxy, &API.with_tools("Weather?")).await {
            let item = &answer["output"][0];
            let Some(arguments) = expected else {
                assert_eq!(*item, custom, "what is no object stays as it came");
                continue;
            };
            assert_eq!(API.outline(&answer), [format!("call get_weather {arguments}")]);
            assert!(item["id"].as_str().unwrap().starts_with("fc_") && item["call_id"] == "call_c", "{item}");
            assert_eq!(item.get("input"), None, "{item}");
        }
        assert_eq!(upstream.received().len(), 2);
    }
}

#[tokio::test]
async fn shadow_mode_changes_no_form() {
    let custom = json!({"id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "call_c",
        "name": "get_weather", "input": r#"{"city":"Paris"}"#});
    let parts = vec![call("call_1", "edit_file", r#"{"patch":"a"}"#), Part::Other(custom)];
    let whole = API.answer(&parts);
    let sent = sse::bytes(&API.events(&parts));
    let upstream = Server::scripted(move |_, received| API.reply(received, &parts)).await;
    let rules = policy::file("ruled", "mode: shadow");
    let config = config(&upstream.url("/v1")) + &policy::table("ruled");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", rules.as_str())]).await;
    assert_eq!(API.send(&proxy, &request(&["edit_file"])).await.ok(), whole);
    let mut stream = API.stream(&proxy, &request(&["edit_file"])).await;
    stream.rest().await;
    assert_eq!(stream.raw(), sent);
}

#[tokio::test]
async fn a_changed_calls_result_has_the_form_that_the_provider_keeps() {
    let parts = [call("call_1", "edit_file", r#"{"patch":"a"}"#)];
    let upstream = Server::scripted(move |_, received| API.reply(received, &parts)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let first = API.streamed(&proxy, &request(&["edit_file"])).await;
    let mut next = request(&["edit_file"]);
    next["previous_response_id"] = first["id"].clone();
    next["input"] = json!([{"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done."}]);
    API.send(&proxy, &next).await.ok();
    let expected = json!([{"type": "function_call_output", "call_id": "call_1", "output": "Done."}]);
    assert_eq!(upstream.last_request().json()["input"], expected);
}

#[tokio::test]
async fn a_call_of_a_custom_tool_written_as_text_becomes_its_call() {
    let input = TEXTS[0];
    let arguments = json!({ "input": input }).to_string();
    for said in [
        written("edit_file", &arguments),
        format!("I change it.\n{}", written("edit_file", &json!({ "patch": input }).to_string())),
        format!("```json\n{{\"name\": \"edit_file\", \"arguments\": {arguments}}}\n```"),
    ] {
        let (upstream, proxy) = answering(API, vec![thought("So."), text(&said)], vec![text("never")]).await;
        for answer in API.both(&proxy, &request(&["edit_file"])).await {
            let output = answer["output"].as_array().unwrap();
            assert_eq!(input_of(output.last().unwrap(), "", "edit_file"), input, "{said}");
        }
        assert_eq!(upstream.received().len(), 2, "{said}");
    }
}

#[tokio::test]
async fn text_about_a_custom_tool_stays_text() {
    for said in [
        "I can change the file with `edit_file`.",
        "```edit_file\n*** Begin Patch\n*** End Patch\n```",
        "The `edit_file` tool takes a patch:\n\n    *** Begin Patch\n    *** End Patch\n",
        "edit_file is not needed here (I checked).",
    ] {
        let parts = vec![text(said)];
        let sent = sse::bytes(&API.events(&parts));
        let (upstream, proxy) = answering(API, parts, vec![text("never")]).await;
        let mut stream = API.stream(&proxy, &request(&["edit_file"])).await;
        stream.rest().await;
        assert_eq!((stream.raw(), upstream.received().len()), (sent, 1), "{said}");
    }
}

#[tokio::test]
async fn a_written_api_tool_call_is_confirmed_once_and_stays_text() {
    for kind in ["shell", "local_shell", "apply_patch", "web_search", "code_interpreter"] {
        let said = written(kind, r#"{"command":["ls"]}"#);
        let mut request = API.with_tools("List the files.");
        request["tools"].as_array_mut().unwrap().push(json!({"type": kind}));
        let (upstream, proxy) = answering(API, vec![text(&said)], vec![text("")]).await;
        let answer = API.send(&proxy, &request).await.ok();
        assert_eq!(API.outline(&answer), [format!("text {said}")], "{kind}");
        let received = upstream.received();
        assert_eq!(received.len(), 2, "{kind}: one request");
        let asked = received[1].json()["input"].as_array().unwrap().last().unwrap()["content"].to_string();
        assert!(asked.contains(kind) && asked.contains("API") && !asked.contains("not offered"), "{asked}");
    }
}

#[tokio::test]
async fn a_function_call_of_a_tool_that_the_client_executes_passes() {
    for kind in ["shell", "local_shell", "apply_patch"] {
        let parts = vec![call("call_1", kind, r#"{"command":["ls", "-l"]}"#)];
        let sent = sse::bytes(&API.events(&parts));
        let mut request = API.with_tools("List the files.");
        request["tools"].as_array_mut().unwrap().push(json!({"type": kind}));
        let (upstream, proxy) = answering(API, parts, vec![text("never")]).await;
        let mut stream = API.stream(&proxy, &request).await;
        stream.rest().await;
        assert_eq!((stream.raw(), upstream.received().len()), (sent, 1), "{kind}");
    }
}

#[tokio::test]
async fn predefined_tools_of_messages_are_called_as_their_schema_says() {
    let api = Api::Messages;
    let mut request = api.with_tools("List the files.");
    let tools = [
        ("bash_20250124", "bash"),
        ("text_editor_20250728", "str_replace_based_edit_tool"),
        ("memory_20250818", "memory"),
    ];
    let tools = tools.map(|(kind, name)| json!({"type": kind, "name": name}));
    request["tools"].as_array_mut().unwrap().extend(tools);
    for (name, input) in [
        ("bash", r#"{"command":"ls -l | grep \"ü\""}"#),
        ("str_replace_based_edit_tool", r#"{"command":"view","path":"/src/a.rs","view_range":[1,-1]}"#),
        ("str_replace_based_edit_tool", r#"{"command":"insert","path":"/a","insert_line":0,"new_str":"x"}"#),
        ("memory", r#"{"command":"rename","old_path":"/memories/a","new_path":"/memories/b"}"#),
    ] {
        let (upstream, proxy) = answering(api, vec![text(&written(name, input))], vec![text("never")]).await;
        for answer in api.both(&proxy, &request).await {
            let block = answer["content"].as_array().unwrap().last().unwrap();
            let input: Value = serde_json::from_str(input).unwrap();
            assert_eq!((&block["type"], &block["name"], &block["input"]), (&json!("tool_use"), &json!(name), &input));
            assert_eq!(answer["stop_reason"], "tool_use");
        }
        assert_eq!(upstream.received().len(), 2, "{name}");
    }
    for native in [json!({"restart": true}), json!({"later_member": 1})] {
        let parts = vec![call("toolu_1", "bash", &native.to_string())];
        let sent = sse::bytes(&api.events(&parts));
        let (_upstream, proxy) = answering(api, parts, vec![text("never")]).await;
        let mut stream = api.stream(&proxy, &request).await;
        stream.rest().await;
        assert_eq!(stream.raw(), sent, "native calls are the provider's");
    }
}

#[tokio::test]
async fn chat_completions_have_the_same_rules() {
    let custom = json!({"type": "custom", "custom": {"name": "edit_file", "format": {"type": "text"}}});
    let weather = json!({"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
        "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}}});
    let mut request = json!({"model": "gpt-test", "messages": [{"role": "user", "content": "Change it."}],
        "tools": [weather, custom]});
    let element = |kind: &str, name: &str, member: &str, value: &str| json!({"id": "call_1", "type": kind, kind: {"name": name, member: value}});
    for (made, expected) in [
        (
            element("function", "edit_file", "arguments", r#"{"patch":"a\n"}"#),
            element("custom", "edit_file", "input", "a\n"),
        ),
        (element("function", "edit_file", "arguments", "a b"), element("custom", "edit_file", "input", "a b")),
        (element("custom", "edit_file", "input", "a"), element("custom", "edit_file", "input", "a")),
        (
            element("custom", "get_weather", "input", r#"{"city":"Paris"}"#),
            element("function", "get_weather", "arguments", r#"{"city":"Paris"}"#),
        ),
    ] {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [made]});
        let answer = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
        let upstream = Server::always(Reply::json(200, &answer)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let got = proxy.client().chat(&request).await.ok();
        assert_eq!(got["choices"][0]["message"]["tool_calls"], json!([expected]), "{made}");
        let streaming = Server::always(streamed_call(&made)).await;
        let proxy = Proxy::start(config(&streaming.url("/v1"))).await;
        request["stream"] = json!(true);
        let mut stream = proxy.client().chat_stream(&request).await;
        stream.rest().await;
        assert_eq!(call_of(&stream.raw()), expected, "{made}");
        request.as_object_mut().unwrap().remove("stream");
    }
}

/// Returns a stream of chat completions with this call in two pieces.
fn streamed_call(made: &Value) -> Reply {
    let kind = made["type"].as_str().unwrap();
    let member = if kind == "custom" { "input" } else { "arguments" };
    let mut first = made.clone();
    first["index"] = json!(0);
    let text = first[kind][member].take();
    first[kind][member] = json!("");
    let rest = json!({"index": 0, kind: {member: text}});
    let chunk = |delta: Value, reason: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let chunks = [
        chunk(json!({"role": "assistant", "content": null}), Value::Null),
        chunk(json!({"tool_calls": [first]}), Value::Null),
        chunk(json!({"tool_calls": [rest]}), Value::Null),
        chunk(json!({}), json!("tool_calls")),
    ];
    chunks.iter().fold(Reply::stream(), Reply::event).done()
}

/// Returns the one call of a stream of chat completions.
fn call_of(stream: &str) -> Value {
    let mut call = Value::Null;
    let chunks = stream.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    for piece in chunks.map(|chunk| chunk["choices"][0]["delta"]["tool_calls"][0].clone()).filter(Value::is_object) {
        assert_eq!(piece["index"], 0);
        if call.is_null() {
            call = piece;
            call.as_object_mut().unwrap().remove("index");
            continue;
        }
        for (kind, member) in [("function", "arguments"), ("custom", "input")] {
            if let Some(text) = piece[kind][member].as_str() {
                call[kind][member] = json!(call[kind][member].as_str().unwrap().to_owned() + text);
            }
        }
    }
    call
}

#[tokio::test]
async fn the_call_of_a_custom_tool_is_written_with_all_its_events() {
    let parts = [call("call_1", "edit_file", r#"{"patch":"one\ntwo"}"#)];
    let upstream = Server::always(sse::reply(&responses_api::events(&parts))).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let events = API.stream_events(&proxy, &request(&["edit_file"])).await;
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = [
        "response.created", "response.in_progress", "response.output_item.added",
        "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "response.output_item.done",
        "response.completed",
    ];
    assert_eq!(kinds, expected);
    assert_eq!((&events[2]["item"]["input"], &events[4]["input"]), (&json!(""), &json!("one\ntwo")));
    assert_eq!(events[2]["item"]["status"], "in_progress");
}
