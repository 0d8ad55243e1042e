//! Long streams: what counts is the content that is kept, not the bytes on the wire. Beyond the limit an answer is
//! forwarded without validation, and never cut.

use crate::support::answer::{call_begin, call_piece, chunk, finish, role, text_chunk};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Assembled, Proxy, Reply, Server, config, policy};
use serde_json::{Value, json};

/// More than the default of `pipeline.max_stream_bytes`.
const WIRE_BYTES: usize = 20 << 20;

/// Bytes around each piece of content. OpenAI sends about 300.
const PADDING: usize = 2_000;

/// Pieces of a stream that has more than `WIRE_BYTES`.
const PIECES: usize = WIRE_BYTES / PADDING;

/// Limit for answers that are longer than what is kept.
const FEW_BYTES: usize = 2_000;

/// Returns a text of this number of pieces of one character.
fn text(pieces: usize) -> String {
    (0..pieces).map(|at| if at % 7 == 0 { ' ' } else { char::from(b'a' + u8::try_from(at % 26).unwrap()) }).collect()
}

fn arguments(pieces: usize) -> String {
    json!({"city": text(pieces)}).to_string()
}

/// Returns chunks with one character of `content` each, by `piece`, and `padding` bytes around it.
fn letters(content: &str, padding: usize, piece: impl Fn(&str) -> Value) -> Vec<Value> {
    let pieces = content.chars().map(|letter| {
        let mut chunk = piece(&letter.to_string());
        chunk["obfuscation"] = "x".repeat(padding).into();
        chunk
    });
    pieces.collect()
}

/// A stream, and its message.
struct Case {
    name: &'static str,
    chunks: Vec<Value>,
    content: String,
    reasoning: String,
    arguments: String,
}

/// Returns a text, reasoning before a short text, and a call, each in pieces of one character.
fn cases(pieces: usize, padding: usize) -> Vec<Case> {
    let case = |name, chunks| Case {
        name,
        chunks,
        content: String::new(),
        reasoning: String::new(),
        arguments: String::new(),
    };
    let (long, argument) = (text(pieces), arguments(pieces));
    let of_text = [vec![role()], letters(&long, padding, text_chunk), vec![finish("stop")]].concat();
    let think = |piece: &str| chunk(json!({ "reasoning_content": piece }));
    let thought = [vec![role()], letters(&long, padding, think), vec![text_chunk("Yes."), finish("stop")]].concat();
    let begun = vec![role(), call_begin(0, "a", "get_weather")];
    let called =
        [begun, letters(&argument, padding, |piece| call_piece(0, piece)), vec![finish("tool_calls")]].concat();
    vec![
        Case { content: long.clone(), ..case("text", of_text) },
        Case { content: "Yes.".into(), reasoning: long, ..case("reasoning", thought) },
        Case { arguments: argument, ..case("arguments", called) },
    ]
}

fn check(case: &Case, mode: &str, assembled: &Assembled) {
    let choice = assembled.choice();
    let reasoning = choice.others.get("reasoning_content").cloned().unwrap_or_default();
    let sent: Vec<&Value> = choice.calls.iter().map(|call| &call["function"]["arguments"]).collect();
    let expected = if case.arguments.is_empty() { vec![] } else { vec![json!(case.arguments)] };
    let place = format!("{} in mode {mode}", case.name);
    assert!(choice.content == case.content && reasoning == case.reasoning, "{place}: other text");
    assert!(sent == expected.iter().collect::<Vec<_>>(), "{place}: other arguments");
    let reason = if expected.is_empty() { "stop" } else { "tool_calls" };
    assert_eq!(choice.finish_reason.as_deref(), Some(reason), "{place}");
}

async fn proxy(upstream: &Server, mode: &str, pipeline: &str) -> Proxy {
    let config = config(&upstream.url("/v1")) + pipeline + &policy::table("ruled");
    Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", &format!("mode: {mode}")))]).await
}

async fn unjudged(proxy: &Proxy) -> f64 {
    proxy.metrics().await.sum("unjudged_answers_total", &[("reason", "size")])
}

#[tokio::test]
async fn a_stream_of_twenty_mebibytes_arrives_in_every_mode() {
    let cases = cases(PIECES, PADDING);
    for mode in ["guard", "shadow", "off"] {
        let upstream = Server::replying(cases.iter().map(|case| Reply::events(&case.chunks)).collect::<Vec<_>>()).await;
        let proxy = proxy(&upstream, mode, "").await;
        for case in &cases {
            let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
            check(case, mode, &assembled);
        }
        assert_eq!(unjudged(&proxy).await, 0.0, "its content is short, so that it is judged");
    }
}

#[tokio::test]
async fn a_long_call_is_still_repaired() {
    let argument = arguments(PIECES);
    let chunks = [
        vec![role(), call_begin(0, "a", "getWeather")],
        letters(&argument, PADDING, |piece| call_piece(0, piece)),
        vec![finish("tool_calls")],
    ]
    .concat();
    let upstream = Server::always(Reply::events(&chunks)).await;
    let proxy = proxy(&upstream, "guard", "").await;
    let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
    assert_eq!(assembled.choice().calls[0]["function"], json!({"name": "get_weather", "arguments": argument}));
}

#[tokio::test]
async fn beyond_the_limit_an_answer_is_forwarded_unjudged_and_counted() {
    let cases = cases(4 * FEW_BYTES, 0);
    for mode in ["guard", "shadow", "off"] {
        let upstream = Server::replying(cases.iter().map(|case| Reply::events(&case.chunks)).collect::<Vec<_>>()).await;
        let proxy = proxy(&upstream, mode, &format!("[pipeline]\nmax_stream_bytes = {FEW_BYTES}\n")).await;
        for case in &cases {
            let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
            check(case, mode, &assembled);
        }
        let expected = if mode == "off" { 0.0 } else { 3.0 };
        assert_eq!(unjudged(&proxy).await, expected, "{mode}");
        let traces = proxy.traces_after_stop().await;
        assert!(traces.iter().all(|trace| trace["verdict"] == "unguarded"), "{traces:#?}");
    }
}

#[tokio::test]
async fn without_tools_a_long_stream_is_a_text() {
    let case = cases(4 * FEW_BYTES, 0).remove(0);
    let upstream = Server::always(Reply::events(&case.chunks)).await;
    let proxy = proxy(&upstream, "guard", &format!("[pipeline]\nmax_stream_bytes = {FEW_BYTES}\n")).await;
    let assembled = proxy.client().chat_stream(&streamed(plain("Weather?"))).await.assemble().await;
    check(&case, "guard", &assembled);
    assert_eq!(unjudged(&proxy).await, 0.0);
}

#[tokio::test]
async fn calls_around_the_limit_stay_well_formed_whatever_their_form() {
    let (first, second) = (arguments(3 * FEW_BYTES), arguments(10));
    let begin = |id: &str| json!({"id": id, "type": "function", "function": {"name": "get_weather", "arguments": ""}});
    let of = |call: Value| chunk(json!({ "tool_calls": [call] }));
    let without_index = [
        vec![role(), text_chunk("I look."), of(begin("a"))],
        letters(&first, 0, |piece| of(json!({"function": {"arguments": piece}}))),
        vec![of(begin("b")), of(json!({"function": {"arguments": second}})), finish("stop")],
    ]
    .concat();
    let early_end = [
        vec![role(), text_chunk("I look."), call_begin(1, "a", "get_weather"), finish("tool_calls")],
        letters(&first, 0, |piece| call_piece(1, piece)),
        vec![call_begin(2, "b", "get_weather"), call_piece(2, &second)],
    ]
    .concat();
    for chunks in [without_index, early_end] {
        let upstream = Server::always(Reply::events(&chunks)).await;
        let proxy = proxy(&upstream, "guard", &format!("[pipeline]\nmax_stream_bytes = {FEW_BYTES}\n")).await;
        let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
        let choice = assembled.choice();
        let sent: Vec<&str> = choice.calls.iter().filter_map(|call| call["function"]["arguments"].as_str()).collect();
        assert!(sent == [first.as_str(), second.as_str()], "other arguments");
        assert_eq!((choice.content.as_str(), choice.finish_reason.as_deref()), ("I look.", Some("tool_calls")));
        assert_eq!(unjudged(&proxy).await, 1.0);
    }
}
