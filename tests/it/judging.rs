//! Calls are repaired if the repair is lossless, sent back with feedback if they require the model, and given up at the
//! limits.

use std::collections::HashSet;

use crate::support::answer::{self, call, calls, completion, one_call};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Answer, Proxy, Received, Reply, Server, config, policy};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

async fn guarding(replies: Vec<Reply>) -> (Server, Proxy) {
    let upstream = Server::replying(replies).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    (upstream, proxy)
}

#[tokio::test]
async fn three_objects_in_one_call_are_three_calls_plain_and_streamed() {
    let objects = ["Paris", "Oslo", "Bergen"].map(|city| json!({ "city": city }).to_string());
    let joined = objects.concat();
    let expected = objects.map(|object| pair("get_weather", &object));
    let (upstream, proxy) = guarding(vec![one_call("get_weather", &joined)]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((calls_of(&answer), answer.verdict()), (expected.to_vec(), "repaired"));
    let ids: HashSet<String> = call_ids(&answer.message()["tool_calls"]).collect();
    assert_eq!((ids.len(), upstream.received().len()), (3, 1));

    let chunks = answer::call_chunks(&[("call_1", "get_weather", &joined)]);
    let (_upstream, proxy) = guarding(vec![Reply::events(&chunks)]).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    let assembled = stream.assemble().await;
    let calls = Value::from(assembled.choice().calls.clone());
    assert_eq!(call_ids(&calls).collect::<HashSet<_>>().len(), 3);
    let arguments: Vec<&str> =
        calls.as_array().unwrap().iter().map(|call| call["function"]["arguments"].as_str().unwrap()).collect();
    assert_eq!(arguments, expected.iter().map(|(_, arguments)| arguments.as_str()).collect::<Vec<_>>());

    let cut = format!("{joined}{{\"city\":");
    let (upstream, proxy) = guarding(vec![one_call("get_weather", &cut), one_call("get_weather", PARIS)]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((calls_of(&answer), upstream.received().len()), (vec![pair("get_weather", PARIS)], 2));
}

fn call_ids(calls: &Value) -> impl Iterator<Item = String> {
    calls.as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn one_call_in_place_of_the_list_reaches_the_client_in_a_list() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": call("call_1", "get_weather", PARIS)});
    let (_upstream, proxy) = guarding(vec![Reply::json(200, &completion(message, "tool_calls"))]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(calls_of(&answer), [pair("get_weather", PARIS)]);
}

/// Starts a proxy with a single policy with these rules.
async fn ruled(replies: Vec<Reply>, rules: &str) -> (Server, Proxy) {
    let upstream = Server::replying(replies).await;
    let config = config(&upstream.url("/v1")) + &policy::table("ruled");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", rules))]).await;
    (upstream, proxy)
}

/// Returns name and arguments of all calls of the response.
fn calls_of(answer: &Answer) -> Vec<(String, String)> {
    let message = answer.message();
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    calls.map(|call| (text(&call["function"]["name"]), text(&call["function"]["arguments"]))).collect()
}

fn pair(name: &str, arguments: &str) -> (String, String) {
    (name.to_owned(), arguments.to_owned())
}

#[tokio::test]
async fn literal_faults_are_repaired_without_the_model() {
    let cases = [
        ("getWeather", PARIS, PARIS),
        ("functions.get_weather", PARIS, PARIS),
        ("get_weather", r#"{"City":"Paris"}"#, PARIS),
        ("get_weather", r#"{"city":"Paris","days":"3"}"#, r#"{"city":"Paris","days":3}"#),
        ("get_weather", r#"{"city":"Paris","days":null}"#, PARIS),
        ("get_weather", r#"{"city":"Paris","unit":"Celsius"}"#, r#"{"city":"Paris","unit":"celsius"}"#),
        ("get_weather", r#"{"requestBody":{"city":"Paris","days":"3"}}"#, r#"{"city":"Paris","days":3}"#),
        ("get_weather[ARGS]", r#"[ARGS]{"city":"Paris"}"#, PARIS),
    ];
    for (name, arguments, mended) in cases {
        let (upstream, proxy) = guarding(vec![one_call(name, arguments)]).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!(answer.verdict(), "repaired", "{name}({arguments})");
        let repaired = calls_of(&answer);
        assert_eq!(repaired[0].0, "get_weather");
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(value(&repaired[0].1), value(mended), "{name}({arguments})");
        assert_eq!(upstream.received().len(), 1);
        assert_eq!(answer.header("x-callwright-attempts"), Some("1"));
    }
}

#[tokio::test]
async fn a_repair_touches_nothing_else() {
    let arguments = r#"{ "city" : "Li\u00e8ge",  "days":"3" }"#;
    let message = json!({
        "role": "assistant", "content": "I look.", "reasoning_content": "hm", "x": {"b": 1, "a": 2},
        "tool_calls": [{"id": "call_9", "type": "function", "x_signature": "s", "function": {"name": "getWeather", "arguments": arguments, "y": 1}}],
    });
    let (_upstream, proxy) = guarding(vec![Reply::json(200, &completion(message.clone(), "tool_calls"))]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    let mut expected = completion(message, "tool_calls");
    let function = &mut expected["choices"][0]["message"]["tool_calls"][0]["function"];
    function["name"] = json!("get_weather");
    function["arguments"] = json!(r#"{"city":"Li\u00e8ge","days":3}"#);
    assert_eq!(answer.ok(), expected);
}

#[tokio::test]
async fn a_missing_parameter_goes_back_and_comes_corrected() {
    let (upstream, proxy) =
        guarding(vec![one_call("get_weather", r#"{"days":3}"#), one_call("get_weather", PARIS)]).await;
    let request = with_tools("Weather in Paris?");
    let answer = proxy.client().chat(&request).await;
    assert_eq!(answer.verdict(), "corrected");
    assert_eq!(answer.header("x-callwright-attempts"), Some("2"));
    assert_eq!(calls_of(&answer), [pair("get_weather", PARIS)]);
    let [first, second] = <[Received; 2]>::try_from(upstream.received()).unwrap();
    let (first, second) = (first.json(), second.json());
    let mut expected = first.clone();
    let faulty = json!({"role": "assistant", "content": null, "tool_calls": [call("call_upstream1", "get_weather", r#"{"days":3}"#)]});
    let feedback = second["messages"][2].clone();
    expected["messages"].as_array_mut().unwrap().extend([faulty, feedback.clone()]);
    assert_eq!(second, expected, "only the answer and the feedback are added");
    assert_eq!((feedback["role"].as_str(), feedback["tool_call_id"].as_str()), (Some("tool"), Some("call_upstream1")));
    let text = feedback["content"].as_str().unwrap();
    assert!(text.contains("city") && text.contains("get_weather"), "{text}");
}

#[tokio::test]
async fn an_unknown_tool_goes_back_with_the_names_that_exist() {
    let (upstream, proxy) = guarding(vec![one_call("fetch_forecast", PARIS), one_call("get_weather", PARIS)]).await;
    let answer = proxy.client().chat(&with_tools("Weather in Paris?")).await;
    assert_eq!(answer.verdict(), "corrected");
    let feedback = upstream.received()[1].last_message();
    let text = feedback["content"].as_str().unwrap();
    assert!(text.contains("get_weather") && text.contains("book_room"), "{text}");
}

#[tokio::test]
async fn arguments_that_are_no_object_go_back() {
    for arguments in ["", "not json", "[1,2]", "\"Paris\"", "{\"city\":\"Par"] {
        let (upstream, proxy) =
            guarding(vec![one_call("get_weather", arguments), one_call("get_weather", PARIS)]).await;
        let answer = proxy.client().chat(&with_tools("Weather in Paris?")).await;
        assert_eq!(calls_of(&answer), [pair("get_weather", PARIS)], "{arguments}");
        let sent_back = upstream.received()[1].messages();
        assert_eq!(sent_back[1]["tool_calls"][0]["function"]["arguments"], arguments, "as it came");
        assert_eq!(sent_back[2]["role"], "tool");
    }
}

#[tokio::test]
async fn feedback_that_is_answered_with_text_ends_the_turn() {
    let (_upstream, proxy) = guarding(vec![one_call("get_weather", "{}"), answer::text("Which city?")]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.message()["content"], "Which city?");
    assert!(calls_of(&answer).is_empty());
}

#[tokio::test]
async fn good_siblings_are_kept_and_not_asked_for_again() {
    let first = calls(&[call("call_good", "get_weather", PARIS), call("call_bad", "book_room", r#"{"hotel":"Ritz"}"#)]);
    let second = calls(&[call("call_new", "book_room", r#"{"hotel":"Ritz","nights":2}"#)]);
    let (upstream, proxy) = guarding(vec![first, second]).await;
    let answer = proxy.client().chat(&with_tools("Weather and a room?")).await;
    assert_eq!(answer.verdict(), "corrected");
    let mut both = calls_of(&answer);
    both.sort();
    assert_eq!(both, [pair("book_room", r#"{"hotel":"Ritz","nights":2}"#), pair("get_weather", PARIS)]);
    let messages = upstream.received()[1].messages();
    let answered: Vec<&str> = messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(answered, ["call_good", "call_bad"], "every call gets its answer");
}

#[tokio::test]
async fn the_static_limit_ends_the_loop_with_the_last_answer() {
    let faulty = || one_call("get_weather", r#"{"days":3}"#);
    let (upstream, proxy) =
        guarding(vec![faulty(), faulty(), faulty(), one_call("get_weather", r#"{"days":4}"#)]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.verdict(), "faulty");
    assert_eq!(answer.header("x-callwright-attempts"), Some("4"));
    assert_eq!(upstream.received().len(), 4);
    assert_eq!(calls_of(&answer), [pair("get_weather", r#"{"days":4}"#)], "as the model gave it");
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("feedback_exhausted_total", &[("kind", "static_feedback")]), 1.0);
    assert_eq!(metrics.sum("diagnoses_total", &[("code", "E3.4")]), 4.0);
}

#[tokio::test]
async fn policy_sets_the_static_limit() {
    let faulty = || one_call("get_weather", "{}");
    let (upstream, proxy) = ruled(vec![faulty(), faulty()], "limits: {static_feedback: 1}").await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.verdict(), "faulty");
    assert_eq!(upstream.received().len(), 2);
    let (upstream, proxy) = ruled(vec![faulty()], "limits: {static_feedback: 0}").await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.verdict(), "faulty");
    assert_eq!(upstream.received().len(), 1);
    let (upstream, proxy) = ruled(vec![faulty(), faulty()], "limits: {upstream_requests: 2}").await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.verdict(), "faulty");
    assert_eq!(upstream.received().len(), 2);
    let (upstream, proxy) = ruled(vec![faulty(), faulty()], "limits: {tokens: 50}").await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.verdict(), "faulty");
    assert_eq!(upstream.received().len(), 2, "25 tokens an attempt");
}

#[tokio::test]
async fn on_exhausted_strip_takes_the_faulty_calls_away() {
    let both = calls(&[call("call_good", "get_weather", PARIS), call("call_bad", "book_room", "{}")]);
    let (_upstream, proxy) = ruled(vec![both], "limits: {static_feedback: 0}\non_exhausted: strip").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(calls_of(&answer), [pair("get_weather", PARIS)]);
    assert_eq!(answer.ok()["choices"][0]["finish_reason"], "tool_calls");
    let (_upstream, proxy) =
        ruled(vec![one_call("get_weather", "{}")], "limits: {static_feedback: 0}\non_exhausted: strip").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert!(answer.message().get("tool_calls").is_none_or(|calls| calls.as_array().is_none_or(Vec::is_empty)));
    assert_eq!(answer.ok()["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn on_exhausted_error_is_a_502() {
    let (_upstream, proxy) =
        ruled(vec![one_call("get_weather", "{}")], "limits: {static_feedback: 0}\non_exhausted: error").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.error(502)["code"], "feedback_exhausted");
}

#[tokio::test]
async fn an_upstream_that_fails_in_a_round_leaves_the_first_answer() {
    let refused = Reply::json(500, &json!({"error": {"message": "no", "type": "t", "param": null, "code": null}}));
    for failure in [refused, Reply::reset(), Reply::body(200, &[], "half")] {
        let (upstream, proxy) = guarding(vec![one_call("get_weather", "{}"), failure]).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!(answer.verdict(), "faulty");
        assert_eq!(calls_of(&answer), [pair("get_weather", "{}")]);
        assert_eq!(upstream.received().len(), 2, "no request that was read is sent again");
    }
}

#[tokio::test]
async fn unknown_parameters_are_ruled_by_policy() {
    let odd = r#"{"city":"Paris","mood":"glad"}"#;
    let (_upstream, proxy) = ruled(vec![one_call("get_weather", odd)], "scan: {unknown_parameters: drop}").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), calls_of(&answer)), ("repaired", vec![pair("get_weather", PARIS)]));
    let (_upstream, proxy) =
        ruled(vec![one_call("get_weather", odd), one_call("get_weather", PARIS)], "scan: {unknown_parameters: refuse}")
            .await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.verdict(), "corrected");
}

#[tokio::test]
async fn repairs_can_be_switched_off() {
    let rules = "repair: {names: false, values: false, defaults: false}";
    let (upstream, proxy) = ruled(vec![one_call("getWeather", PARIS), one_call("get_weather", PARIS)], rules).await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.verdict(), "corrected");
    assert_eq!(upstream.received().len(), 2);
}

#[tokio::test]
async fn mode_off_judges_nothing() {
    let (upstream, proxy) = ruled(vec![one_call("getWeather", "{}")], "mode: \"off\"").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), calls_of(&answer)), ("unguarded", vec![pair("getWeather", "{}")]));
    assert_eq!(upstream.received().len(), 1);
}

#[tokio::test]
async fn usage_is_that_of_the_answer_or_the_sum() {
    let replies = || vec![one_call("get_weather", "{}"), one_call("get_weather", PARIS)];
    let (_upstream, proxy) = guarding(replies()).await;
    let debug = [("x-callwright-debug", "true")];
    let answer = proxy.client().chat_with(&with_tools("Weather?"), &debug).await.ok();
    assert_eq!(answer["usage"]["total_tokens"], 25);
    let (_upstream, proxy) = ruled(replies(), "usage: sum").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await.ok();
    assert_eq!(answer["usage"], json!({"prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50}));
}

#[tokio::test]
async fn debug_shows_what_was_found_and_done() {
    let (_upstream, proxy) =
        guarding(vec![one_call("getWeather", r#"{"days":"3"}"#), one_call("get_weather", PARIS)]).await;
    let answer = proxy.client().chat_with(&with_tools("Weather?"), &[("x-callwright-debug", "true")]).await;
    let debug = answer.ok()["callwright"].clone();
    let text = debug.to_string();
    for expected in ["E3.4", "tool_renamed", "type_coerced", "get_weather", "book_room"] {
        assert!(text.contains(expected), "{expected} in {debug:#}");
    }
    assert_eq!(
        debug["trace"].as_str().or(debug["trace_id"].as_str()),
        answer.header("x-callwright-trace"),
        "{debug:#}"
    );
    assert_eq!(debug["verdict"], "corrected");
}

#[tokio::test]
async fn without_debug_the_answer_holds_nothing_of_ours() {
    let (_upstream, proxy) = guarding(vec![one_call("getWeather", PARIS)]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await.ok();
    assert!(answer.get("callwright").is_none(), "{answer}");
}

#[tokio::test]
async fn a_tool_without_a_schema_takes_anything() {
    let mut request = plain("Do it");
    request["tools"] = json!([{"type": "function", "function": {"name": "do_it"}}]);
    let (_upstream, proxy) = guarding(vec![one_call("do_it", r#"{"x":[1]}"#)]).await;
    let answer = proxy.client().chat(&request).await;
    assert_eq!((answer.verdict(), calls_of(&answer)), ("clean", vec![pair("do_it", r#"{"x":[1]}"#)]));
}

#[tokio::test]
async fn a_broken_schema_is_no_reason_to_refuse_calls() {
    let mut request = plain("Do it");
    request["tools"] = json!([{"type": "function", "function": {"name": "do_it", "parameters": {"type": "object", "properties": {"x": {"type": "strnig", "pattern": "("}}}}}]);
    let (upstream, proxy) = guarding(vec![one_call("do_it", r#"{"x":"y"}"#)]).await;
    let answer = proxy.client().chat(&request).await;
    assert_eq!(calls_of(&answer), [pair("do_it", r#"{"x":"y"}"#)]);
    assert_eq!(upstream.received().len(), 1);
}
