//! The end of a chat stream: one finish reason per choice, behind its last delta, that follows from what was sent.

use crate::support::answer::{call_begin, call_piece, chunk, chunk_of, completion, finish, role, text_chunk};
use crate::support::client::Event;
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Assembled, Proxy, Reply, Server, config};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;
const TEXT: &str = "It rains in Paris, and the wind is strong.";

/// Words with which servers end an answer.
const WORDS: [&str; 9] =
    ["stop", "tool_calls", "end_turn", "STOP", "eos", "function_call", "stop_sequence", "", "tool_use"];

/// Sets the finish reason of a chunk.
fn ending(mut chunk: Value, reason: &str) -> Value {
    chunk["choices"][0]["finish_reason"] = json!(reason);
    chunk
}

/// Returns the pieces of an answer without its end: a text, calls, or both.
fn pieces(random: &mut fastrand::Rng, has_text: bool, calls: usize) -> Vec<Value> {
    let mut pieces = vec![role()];
    if has_text {
        pieces.extend(TEXT.split_inclusive(' ').map(text_chunk));
    }
    for index in 0..calls {
        pieces.push(call_begin(index, &format!("call_{index}"), "get_weather"));
        let at = random.usize(1..PARIS.len());
        pieces.extend([call_piece(index, &PARIS[..at]), call_piece(index, &PARIS[at..])]);
    }
    pieces
}

/// Adds ends as servers do: none, one, several, early ones, with a word of another protocol.
fn with_ends(random: &mut fastrand::Rng, mut pieces: Vec<Value>) -> Vec<Value> {
    for piece in pieces.iter_mut().skip(1) {
        if random.u8(..4) == 0 {
            *piece = ending(piece.clone(), WORDS[random.usize(..WORDS.len())]);
        }
    }
    for _ in 0..random.usize(..3) {
        pieces.push(finish(WORDS[random.usize(..WORDS.len())]));
    }
    pieces
}

fn check(assembled: &Assembled, has_text: bool, calls: usize, case: usize) {
    let choice = assembled.choice();
    let sent: Vec<&Value> = choice.calls.iter().map(|call| &call["function"]).collect();
    let expected = vec![json!({"name": "get_weather", "arguments": PARIS}); calls];
    assert_eq!(sent, expected.iter().collect::<Vec<_>>(), "case {case}");
    assert_eq!(choice.content, if has_text { TEXT } else { "" }, "case {case}");
    let reason = if calls > 0 { "tool_calls" } else { "stop" };
    assert_eq!(choice.finish_reason.as_deref(), Some(reason), "case {case}");
}

#[tokio::test]
async fn however_a_provider_ends_a_stream_the_client_gets_one_end() {
    const CASES: usize = 150;
    let mut random = fastrand::Rng::with_seed(23);
    let mut cases = Vec::new();
    for _ in 0..CASES {
        let (has_text, calls) = (random.bool(), random.usize(..3));
        let has_text = has_text || calls == 0;
        let pieces = pieces(&mut random, has_text, calls);
        cases.push((has_text, calls, with_ends(&mut random, pieces)));
    }
    let replies: Vec<Reply> = cases.iter().map(|(_, _, chunks)| Reply::events(chunks)).collect();
    let upstream = Server::replying(replies).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for (case, (has_text, calls, _)) in cases.iter().enumerate() {
        let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
        check(&assembled, *has_text, *calls, case);
    }
    assert_eq!(upstream.received().len(), CASES, "the end of a stream is no fault of the model");
}

#[tokio::test]
async fn a_text_without_tools_has_one_end_too() {
    let text: Vec<Value> = TEXT.split_inclusive(' ').map(text_chunk).collect();
    let early: Vec<Value> = text.iter().map(|piece| ending(piece.clone(), "stop")).collect();
    let streams = [
        [vec![role()], text.clone()].concat(),
        [vec![role()], early].concat(),
        [vec![role()], text.clone(), vec![finish("stop"), finish("stop")]].concat(),
        [vec![ending(role(), "")], text, vec![finish("stop")]].concat(),
    ];
    let upstream = Server::replying(streams.iter().map(Reply::events).collect::<Vec<_>>()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for (case, _) in streams.iter().enumerate() {
        let assembled = proxy.client().chat_stream(&streamed(plain("Weather?"))).await.assemble().await;
        check(&assembled, true, 0, case);
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_off_keeps_its_reason() {
    for reason in ["length", "content_filter"] {
        let chunks = [role(), text_chunk(TEXT), finish(reason), finish("stop")];
        let upstream = Server::always(Reply::events(&chunks)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
        assert_eq!(assembled.choice().finish_reason.as_deref(), Some(reason));
    }
}

#[tokio::test]
async fn a_usage_chunk_has_a_list_of_choices() {
    let mut usage = chunk_of(Value::Null);
    usage["usage"] = json!({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25});
    let chunks = [role(), call_begin(0, "a", "get_weather"), call_piece(0, PARIS), finish("tool_calls"), usage];
    let upstream = Server::always(Reply::events(&chunks)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let mut request = streamed(with_tools("Weather?"));
    request["stream_options"] = json!({"include_usage": true});
    let events = proxy.client().chat_stream(&request).await.rest().await;
    let chunks = events.iter().filter_map(|event| if let Event::Json(chunk) = event { Some(chunk) } else { None });
    let choices: Vec<&Value> = chunks.map(|chunk| &chunk["choices"]).collect();
    assert!(choices.iter().all(|choices| choices.is_array()), "{choices:?}");
    assert_eq!(Assembled::of_events(&events).usage.unwrap()["total_tokens"], 25);
}

#[tokio::test]
async fn a_whole_answer_with_calls_ends_with_them() {
    for reason in [json!("stop"), json!("end_turn"), Value::Null] {
        let call = json!({"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": PARIS}});
        let mut body = completion(json!({"role": "assistant", "content": null, "tool_calls": [call]}), "stop");
        body["choices"][0]["finish_reason"] = reason;
        let upstream = Server::always(Reply::json(200, &body)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await.ok();
        assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    }
}

#[tokio::test]
async fn deltas_that_repeat_the_content_are_reduced_to_what_is_new() {
    let words = ["It", "It rains", "It rains in Paris", "It rains in Paris, and the wind", TEXT, TEXT];
    let chunks = [vec![role()], words.iter().map(|text| text_chunk(text)).collect(), vec![finish("stop")]].concat();
    for request in [with_tools("Weather?"), plain("Weather?")] {
        let upstream = Server::always(Reply::events(&chunks)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let assembled = proxy.client().chat_stream(&streamed(request)).await.assemble().await;
        check(&assembled, true, 0, 0);
    }
}

#[tokio::test]
async fn a_text_that_happens_to_repeat_its_beginning_stays_as_it_came() {
    for words in [
        &["-", "--", "----", "\n"][..],
        &["ha", "haha", "hahaha", "hahahaha", "!"],
        &["Row ", "Row row ", "your boat"],
        &["1", "12", " and 3"],
        &["No. ", "No. No."],
    ] {
        let pieces: Vec<Value> = words.iter().map(|text| chunk(json!({ "content": text }))).collect();
        let chunks = [vec![role()], pieces, vec![finish("stop")]].concat();
        let upstream = Server::always(Reply::events(&chunks)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let events = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.rest().await;
        let sent: Vec<&Value> =
            events.iter().filter_map(|event| if let Event::Json(chunk) = event { Some(chunk) } else { None }).collect();
        assert_eq!(sent, chunks.iter().collect::<Vec<_>>(), "{words:?}");
    }
}
