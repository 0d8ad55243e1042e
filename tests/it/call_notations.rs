//! Undocumented call notations of providers: clients receive the documented one.

use crate::support::answer::{self, chunk, chunk_of, completion, finish, role};
use crate::support::request::{streamed, with_tools};
use crate::support::{Answer, Assembled, Event, Proxy, Reply, Server, config};
use serde_json::{Value, json};

async fn events(reply: Reply) -> Vec<Event> {
    let upstream = Server::replying([reply]).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.rest().await
}

async fn whole(reply: Reply) -> Answer {
    let upstream = Server::replying([reply]).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    proxy.client().chat(&with_tools("Weather?")).await
}

/// Checks that the stream contains these calls `(name, arguments)` with distinct ids, and that it ends with
/// `tool_calls`.
fn check_calls(events: &[Event], expected: &[(&str, &str)]) -> Vec<String> {
    let assembled = Assembled::of_events(events);
    let choice = assembled.choice();
    assert_eq!(choice.finish_reason.as_deref(), Some("tool_calls"));
    let calls: Vec<(&str, &str)> = choice
        .calls
        .iter()
        .map(|call| (call["function"]["name"].as_str().unwrap(), call["function"]["arguments"].as_str().unwrap()))
        .collect();
    assert_eq!(calls, expected);
    let ids: Vec<String> = choice.calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect();
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert!(distinct.len() == ids.len() && ids.iter().all(|id| !id.is_empty()), "{ids:?}");
    ids
}

fn call_delta(delta: Value) -> Value {
    chunk(json!({"tool_calls": [delta]}))
}

const PARIS: &str = r#"{"city":"Paris"}"#;
const ROME: &str = r#"{"city":"Rome"}"#;

#[tokio::test]
async fn call_deltas_without_index_are_told_apart_by_their_ids() {
    let reply = Reply::stream()
        .event(&role())
        .event(&call_delta(
            json!({"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\""}}),
        ))
        .event(&call_delta(json!({"function": {"arguments": ":\"Paris\"}"}})))
        .event(&call_delta(
            json!({"id": "call_2", "type": "function", "function": {"name": "get_weather", "arguments": ROME}}),
        ))
        .event(&finish("tool_calls"));
    let ids = check_calls(&events(reply.done()).await, &[("get_weather", PARIS), ("get_weather", ROME)]);
    assert_eq!(ids, ["call_1", "call_2"]);
}

#[tokio::test]
async fn call_deltas_without_id_get_one() {
    let reply = Reply::stream()
        .event(&role())
        .event(&call_delta(json!({"index": 0, "function": {"name": "get_weather", "arguments": PARIS}})))
        .event(&call_delta(json!({"index": 1, "function": {"name": "get_weather", "arguments": ROME}})))
        .event(&finish("tool_calls"));
    let ids = check_calls(&events(reply.done()).await, &[("get_weather", PARIS), ("get_weather", ROME)]);
    assert!(ids.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{ids:?}");
}

#[tokio::test]
async fn call_deltas_without_index_or_id_are_separated_by_name() {
    let reply = Reply::stream()
        .event(&role())
        .event(&call_delta(json!({"function": {"name": "get_weather", "arguments": PARIS}})))
        .event(&call_delta(json!({"function": {"name": "get_weather", "arguments": ROME}})))
        .event(&finish("tool_calls"));
    check_calls(&events(reply.done()).await, &[("get_weather", PARIS), ("get_weather", ROME)]);
}

#[tokio::test]
async fn two_calls_under_one_index_become_two() {
    let reply = Reply::stream()
        .event(&role())
        .event(&call_delta(json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": PARIS}})))
        .event(&call_delta(json!({"index": 0, "id": "call_2", "type": "function", "function": {"name": "get_weather", "arguments": ROME}})))
        .event(&finish("tool_calls"));
    let ids = check_calls(&events(reply.done()).await, &[("get_weather", PARIS), ("get_weather", ROME)]);
    assert_eq!(ids, ["call_1", "call_2"]);
}

#[tokio::test]
async fn arguments_sent_as_an_object_become_text() {
    let reply = Reply::stream()
        .event(&role())
        .event(&call_delta(json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}})))
        .event(&finish("tool_calls"));
    check_calls(&events(reply.done()).await, &[("get_weather", PARIS)]);
}

#[tokio::test]
async fn finish_reason_stop_with_calls_becomes_tool_calls() {
    let mut chunks = answer::call_chunks(&[("call_1", "get_weather", PARIS)]);
    *chunks.last_mut().unwrap() = finish("stop");
    let ids = check_calls(&events(Reply::events(&chunks)).await, &[("get_weather", PARIS)]);
    assert_eq!(ids, ["call_1"]);
    let message =
        json!({"role": "assistant", "content": null, "tool_calls": [answer::call("call_1", "get_weather", PARIS)]});
    let answer = whole(Reply::json(200, &completion(message, "stop"))).await;
    assert_eq!(answer.ok()["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn the_call_and_its_finish_may_come_in_one_chunk() {
    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": PARIS}});
    let all = chunk_of(
        json!([{"index": 0, "delta": {"role": "assistant", "content": null, "tool_calls": [call]}, "finish_reason": "tool_calls"}]),
    );
    check_calls(&events(Reply::events([&all])).await, &[("get_weather", PARIS)]);
}

#[tokio::test]
async fn calls_without_id_in_a_whole_answer_get_one() {
    let call = json!({"type": "function", "function": {"name": "get_weather", "arguments": PARIS}});
    let twin = answer::call("twin", "get_weather", ROME);
    let answer = whole(answer::calls(&[call, twin.clone(), twin])).await;
    let message = answer.message();
    let calls = message["tool_calls"].as_array().unwrap();
    let ids: std::collections::BTreeSet<&str> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3, "{message}");
    assert!(ids.contains("twin"), "{message}");
}
