//! Protocol rules that clients and providers rely on, one test for each.

use crate::support::answer::{self, call, calls, completion, one_call};
use crate::support::request::{booking_tool, plain, streamed, weather_tool, with_tools};
use crate::support::{Gate, Proxy, Reply, Server, config, rooms};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

async fn proxy_of(upstream: &Server) -> Proxy {
    Proxy::start(config(&upstream.url("/v1"))).await
}

/// An upstream that makes a faulty call first, then the correct one.
async fn corrected_once() -> Server {
    Server::replying([one_call("get_weather", "{}"), one_call("get_weather", PARIS)]).await
}

fn to_helper(mut request: Value) -> Value {
    request["model"] = json!("helper");
    request
}

#[tokio::test]
async fn tool_choice_none_offers_no_tools_of_the_catalog() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, Server::replying([]).await);
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let mut request = to_helper(with_tools("Hello"));
    request["tool_choice"] = json!("none");
    proxy.client().chat(&request).await.ok();
    assert_eq!(upstream.only_request().tool_names(), ["get_weather", "book_room"]);
}

#[tokio::test]
async fn tool_choice_holds_until_the_proxy_has_executed_a_tool() {
    let upstream = Server::replying([
        one_call("listRooms", "{}"),
        one_call("listRooms", r#"{"floor":2}"#),
        answer::text("Two rooms."),
    ])
    .await;
    let api = Server::always(Reply::json(200, &json!(["Amber", "Birch"]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let mut request = to_helper(plain("Which rooms?"));
    request["tool_choice"] = json!("required");
    let answer = proxy.client().chat(&request).await;
    assert_eq!(answer.message()["content"], "Two rooms.");
    let choices: Vec<Value> =
        upstream.received().iter().map(|received| received.json()["tool_choice"].clone()).collect();
    assert_eq!(choices[..2], [json!("required"), json!("required")], "feedback comes before any execution");
    assert!(choices[2].is_null() || choices[2] == "auto", "{choices:?}");
}

#[tokio::test]
async fn without_parallel_calls_one_call_comes_out() {
    let two = calls(&[call("a", "get_weather", PARIS), call("b", "book_room", r#"{"hotel":"Ritz","nights":1}"#)]);
    let upstream = Server::always(two).await;
    let proxy = proxy_of(&upstream).await;
    let mut request = with_tools("Both");
    request["parallel_tool_calls"] = json!(false);
    let message = proxy.client().chat(&request).await.message();
    assert_eq!(message["tool_calls"].as_array().unwrap().len(), 1, "{message}");
    assert_eq!(message["tool_calls"][0]["id"], "a");
}

#[tokio::test]
async fn several_choices_are_repaired_and_never_sent_back() {
    let message = |name: &str, arguments: &str| json!({"role": "assistant", "content": null, "tool_calls": [call("a", name, arguments)]});
    let mut body = completion(message("getWeather", PARIS), "tool_calls");
    let choices = body["choices"].as_array_mut().unwrap();
    choices.push(
        json!({"index": 1, "message": message("get_weather", "{}"), "logprobs": null, "finish_reason": "tool_calls"}),
    );
    choices.push(json!({"index": 2, "message": {"role": "assistant", "content": "Hm."}, "logprobs": null, "finish_reason": "stop"}));
    let upstream = Server::replying([Reply::json(200, &body)]).await;
    let proxy = proxy_of(&upstream).await;
    let mut request = with_tools("Weather?");
    request["n"] = json!(3);
    let answer = proxy.client().chat(&request).await;
    let mut expected = body;
    expected["choices"][0]["message"]["tool_calls"][0]["function"]["name"] = json!("get_weather");
    assert_eq!(answer.ok(), expected);
    assert_eq!(upstream.received().len(), 1);
}

#[tokio::test]
async fn logprobs_of_a_changed_choice_are_dropped_and_others_kept() {
    for (name, kept) in [("getWeather", false), ("get_weather", true)] {
        let mut body = completion(
            json!({"role": "assistant", "content": null, "tool_calls": [call("a", name, PARIS)]}),
            "tool_calls",
        );
        body["choices"][0]["logprobs"] =
            json!({"content": [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}]});
        let upstream = Server::always(Reply::json(200, &body)).await;
        let proxy = proxy_of(&upstream).await;
        let mut request = with_tools("Weather?");
        request["logprobs"] = json!(true);
        let answer = proxy.client().chat(&request).await.ok();
        let logprobs = &answer["choices"][0]["logprobs"];
        assert_eq!(logprobs.is_object(), kept, "{name}: {logprobs}");
    }
}

#[tokio::test]
async fn internal_requests_keep_parameters_but_not_bookkeeping() {
    let upstream = corrected_once().await;
    let proxy = proxy_of(&upstream).await;
    let mut request = with_tools("Weather?");
    for (member, value) in [
        ("seed", json!(7)),
        ("max_tokens", json!(50)),
        ("temperature", json!(0.3)),
        ("x_vendor", json!({"a": 1})),
        ("user", json!("u")),
    ] {
        request[member] = value;
    }
    request["store"] = json!(true);
    request["metadata"] = json!({"k": "v"});
    proxy.client().chat(&request).await.ok();
    let received = upstream.received();
    assert_eq!(received[0].json(), request, "the client's own request is as it was");
    let internal = received[1].json();
    for member in ["seed", "max_tokens", "temperature", "x_vendor", "user", "tools", "model"] {
        assert_eq!(internal[member], request[member], "{member}");
    }
    assert!(internal.get("store").is_none() && internal.get("metadata").is_none(), "{internal}");
}

#[tokio::test]
async fn a_gateway_gets_metadata_with_every_attempt() {
    let upstream = corrected_once().await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "keep_metadata = true\n").await;
    let mut request = with_tools("Weather?");
    request["store"] = json!(true);
    request["metadata"] = json!({"team": "blue", "tags": ["a"]});
    proxy.client().chat(&request).await.ok();
    let received = upstream.received();
    assert_eq!(received.len(), 2);
    for received in received {
        assert_eq!(received.json()["metadata"], request["metadata"]);
    }
}

#[tokio::test]
async fn the_assistants_message_goes_back_as_it_came() {
    let message = json!({
        "role": "assistant", "content": null, "refusal": null, "reasoning_content": "I need the weather.", "x_signature": {"b": [1, 2.50], "a": null},
        "tool_calls": [{"id": "toolu_01", "type": "function", "x_thought": "sig", "function": {"name": "getWeather", "arguments": "{ }"}}],
    });
    let upstream = Server::replying([
        Reply::json(200, &completion(message.clone(), "tool_calls")),
        one_call("get_weather", PARIS),
    ])
    .await;
    let proxy = proxy_of(&upstream).await;
    proxy.client().chat(&with_tools("Weather?")).await.ok();
    assert_eq!(upstream.received()[1].messages()[1], message);
}

#[tokio::test]
async fn every_call_gets_a_reply_one_that_is_not_judged_too() {
    let custom = json!({"id": "call_sql", "type": "custom", "custom": {"name": "sql", "input": "select 1"}});
    let upstream =
        Server::replying([calls(&[custom.clone(), call("bad", "get_weather", "{}")]), calls(&[custom])]).await;
    let proxy = proxy_of(&upstream).await;
    let mut request = with_tools("Weather?");
    request["tools"].as_array_mut().unwrap().push(json!({"type": "custom", "custom": {"name": "sql"}}));
    let message = proxy.client().chat(&request).await.message();
    assert_eq!(message["tool_calls"][0]["custom"]["input"], "select 1");
    let messages = upstream.received()[1].messages();
    let mut answered: Vec<&str> = messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    answered.sort_unstable();
    assert_eq!(answered, ["bad", "call_sql"], "providers refuse a conversation with an open call");
}

#[tokio::test]
async fn an_unjudged_call_beside_a_proxy_call_goes_to_the_client() {
    let custom = json!({"id": "call_sql", "type": "custom", "custom": {"name": "sql", "input": "select 1"}});
    let both = calls(&[call("own", "listRooms", r#"{"floor":2}"#), custom.clone()]);
    let (upstream, api) = (Server::replying([both]).await, Server::replying([]).await);
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let mut request = to_helper(plain("Which rooms?"));
    request["tools"] = json!([{"type": "custom", "custom": {"name": "sql"}}]);
    let message = proxy.client().chat(&request).await.message();
    assert_eq!(message["tool_calls"], json!([custom]));
}

#[tokio::test]
async fn minted_ids_are_the_same_in_every_place() {
    let nameless = json!({"type": "function", "function": {"name": "get_weather", "arguments": "{}"}});
    let upstream = Server::replying([calls(&[nameless]), one_call("get_weather", PARIS)]).await;
    let proxy = proxy_of(&upstream).await;
    proxy.client().chat(&with_tools("Weather?")).await.ok();
    let messages = upstream.received()[1].messages();
    let id = messages[1]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(messages[2]["tool_call_id"], id);
}

#[tokio::test]
async fn messages_stay_as_sent_and_additions_come_last() {
    let upstream = corrected_once().await;
    let proxy = proxy_of(&upstream).await;
    let mut request = with_tools("");
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Use tools."}], "name": "dev"},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}]},
        {"role": "assistant", "content": null, "tool_calls": [call("old", "get_weather", PARIS)]},
        {"role": "tool", "tool_call_id": "old", "content": ""},
        {"role": "assistant", "tool_calls": [call("older", "get_weather", PARIS)]},
        {"role": "tool", "tool_call_id": "older", "content": [{"type": "text", "text": "rain"}]},
        {"role": "user", "content": "And tomorrow?"},
    ]);
    request["messages"] = messages.clone();
    proxy.client().chat(&request).await.ok();
    let sent = upstream.received()[1].messages();
    let sent_by_client = messages.as_array().unwrap();
    assert_eq!(&sent[..sent_by_client.len()], sent_by_client.as_slice());
    assert!(
        upstream.received()[1].text().contains(r#"{"role":"assistant","tool_calls":"#),
        "absent content stays absent"
    );
    let added: Vec<&str> =
        sent[sent_by_client.len()..].iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(added, ["assistant", "tool"]);
}

fn legacy(text: &str) -> Value {
    let mut request = plain(text);
    request["functions"] = json!([weather_tool()["function"], booking_tool()["function"]]);
    request
}

#[tokio::test]
async fn legacy_functions_are_judged_and_answered_as_legacy() {
    let legacy_call = |name: &str, arguments: &str| {
        let message =
            json!({"role": "assistant", "content": null, "function_call": {"name": name, "arguments": arguments}});
        Reply::json(200, &completion(message, "function_call"))
    };
    let upstream = Server::replying([legacy_call("getWeather", "{}"), legacy_call("getWeather", PARIS)]).await;
    let proxy = proxy_of(&upstream).await;
    let answer = proxy.client().chat(&legacy("Weather?")).await;
    assert_eq!(answer.message()["function_call"], json!({"name": "get_weather", "arguments": PARIS}));
    assert!(answer.message().get("tool_calls").is_none(), "{}", answer.text());
    assert_eq!(answer.ok()["choices"][0]["finish_reason"], "function_call");
    let messages = upstream.received()[1].messages();
    assert_eq!(messages[1]["function_call"]["name"], "getWeather");
    assert_eq!((messages[2]["role"].as_str(), messages[2]["name"].as_str()), (Some("function"), Some("getWeather")));
}

#[tokio::test]
async fn legacy_streams_are_answered_as_legacy() {
    let chunks = [
        answer::chunk(json!({"role": "assistant", "content": null})),
        answer::chunk(json!({"function_call": {"name": "getWeather", "arguments": ""}})),
        answer::chunk(json!({"function_call": {"arguments": PARIS}})),
        answer::finish("function_call"),
    ];
    let upstream = Server::always(Reply::events(&chunks)).await;
    let proxy = proxy_of(&upstream).await;
    let assembled = proxy.client().chat_stream(&streamed(legacy("Weather?"))).await.assemble().await;
    assert_eq!(assembled.choice().function_call, Some(json!({"name": "get_weather", "arguments": PARIS})));
    assert_eq!(assembled.choice().finish_reason.as_deref(), Some("function_call"));
    assert!(assembled.choice().calls.is_empty());
}

#[tokio::test]
async fn the_usage_chunk_comes_only_where_it_was_requested() {
    let mut chunks = answer::call_chunks(&[("a", "getWeather", PARIS)]);
    let mut usage = answer::chunk_of(json!([]));
    usage["usage"] = json!({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25});
    chunks.push(usage);
    let upstream = Server::always(Reply::events(&chunks)).await;
    let proxy = proxy_of(&upstream).await;
    let mut request = streamed(with_tools("Weather?"));
    request["stream_options"] = json!({"include_usage": true});
    let assembled = proxy.client().chat_stream(&request).await.assemble().await;
    assert_eq!(assembled.usage.unwrap()["total_tokens"], 25);
    assert_eq!(upstream.received()[0].json()["stream_options"], request["stream_options"]);
    let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
    assert!(assembled.usage.is_none(), "{assembled:?}");
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_the_upstreams_request() {
    let held = answer::call_chunks(&[("a", "get_weather", PARIS)]);
    let in_the_middle = Reply::stream().event(&held[0]).event(&held[1]).then_silence();
    for (reply, request) in [
        (Reply::silence(), with_tools("Weather?")),
        (Reply::silence(), streamed(with_tools("Weather?"))),
        (in_the_middle, streamed(with_tools("Weather?"))),
    ] {
        let upstream = Server::always(reply).await;
        let proxy = proxy_of(&upstream).await;
        tokio::select! {
            answer = proxy.client().chat(&request) => panic!("{}", answer.text()),
            () = upstream.arrival_of(1) => {}
        }
        upstream.hangup().await;
        assert_eq!(proxy.operator().get("/healthz").await.status, 200);
    }
}

#[tokio::test]
async fn nothing_new_begins_when_the_client_has_gone_away() {
    let gate = Gate::closed();
    let upstream = Server::replying([one_call("listRooms", r#"{"floor":2}"#), answer::text("late")]).await;
    let api = Server::always(Reply::json(200, &json!([])).after(&gate)).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let connection = proxy.client().begin_chat(&to_helper(plain("Which rooms?"))).await;
    api.arrival_of(1).await;
    connection.leave().await;
    gate.open();
    let traces = proxy.traces_after_stop().await;
    assert_eq!(upstream.received().len(), 1, "the model was asked for nobody");
    assert_eq!(traces.len(), 1);
    assert_eq!(traces[0]["executions"][0]["outcome"], "success", "{:#}", traces[0]);
}

#[tokio::test]
async fn with_several_choices_nothing_is_executed() {
    let body = completion(json!({"role": "assistant", "content": "Hm."}), "stop");
    let (upstream, api) = (Server::always(Reply::json(200, &body)).await, Server::replying([]).await);
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let mut request = to_helper(with_tools("Which rooms?"));
    request["n"] = json!(2);
    proxy.client().chat(&request).await.ok();
    assert_eq!(
        upstream.only_request().tool_names(),
        ["get_weather", "book_room"],
        "no one could go on with the results"
    );
}

#[tokio::test]
async fn a_named_tool_holds_for_feedback_too() {
    let upstream = corrected_once().await;
    let proxy = proxy_of(&upstream).await;
    let mut request = with_tools("Weather?");
    request["tool_choice"] = json!({"type": "function", "function": {"name": "get_weather"}});
    proxy.client().chat(&request).await.ok();
    assert_eq!(upstream.received()[1].json()["tool_choice"], request["tool_choice"]);
}

#[tokio::test]
async fn what_the_proxy_did_for_itself_is_no_part_of_the_answer() {
    let upstream = Server::replying([
        one_call("listRooms", r#"{"floor":2}"#),
        one_call("get_weather", "{}"),
        one_call("get_weather", PARIS),
    ])
    .await;
    let api = Server::always(Reply::json(200, &json!(["Amber"]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let answer = proxy.client().chat(&to_helper(with_tools("Rooms and weather?"))).await;
    let message = answer.message();
    assert_eq!(message, completion_of(&[call("call_upstream1", "get_weather", PARIS)]));
    assert!(!answer.text().contains("listRooms") && !answer.text().contains("Amber"), "{}", answer.text());
}

fn completion_of(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

#[tokio::test]
async fn what_was_cut_off_is_never_completed() {
    for arguments in [r#"{"city":"Paris","days":1"#, r#"{"city":"Par"#, r#"{"city":"Paris""#] {
        let cut = Reply::json(200, &completion(completion_of(&[call("a", "get_weather", arguments)]), "length"));
        let upstream = Server::replying([cut, one_call("get_weather", PARIS)]).await;
        let proxy = proxy_of(&upstream).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!(answer.verdict(), "corrected", "{arguments}");
        assert_eq!(upstream.received()[1].messages()[1]["tool_calls"][0]["function"]["arguments"], arguments);
    }
}

#[tokio::test]
async fn a_usage_chunk_is_not_asked_for_on_the_clients_behalf() {
    let upstream = Server::always(Reply::events(&answer::call_chunks(&[("a", "getWeather", PARIS)]))).await;
    let proxy = proxy_of(&upstream).await;
    proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
    assert!(upstream.only_request().json().get("stream_options").is_none(), "not every upstream takes it");
}

#[tokio::test]
async fn an_upstream_that_does_not_stream_is_streamed_on() {
    let message = json!({"role": "assistant", "content": "I look.", "reasoning_content": "Rain?", "refusal": null,
        "tool_calls": [call("a", "getWeather", PARIS)]});
    let mut body = completion(message, "tool_calls");
    let second = json!({"index": 1, "message": {"role": "assistant", "content": "Hm."}, "logprobs": null, "finish_reason": "stop"});
    body["choices"].as_array_mut().unwrap().push(second);
    let upstream = Server::always(Reply::json(200, &body)).await;
    let proxy = proxy_of(&upstream).await;
    let mut request = streamed(with_tools("Weather?"));
    request["n"] = json!(2);
    let mut stream = proxy.client().chat_stream(&request).await;
    assert!(stream.header("content-type").is_some_and(|value| value.starts_with("text/event-stream")));
    let assembled = stream.assemble().await;
    let first = &assembled.choices[&0];
    assert_eq!((assembled.id.as_str(), first.content.as_str()), ("chatcmpl-upstream", "I look."));
    assert_eq!(first.others["reasoning_content"], "Rain?");
    assert_eq!(
        (first.calls[0]["function"]["name"].as_str(), first.finish_reason.as_deref()),
        (Some("get_weather"), Some("tool_calls"))
    );
    assert_eq!(
        (assembled.choices[&1].content.as_str(), assembled.choices[&1].finish_reason.as_deref()),
        ("Hm.", Some("stop"))
    );
}

#[tokio::test]
async fn an_upstream_that_streams_unasked_is_answered_whole() {
    let upstream = Server::always(Reply::events(&answer::call_chunks(&[("a", "getWeather", PARIS)]))).await;
    let proxy = proxy_of(&upstream).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.message(), completion_of(&[call("a", "get_weather", PARIS)]));
    assert_eq!((answer.ok()["object"].as_str(), answer.verdict()), (Some("chat.completion"), "repaired"));
    let broken = Server::always(Reply::stream().event(&answer::role()).end()).await;
    let proxy = proxy_of(&broken).await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.error(502)["code"], "malformed");
}

#[tokio::test]
async fn azure_style_paths_name_the_model_and_are_judged() {
    let upstream = Server::always(one_call("getWeather", PARIS)).await;
    let proxy = proxy_of(&upstream).await;
    let path = "/openai/deployments/gpt-deployed/chat/completions?api-version=2024-10-21";
    let fields = [("content-type", "application/json")];
    let answer = proxy.client().send(http::Method::POST, path, &fields, with_tools("Weather?").to_string()).await;
    assert_eq!(answer.message()["tool_calls"][0]["function"]["name"], "get_weather");
    let request = upstream.only_request();
    assert_eq!(
        (request.target.as_str(), request.json()["model"].as_str()),
        ("/v1/chat/completions", Some("gpt-deployed"))
    );
}

#[tokio::test]
async fn a_body_with_images_fits() {
    let image = format!("data:image/png;base64,{}", "A".repeat(12 * 1024 * 1024));
    let upstream = Server::always(answer::text("A cat.")).await;
    let proxy = proxy_of(&upstream).await;
    let mut request = with_tools("");
    request["messages"] = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": image}}]}]);
    assert_eq!(proxy.client().chat(&request).await.message()["content"], "A cat.");
    assert_eq!(upstream.only_request().json(), request);
}
