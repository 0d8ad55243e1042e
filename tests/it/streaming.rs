//! Text is streamed as it arrives; calls are held back until they are judged; the stream stays valid for every client.

use crate::support::answer::{self, call_begin, call_chunks, call_piece, chunk, chunk_of, finish, role, text_chunk};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Assembled, Event, Gate, Proxy, Reply, Server, config, policy, rooms};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

async fn proxy_of(upstream: &Server) -> Proxy {
    Proxy::start(config(&upstream.url("/v1"))).await
}

async fn assembled(proxy: &Proxy, request: Value) -> Assembled {
    proxy.client().chat_stream(&streamed(request)).await.assemble().await
}

/// Returns the calls of the only choice: id, name, arguments.
fn calls_of(assembled: &Assembled) -> Vec<(&str, &str, &str)> {
    fn text(value: &Value) -> &str {
        value.as_str().unwrap()
    }
    let calls = assembled.choice().calls.iter();
    calls
        .map(|call| (text(&call["id"]), text(&call["function"]["name"]), text(&call["function"]["arguments"])))
        .collect()
}

#[tokio::test]
async fn text_flows_before_the_upstream_ends_despite_offered_tools() {
    let (first, second) = (Gate::closed(), Gate::closed());
    let reply = Reply::stream()
        .event(&role())
        .event(&text_chunk("It "))
        .wait(&first)
        .event(&text_chunk("rains."))
        .wait(&second);
    let upstream = Server::always(reply.event(&finish("stop")).done()).await;
    let proxy = proxy_of(&upstream).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    assert_eq!(stream.header("x-callwright-trace").map(str::len), Some(32));
    assert_eq!(stream.next_chunk().await["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(stream.next_chunk().await["choices"][0]["delta"]["content"], "It ");
    first.open();
    assert_eq!(stream.next_chunk().await["choices"][0]["delta"]["content"], "rains.");
    second.open();
    assert_eq!(stream.rest().await.last(), Some(&Event::Done));
}

#[tokio::test]
async fn unknown_deltas_flow_too() {
    let gate = Gate::closed();
    let reasoning = chunk(json!({"reasoning_content": "Hm, rain."}));
    let reply = Reply::stream()
        .event(&role())
        .event(&reasoning)
        .wait(&gate)
        .event(&text_chunk("Rain."))
        .event(&finish("stop"))
        .done();
    let upstream = Server::always(reply).await;
    let proxy = proxy_of(&upstream).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    stream.next_chunk().await;
    assert_eq!(stream.next_chunk().await, reasoning);
    gate.open();
    stream.rest().await;
}

#[tokio::test]
async fn a_call_is_held_until_it_is_whole_and_judged() {
    let gate = Gate::closed();
    let reply = Reply::stream()
        .event(&role())
        .event(&text_chunk("I look."))
        .event(&call_begin(0, "call_1", "getWeather"))
        .event(&call_piece(0, "{\"city\":"))
        .wait(&gate)
        .event(&call_piece(0, "\"Paris\"}"))
        .event(&finish("tool_calls"));
    let upstream = Server::always(reply.done()).await;
    let proxy = proxy_of(&upstream).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    stream.next_chunk().await;
    assert_eq!(stream.next_chunk().await["choices"][0]["delta"]["content"], "I look.");
    // The proxy has sent everything that precedes the complete call; the rest comes after the gate opens.
    gate.open();
    let rest = stream.rest().await;
    let all: Vec<Event> = [Event::Json(role()), Event::Json(text_chunk("I look."))].into_iter().chain(rest).collect();
    let assembled = Assembled::of_events(&all);
    assert_eq!(calls_of(&assembled), [("call_1", "get_weather", PARIS)]);
    assert_eq!(assembled.choice().finish_reason.as_deref(), Some("tool_calls"));
}

#[tokio::test]
async fn repaired_calls_come_as_well_formed_deltas() {
    let chunks = call_chunks(&[
        ("call_1", "getWeather", r#"{"City":"Paris"}"#),
        ("call_2", "book_room", r#"{"hotel":"Ritz","nights":"2"}"#),
    ]);
    let upstream = Server::always(Reply::events(&chunks)).await;
    let proxy = proxy_of(&upstream).await;
    let assembled = assembled(&proxy, with_tools("Both")).await;
    assert_eq!(
        calls_of(&assembled),
        [("call_1", "get_weather", PARIS), ("call_2", "book_room", r#"{"hotel":"Ritz","nights":2}"#)]
    );
    assert_eq!((assembled.id.as_str(), assembled.model.as_str()), ("chatcmpl-upstream", "gpt-test-2026-01-01"));
    assert_eq!(assembled.choice().role.as_deref(), Some("assistant"));
}

/// Returns the same chunks as another completion of another model.
fn of_another(chunks: Vec<Value>) -> Vec<Value> {
    let renamed = chunks.into_iter().map(|mut chunk| {
        chunk["id"] = json!("chatcmpl-second");
        chunk["model"] = json!("gpt-test-fallback");
        chunk
    });
    renamed.collect()
}

#[tokio::test]
async fn a_corrected_stream_has_one_id_one_model_and_one_role() {
    let first = call_chunks(&[("call_1", "get_weather", "{}")]);
    let second = of_another(call_chunks(&[("call_2", "get_weather", PARIS)]));
    let upstream = Server::replying([Reply::events(&first), Reply::events(&second)]).await;
    let proxy = proxy_of(&upstream).await;
    let assembled = assembled(&proxy, with_tools("Weather?")).await;
    assert_eq!(calls_of(&assembled), [("call_2", "get_weather", PARIS)], "the faulty call never reached the client");
    assert_eq!(assembled.id, "chatcmpl-upstream");
    assert_eq!(upstream.received().len(), 2);
    assert_eq!(upstream.received()[1].last_message()["role"], "tool");
}

#[tokio::test]
async fn text_that_was_sent_is_not_repeated() {
    let mut first = vec![role(), text_chunk("I look it up. ")];
    first.extend(call_chunks(&[("call_1", "get_weather", "{}")]).into_iter().skip(1));
    let second = of_another([vec![role(), text_chunk("In which city?")], vec![finish("stop")]].concat());
    let upstream = Server::replying([Reply::events(&first), Reply::events(&second)]).await;
    let proxy = proxy_of(&upstream).await;
    let assembled = assembled(&proxy, with_tools("Weather?")).await;
    let content = &assembled.choice().content;
    assert_eq!(content.matches("I look it up.").count(), 1, "{content}");
    assert_eq!(content.matches("In which city?").count(), 1, "{content}");
    assert_eq!(assembled.choice().finish_reason.as_deref(), Some("stop"));
}

/// Returns a reasoning delta in OpenRouter's format: the text for people, and the details for the provider only.
fn reasoning(text: &str, signature: &str) -> Value {
    chunk(
        json!({"reasoning": text, "reasoning_details": [{"type": "reasoning.encrypted", "data": signature, "index": 0}]}),
    )
}

#[tokio::test]
async fn reasoning_signatures_belong_to_the_delivered_attempt() {
    let attempt = |signature: &str, text: &str, call: &str, arguments: &str| {
        let mut chunks = vec![role(), reasoning("Hm. ", signature), text_chunk(text)];
        chunks.extend(call_chunks(&[(call, "get_weather", arguments)]).into_iter().skip(1));
        Reply::events(&chunks)
    };
    for text in ["", "I look it up."] {
        let second = if text.is_empty() { "" } else { "In Paris, then." };
        let upstream =
            Server::replying([attempt("first", text, "call_1", "{}"), attempt("second", second, "call_2", PARIS)])
                .await;
        let proxy = proxy_of(&upstream).await;
        let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
        let assembled = stream.assemble().await;
        let raw = stream.raw();
        assert_eq!(calls_of(&assembled), [("call_2", "get_weather", PARIS)]);
        assert!(!raw.contains("\"first\"") && raw.matches("\"second\"").count() == 1, "{raw}");
        let expected = if text.is_empty() { String::new() } else { format!("{text}\n\n{second}") };
        assert_eq!(assembled.choice().content, expected, "a paragraph separates the attempts");
    }
}

#[tokio::test]
async fn accepted_signatures_arrive_once_and_reasoning_flows() {
    let gate = Gate::closed();
    let chunks = [role(), reasoning("Hm. ", "only"), text_chunk("It rains.")];
    let begun = chunks.iter().fold(Reply::stream(), Reply::event).wait(&gate);
    let upstream = Server::always(begun.event(&finish("stop")).done()).await;
    let proxy = proxy_of(&upstream).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    stream.await_raw("It rains.").await;
    assert!(stream.raw().contains("\"Hm. \"") && !stream.raw().contains("\"only\""), "{}", stream.raw());
    gate.open();
    stream.rest().await;
    assert_eq!(stream.raw().matches("\"only\"").count(), 1, "{}", stream.raw());
}

#[tokio::test]
async fn a_usage_chunk_that_the_upstream_sends_unasked_is_passed_on() {
    let mut usage = chunk_of(json!([]));
    usage["usage"] = json!({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25});
    for calls in [&[("call_1", "get_weather", PARIS)], &[("call_1", "getWeather", PARIS)]] {
        let chunks = [call_chunks(calls), vec![usage.clone()]].concat();
        let upstream = Server::always(Reply::events(&chunks)).await;
        let assembled = assembled(&proxy_of(&upstream).await, with_tools("Weather?")).await;
        assert_eq!(assembled.usage, Some(usage["usage"].clone()));
    }
}

#[tokio::test]
async fn text_of_a_rejected_attempt_never_reaches_the_client() {
    let mut faulty = vec![role(), text_chunk("Second try. ")];
    faulty.extend(call_chunks(&[("call_2", "get_weather", "{}")]).into_iter().skip(1));
    let upstream = Server::replying([
        Reply::events(&call_chunks(&[("call_1", "get_weather", "{}")])),
        Reply::events(&faulty),
        Reply::events(&call_chunks(&[("call_3", "get_weather", PARIS)])),
    ])
    .await;
    let proxy = proxy_of(&upstream).await;
    let assembled = assembled(&proxy, with_tools("Weather?")).await;
    assert_eq!(assembled.choice().content, "");
    assert_eq!(calls_of(&assembled), [("call_3", "get_weather", PARIS)]);
}

#[tokio::test]
async fn exhausted_streams_end_as_policy_says() {
    let chunks = call_chunks(&[("call_1", "get_weather", PARIS), ("call_2", "get_weather", "{}")]);
    for (rule, expected) in [("pass", 2), ("strip", 1), ("error", 0)] {
        let upstream = Server::always(Reply::events(&chunks)).await;
        let rules = format!("limits: {{static_feedback: 0}}\non_exhausted: {rule}");
        let config = config(&upstream.url("/v1")) + &policy::table("ruled");
        let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", &rules))]).await;
        let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
        if rule == "error" && stream.status != 200 {
            assert_eq!(stream.status, 502);
            continue;
        }
        let assembled = stream.assemble().await;
        let calls = assembled.choices.get(&0).map_or(0, |choice| choice.calls.len());
        assert_eq!(calls, expected, "{rule}: {assembled:?}");
        if rule == "error" {
            assert_eq!(assembled.error.unwrap()["code"], "feedback_exhausted");
        }
    }
}

#[tokio::test]
async fn every_choice_gets_its_own_finish_chunk() {
    let call = |index: usize, arguments: &str| {
        let call = json!({"index": 0, "id": format!("call_{index}"), "type": "function", "function": {"name": "getWeather", "arguments": arguments}});
        chunk_of(json!([{"index": index, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": null}]))
    };
    let end = |index: usize, reason: &str| chunk_of(json!([{"index": index, "delta": {}, "finish_reason": reason}]));
    let text = chunk_of(json!([{"index": 2, "delta": {"role": "assistant", "content": "Hm."}, "finish_reason": null}]));
    let chunks = [call(1, "{}"), text, call(0, PARIS), end(2, "stop"), end(0, "tool_calls"), end(1, "tool_calls")];
    let upstream = Server::replying([Reply::events(&chunks)]).await;
    let proxy = proxy_of(&upstream).await;
    let mut request = with_tools("Weather?");
    request["n"] = json!(3);
    let assembled = assembled(&proxy, request).await;
    assert_eq!(assembled.choices.len(), 3);
    assert_eq!(assembled.choices[&0].calls[0]["function"]["name"], "get_weather");
    assert_eq!(assembled.choices[&2].content, "Hm.");
    assert_eq!(upstream.received().len(), 1, "several choices are never sent back");
}

#[tokio::test]
async fn without_parallel_calls_one_call_streams_out() {
    let upstream =
        Server::always(Reply::events(&call_chunks(&[("a", "get_weather", PARIS), ("b", "get_weather", PARIS)]))).await;
    let proxy = proxy_of(&upstream).await;
    let mut request = with_tools("Weather?");
    request["parallel_tool_calls"] = json!(false);
    assert_eq!(calls_of(&assembled(&proxy, request).await), [("a", "get_weather", PARIS)]);
}

#[tokio::test]
async fn a_catalog_call_streams_as_its_final_text() {
    let upstream = Server::replying([
        Reply::events(&call_chunks(&[("call_1", "listRooms", r#"{"floor":2}"#)])),
        Reply::events(&of_another(answer::text_chunks("Amber and Birch."))),
    ])
    .await;
    let api = Server::always(Reply::json(200, &json!(["Amber", "Birch"]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let mut request = plain("Which rooms?");
    request["model"] = json!("helper");
    let assembled = assembled(&proxy, request).await;
    assert_eq!(assembled.choice().content, "Amber and Birch.");
    assert!(assembled.choice().calls.is_empty());
    assert_eq!(assembled.choice().finish_reason.as_deref(), Some("stop"));
    assert_eq!(api.only_request().target, "/rooms?floor=2");
}

#[tokio::test]
async fn while_a_call_is_held_the_client_gets_empty_deltas() {
    let gate = Gate::closed();
    let reply = Reply::stream().event(&role()).event(&call_begin(0, "call_1", "get_weather")).wait(&gate);
    let upstream = Server::always(reply.event(&call_piece(0, PARIS)).event(&finish("tool_calls")).done()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "[pipeline]\nkeep_alive_seconds = 1\n").await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    stream.next_chunk().await;
    let mut empty = role();
    empty["choices"] = json!([{"index": 0, "delta": {}, "finish_reason": null}]);
    for _ in 0..2 {
        assert_eq!(stream.next_chunk().await, empty);
    }
    gate.open();
    let rest = stream.rest().await;
    assert_eq!(rest.last(), Some(&Event::Done));
    assert_eq!(calls_of(&Assembled::of_events(&[vec![Event::Json(role())], rest].concat())).len(), 1);
    assert!(!stream.raw().contains(": ping\n"), "clients skip comments: {}", stream.raw());
}

#[tokio::test]
async fn debug_comes_in_the_last_chunk() {
    let upstream = Server::replying([
        Reply::events(&call_chunks(&[("call_1", "get_weather", "{}")])),
        Reply::events(&call_chunks(&[("call_2", "getWeather", PARIS)])),
    ])
    .await;
    let proxy = proxy_of(&upstream).await;
    let fields = [("x-callwright-debug", "true")];
    let mut stream = proxy.client().chat_stream_with(&streamed(with_tools("Weather?")), &fields).await;
    let trace = stream.header("x-callwright-trace").unwrap().to_owned();
    let events = stream.rest().await;
    let debug = Assembled::of_events(&events).debug.unwrap_or_else(|| panic!("no debug: {events:?}"));
    assert!(debug.to_string().contains(&trace), "{debug:#}");
    assert_eq!((&debug["verdict"], &debug["attempts"]), (&json!("corrected"), &json!(2)), "{debug:#}");
    let last_chunk = &events[events.len() - 2];
    assert!(matches!(last_chunk, Event::Json(chunk) if chunk["callwright"].is_object()), "{last_chunk:?}");
}

#[tokio::test]
async fn verdict_and_attempts_of_a_stream_are_in_its_trace() {
    let upstream = Server::replying([
        Reply::events(&call_chunks(&[("call_1", "get_weather", "{}")])),
        Reply::events(&call_chunks(&[("call_2", "get_weather", PARIS)])),
    ])
    .await;
    let proxy = proxy_of(&upstream).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    assert_eq!(stream.header("x-callwright-verdict"), None, "the head of a stream leaves before the verdict");
    let id = stream.header("x-callwright-trace").unwrap().to_owned();
    stream.rest().await;
    let traces = proxy.traces_after_stop().await;
    assert_eq!((&traces[0]["id"], &traces[0]["verdict"]), (&json!(id), &json!("corrected")));
    assert_eq!(traces[0]["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(traces[0]["stream"], true);
}
