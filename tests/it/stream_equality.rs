//! A clean streamed answer passes guard mode unchanged: the client gets the events that the upstream sent, in their
//! order. With several choices this holds for the events of each choice.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::answer::chunk_of;
use crate::support::client::Event;
use crate::support::request::{streamed, with_tools};
use crate::support::{Proxy, Reply, Server, config};
use fastrand::Rng;
use serde_json::{Value, json};

/// Default number of answers; `CALLWRIGHT_STREAMS` sets another number.
const ANSWERS: u64 = 1_000;
/// Number of concurrent clients.
const CLIENTS: u64 = 8;

const WORDS: [&str; 14] = [
    "It", "rains", "in", "Łódź", "東京", "today,", "with", "a", "wind", "of", "7", "knots.\n\n", "雨が降ります。",
    "**Bring** a coat.",
];
const CITIES: [&str; 4] = ["Paris", "Łódź", "東京", "Val-d'Isère \"centre\""];

/// A clean answer of a provider, and the request for it.
struct CleanAnswer {
    request: Value,
    chunks: Vec<Value>,
}

/// Returns the answer with this number. The upstream and the client both derive it from the number.
fn answer(number: u64) -> CleanAnswer {
    let mut random = Rng::with_seed(number);
    let mut request = streamed(with_tools(&number.to_string()));
    let choices = if random.u8(..8) == 0 { 2 } else { 1 };
    if choices > 1 {
        request["n"] = json!(choices);
    }
    let asks_for_usage = random.bool();
    if asks_for_usage {
        request["stream_options"] = json!({"include_usage": true});
    }
    let mut lanes: Vec<Vec<Value>> = (0..choices).map(|index| lane(&mut random, index)).collect();
    for lane in &mut lanes {
        lane.reverse();
    }
    let mut chunks = Vec::new();
    while lanes.iter().any(|lane| !lane.is_empty()) {
        let lane = random.usize(..lanes.len());
        chunks.extend(lanes[lane].pop().map(|part| chunk_of(json!([part]))));
    }
    // Some providers send null in each chunk and the figures in one without choices; others put them into the last.
    let usage = json!({"prompt_tokens": 20, "completion_tokens": chunks.len(), "total_tokens": 20 + chunks.len(),
        "prompt_tokens_details": {"cached_tokens": 3}});
    if asks_for_usage && random.u8(..4) == 0 {
        chunks.last_mut().unwrap()["usage"] = usage;
    } else if asks_for_usage {
        for chunk in &mut chunks {
            chunk["usage"] = Value::Null;
        }
        let mut last = chunk_of(json!([]));
        last["usage"] = usage;
        chunks.push(last);
    }
    CleanAnswer { request, chunks }
}

/// Returns the parts of one choice, in order.
fn lane(random: &mut Rng, index: u64) -> Vec<Value> {
    let part = |delta: Value, reason: Value| json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": reason});
    let mut deltas = vec![match random.u8(..3) {
        0 => json!({"role": "assistant", "content": ""}),
        1 => json!({"role": "assistant", "content": null, "refusal": null}),
        _ => json!({"role": "assistant"}),
    }];
    if random.u8(..3) == 0 {
        let member = if random.bool() { "reasoning_content" } else { "reasoning" };
        deltas.extend(prose(random).into_iter().map(|piece| json!({member: piece})));
    }
    let calls = random.usize(..4);
    if calls == 0 || random.bool() {
        deltas.extend(prose(random).into_iter().map(|piece| json!({"content": piece})));
    }
    deltas.extend(call_deltas(random, calls));
    let reason = if calls == 0 { "stop" } else { "tool_calls" };
    let mut parts: Vec<Value> = deltas.into_iter().map(|delta| part(delta, Value::Null)).collect();
    if random.u8(..4) == 0 {
        parts.last_mut().unwrap()["finish_reason"] = json!(reason);
    } else {
        parts.push(part(json!({}), json!(reason)));
    }
    parts
}

/// Returns some sentences, split between any two letters.
fn prose(random: &mut Rng) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for _ in 0..1 + random.usize(..12) {
        for letter in WORDS[random.usize(..WORDS.len())].chars().chain([' ']) {
            pieces.last_mut().unwrap().push(letter);
            if random.u8(..4) == 0 {
                pieces.push(String::new());
            }
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Returns the deltas of valid calls: one after the other or interleaved, whole or in pieces.
fn call_deltas(random: &mut Rng, calls: usize) -> Vec<Value> {
    let mut lanes: Vec<Vec<Value>> = (0..calls).map(|index| call_lane(random, index)).collect();
    let interleaved = random.bool();
    let mut deltas = Vec::new();
    let mut begun = 0;
    while lanes.iter().any(|lane| !lane.is_empty()) {
        // Calls begin in the order of their indexes.
        let open: Vec<usize> = (0..lanes.len().min(begun + 1)).filter(|at| !lanes[*at].is_empty()).collect();
        let chosen = if interleaved { open[random.usize(..open.len())] } else { open[0] };
        begun = begun.max(chosen + 1);
        deltas.push(json!({"tool_calls": [lanes[chosen].remove(0)]}));
    }
    deltas
}

fn call_lane(random: &mut Rng, index: usize) -> Vec<Value> {
    let city = CITIES[random.usize(..CITIES.len())];
    let (name, arguments) = match random.u8(..3) {
        0 => ("get_weather", json!({"city": city})),
        1 => ("get_weather", json!({"city": city, "days": 1 + random.u8(..14), "unit": "celsius"})),
        _ => ("book_room", json!({"hotel": city, "nights": 1 + random.u8(..9)})),
    };
    let arguments = if random.bool() { arguments.to_string() } else { format!("{arguments:#}") };
    let id = format!("call_{index}_{}", random.u32(..));
    let begin = |arguments: &str| json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    if random.u8(..3) == 0 {
        return vec![begin(&arguments)];
    }
    let mut lane = vec![begin("")];
    let mut piece = String::new();
    for letter in arguments.chars() {
        piece.push(letter);
        if random.u8(..3) == 0 {
            lane.push(json!({"index": index, "function": {"arguments": std::mem::take(&mut piece)}}));
        }
    }
    if !piece.is_empty() {
        lane.push(json!({"index": index, "function": {"arguments": piece}}));
    }
    lane
}

fn number_of(request: &Value) -> u64 {
    request["messages"][0]["content"].as_str().unwrap().parse().unwrap()
}

/// Returns the chunks of each choice in order; the chunks without a choice are under `None`. Calls are held until they
/// are validated, so that chunks of other choices may leave before them.
fn by_choice(chunks: &[Value]) -> BTreeMap<Option<u64>, Vec<&Value>> {
    let mut choices: BTreeMap<Option<u64>, Vec<&Value>> = BTreeMap::new();
    for chunk in chunks {
        choices.entry(chunk["choices"][0]["index"].as_u64()).or_default().push(chunk);
    }
    choices
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_stream_leaves_as_it_came() {
    let answers = std::env::var("CALLWRIGHT_STREAMS").ok().map_or(ANSWERS, |number| number.parse().unwrap());
    let upstream = Server::scripted(|_, received| Reply::events(&answer(number_of(&received.json())).chunks)).await;
    let proxy = Arc::new(Proxy::start(config(&upstream.url("/v1"))).await);
    let clients = (0..CLIENTS).map(|client| {
        let proxy = Arc::clone(&proxy);
        tokio::spawn(async move {
            for number in (client..answers).step_by(usize::try_from(CLIENTS).unwrap()) {
                let sent = answer(number);
                let mut stream = proxy.client().chat_stream(&sent.request).await;
                assert_eq!(stream.status, 200, "answer {number}");
                let mut events = stream.rest().await;
                assert_eq!(events.pop(), Some(Event::Done), "answer {number}");
                let got: Vec<Value> = events
                    .into_iter()
                    .map(|event| match event {
                        Event::Json(chunk) => chunk,
                        Event::Done => panic!("answer {number}: two ends"),
                    })
                    .collect();
                if sent.request.get("n").is_some() {
                    assert_eq!(by_choice(&got), by_choice(&sent.chunks), "answer {number}");
                } else {
                    assert_eq!(got, sent.chunks, "answer {number}");
                }
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
}
