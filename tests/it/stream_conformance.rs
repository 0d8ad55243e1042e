//! For every form of a provider's stream, and any chunk boundaries, the client gets one well-formed stream with the
//! judged content. [`Assembled`] checks the form: one id and model, index, id and name once, one finish chunk per
//! choice.

use crate::support::answer::{call_begin, call_piece, chunk, chunk_of, finish, role, text_chunk};
use crate::support::request::{booking_tool, plain, streamed, weather_tool, with_tools};
use crate::support::{Assembled, Proxy, Reply, Server, config, policy};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;
const ROME: &str = r#"{"city":"Rome"}"#;
/// Arguments with characters of two, three and four bytes.
const WIDE: &str = r#"{"city":"Łódź 東京 𝄞"}"#;

/// A provider's stream, and the client's expected result.
struct Case {
    name: &'static str,
    request: Value,
    chunks: Vec<Value>,
    /// Messages by choice.
    expected: Value,
}

fn case(name: &'static str, chunks: Vec<Value>, expected: Value) -> Case {
    Case { name, request: with_tools("Weather?"), chunks, expected: json!([expected]) }
}

/// Returns a message of calls `(name, arguments)`.
fn calls(content: &str, calls: &[(&str, &str)]) -> Value {
    let calls: Vec<Value> =
        calls.iter().map(|(name, arguments)| json!({"name": name, "arguments": arguments})).collect();
    json!({"content": content, "calls": calls, "finish": "tool_calls"})
}

fn text(content: &str) -> Value {
    json!({"content": content, "calls": [], "finish": "stop"})
}

fn delta(call: Value) -> Value {
    chunk(json!({"tool_calls": [call]}))
}

/// Returns the arguments in pieces of one character.
fn argument_pieces(index: usize, arguments: &str) -> Vec<Value> {
    arguments.chars().map(|letter| call_piece(index, &letter.to_string())).collect()
}

fn cases() -> Vec<Case> {
    let both = &[("get_weather", PARIS), ("get_weather", ROME)];
    let mut cases = vec![
        case(
            "parallel calls, interleaved",
            vec![
                role(),
                call_begin(0, "a", "get_weather"),
                call_begin(1, "b", "get_weather"),
                call_piece(0, r#"{"city":"#),
                call_piece(1, r#"{"city":"Ro"#),
                call_piece(0, r#""Paris"}"#),
                call_piece(1, r#"me"}"#),
                finish("tool_calls"),
            ],
            calls("", both),
        ),
        case(
            "the id on the first delta alone, no index",
            vec![
                role(),
                delta(json!({"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": ""}})),
                delta(json!({"function": {"arguments": PARIS}})),
                delta(json!({"id": "b", "type": "function", "function": {"name": "get_weather", "arguments": ""}})),
                delta(json!({"function": {"arguments": ROME}})),
                finish("tool_calls"),
            ],
            calls("", both),
        ),
        case(
            "the name in pieces",
            vec![
                role(),
                delta(
                    json!({"index": 0, "id": "a", "type": "function", "function": {"name": "get_", "arguments": ""}}),
                ),
                delta(json!({"index": 0, "function": {"name": "weather"}})),
                call_piece(0, PARIS),
                finish("tool_calls"),
            ],
            calls("", &both[..1]),
        ),
        case(
            "arguments letter by letter",
            [vec![role(), call_begin(0, "a", "get_weather")], argument_pieces(0, WIDE), vec![finish("tool_calls")]]
                .concat(),
            calls("", &[("get_weather", WIDE)]),
        ),
        case(
            "text before and after the calls",
            vec![
                role(),
                text_chunk("I look. "),
                call_begin(0, "a", "get_weather"),
                call_piece(0, PARIS),
                text_chunk("Done."),
                finish("tool_calls"),
            ],
            calls("I look. Done.", &both[..1]),
        ),
        case(
            "finish reason stop, role in every delta",
            vec![
                chunk(json!({"role": "assistant", "content": "I look."})),
                chunk(
                    json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "getWeather", "arguments": PARIS}}]}),
                ),
                finish("stop"),
            ],
            calls("I look.", &both[..1]),
        ),
        case(
            "a refusal",
            vec![role(), chunk(json!({"refusal": "I must "})), chunk(json!({"refusal": "not."})), finish("stop")],
            json!({"content": "", "calls": [], "finish": "stop", "others": {"refusal": "I must not."}}),
        ),
        case(
            "reasoning, then text, then a call",
            vec![
                role(),
                chunk(json!({"reasoning_content": "Rain? "})),
                chunk(json!({"reasoning_content": "I ask."})),
                text_chunk("One moment."),
                call_begin(0, "a", "getWeather"),
                call_piece(0, PARIS),
                finish("tool_calls"),
            ],
            json!({"content": "One moment.", "calls": [{"name": "get_weather", "arguments": PARIS}], "finish": "tool_calls",
                "others": {"reasoning_content": "Rain? I ask."}}),
        ),
        case(
            "a call written as text",
            [
                vec![role()],
                letters(&format!("I look.\n<tool_call>{{\"name\":\"get_weather\",\"arguments\":{PARIS}}}</tool_call>")),
                vec![finish("stop")],
            ]
            .concat(),
            calls("I look.\n", &both[..1]),
        ),
        case(
            "a look-alike of a call",
            [vec![role()], letters("{\"name\": \"Bob\", \"age\": 7}\n[x] done"), vec![finish("stop")]].concat(),
            text("{\"name\": \"Bob\", \"age\": 7}\n[x] done"),
        ),
        case(
            "content in parts",
            vec![
                role(),
                chunk(json!({"content": [{"type": "thinking", "thinking": "hm"}]})),
                text_chunk("It rains."),
                finish("stop"),
            ],
            text("It rains."),
        ),
    ];
    cases.push(Case {
        name: "the legacy function_call, in pieces",
        request: legacy(),
        chunks: vec![
            chunk(json!({"role": "assistant", "content": null})),
            chunk(json!({"function_call": {"name": "getWeather", "arguments": ""}})),
            chunk(json!({"function_call": {"arguments": &PARIS[..5]}})),
            chunk(json!({"function_call": {"arguments": &PARIS[5..]}})),
            finish("function_call"),
        ],
        expected: json!([{"content": "", "calls": [], "finish": "function_call",
            "function_call": {"name": "get_weather", "arguments": PARIS}}]),
    });
    let piece = |index: usize, delta: Value, reason: Value| json!({"index": index, "delta": delta, "logprobs": null, "finish_reason": reason});
    let call =
        json!({"index": 0, "id": "a", "type": "function", "function": {"name": "getWeather", "arguments": PARIS}});
    let mut several = with_tools("Weather?");
    several["n"] = json!(2);
    cases.push(Case {
        name: "two choices, interleaved",
        request: several,
        chunks: vec![
            chunk_of(json!([piece(1, json!({"role": "assistant", "content": "H"}), Value::Null)])),
            chunk_of(json!([
                piece(0, json!({"role": "assistant", "tool_calls": [call]}), Value::Null),
                piece(1, json!({"content": "m."}), Value::Null)
            ])),
            chunk_of(json!([piece(1, json!({}), json!("stop"))])),
            chunk_of(json!([piece(0, json!({}), json!("tool_calls"))])),
        ],
        expected: json!([calls("", &both[..1]), text("Hm.")]),
    });
    let mut counted = with_tools("Weather?");
    counted["stream_options"] = json!({"include_usage": true});
    let mut usage = chunk_of(json!([]));
    usage["usage"] = json!({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25, "details": {"cached": 3}});
    cases.push(Case {
        name: "a usage chunk behind a mended call",
        request: counted,
        chunks: vec![role(), call_begin(0, "a", "getWeather"), call_piece(0, PARIS), finish("tool_calls"), usage],
        expected: json!([calls("", &both[..1]), {"usage": 25}]),
    });
    cases
}

fn letters(text: &str) -> Vec<Value> {
    text.chars().map(|letter| text_chunk(&letter.to_string())).collect()
}

fn legacy() -> Value {
    let mut request = plain("Weather?");
    request["functions"] = json!([weather_tool()["function"], booking_tool()["function"]]);
    request
}

/// Returns the content of a stream without the ids, which may be generated.
fn said(assembled: &Assembled) -> Value {
    let mut said: Vec<Value> = assembled
        .choices
        .values()
        .map(|choice| {
            let calls: Vec<&Value> = choice.calls.iter().map(|call| &call["function"]).collect();
            let mut said = json!({"content": choice.content, "calls": calls, "finish": choice.finish_reason});
            if let Some(call) = &choice.function_call {
                said["function_call"] = call.clone();
            }
            if !choice.others.is_empty() {
                said["others"] = json!(choice.others);
            }
            said
        })
        .collect();
    said.extend(assembled.usage.as_ref().map(|usage| json!({"usage": usage["total_tokens"]})));
    Value::Array(said)
}

/// Returns the bytes of a stream of these chunks.
fn bytes_of(chunks: &[Value]) -> Vec<u8> {
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    (events + "data: [DONE]\n\n").into_bytes()
}

/// Returns a stream whose bytes arrive in pieces that end at `cuts`.
fn cut(bytes: &[u8], cuts: impl IntoIterator<Item = usize>) -> Reply {
    let mut reply = Reply::stream();
    let mut start = 0;
    for end in cuts.into_iter().chain([bytes.len()]).filter(|end| *end <= bytes.len()) {
        if end > start {
            reply = reply.piece(bytes[start..end].to_vec());
            start = end;
        }
    }
    reply.end()
}

#[tokio::test]
async fn every_form_of_a_stream_becomes_one_however_its_bytes_are_cut() {
    let cases = cases();
    let mut random = fastrand::Rng::with_seed(3);
    let replies: Vec<Reply> = cases
        .iter()
        .flat_map(|case| {
            let bytes = bytes_of(&case.chunks);
            let mut cuts: Vec<usize> = (0..40).map(|_| random.usize(..bytes.len())).collect();
            cuts.sort_unstable();
            [Reply::events(&case.chunks), cut(&bytes, 1..bytes.len()), cut(&bytes, cuts), cut(&bytes, [])]
        })
        .collect();
    let upstream = Server::replying(replies).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "tool_calls = \"text\"\n").await;
    for case in &cases {
        for way in ["events", "bytes", "random pieces", "one piece"] {
            let assembled = proxy.client().chat_stream(&streamed(case.request.clone())).await.assemble().await;
            assert_eq!(said(&assembled), case.expected, "{}, in {way}", case.name);
        }
    }
}

/// Fragments of responses: prose, calls in several notations, and similar text.
const FRAGMENTS: [&str; 22] = [
    "It rains. ",
    "I look it up.\n",
    "\n\n",
    "Here is the call:\n",
    "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>",
    "<tool_call>\n{\"name\": \"book_room\", \"arguments\": {\"hotel\": \"Łódź\", \"nights\": \"2\"}}\n</tool_call>\n",
    "get_weather(city=\"東京\")\n",
    "[get_weather(city='Paris'), get_weather(city='Rome')]",
    "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```\n",
    "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]",
    "<think>Should I say <tool_call>?</think>\n",
    "{\"name\": \"Bob\", \"age\": 7}\n",
    "```python\nimport os\n```\n",
    "[x] done\n- [ ] open\n",
    "`get_weather` is a tool. ",
    "Use `<tool_call>` for that. ",
    "> quoted\n",
    "result = ",
    "1. ",
    "𝄞 ",
    "{",
    "For example: ",
];

/// Returns a response in the form of the trace: without ids, and with absent content as empty.
fn judged(answer: &Value) -> Value {
    let choice = &answer["choices"][0];
    let calls: Vec<Value> =
        choice["message"]["tool_calls"].as_array().into_iter().flatten().map(|call| call["function"].clone()).collect();
    let content = choice["message"]["content"].as_str().unwrap_or_default();
    json!([{"content": content.trim(), "calls": calls, "finish": choice["finish_reason"]}])
}

#[tokio::test]
async fn pieces_do_not_matter_and_the_judged_answer_is_emitted() {
    const ANSWERS: usize = 25;
    let mut random = fastrand::Rng::with_seed(11);
    let mut replies = Vec::new();
    for _ in 0..ANSWERS {
        let text: String = (0..random.usize(1..7)).map(|_| FRAGMENTS[random.usize(..FRAGMENTS.len())]).collect();
        let native = random.u8(..4) == 0;
        let letters: Vec<char> = text.chars().collect();
        for size in [1, 2, 5, 1000] {
            let mut chunks = vec![role()];
            let mut start = 0;
            while start < letters.len() {
                let end = letters.len().min(start + 1 + random.usize(..size));
                chunks.push(text_chunk(&letters[start..end].iter().collect::<String>()));
                start = end;
            }
            if native {
                chunks.push(call_begin(0, "a", "getWeather"));
                chunks.extend(argument_pieces(0, WIDE));
            }
            chunks.push(finish(if native { "tool_calls" } else { "stop" }));
            let bytes = bytes_of(&chunks);
            let mut cuts: Vec<usize> = (0..20).map(|_| random.usize(..bytes.len())).collect();
            cuts.sort_unstable();
            replies.push(cut(&bytes, cuts));
        }
    }
    let upstream = Server::replying(replies).await;
    let rules = "limits: {static_feedback: 0}\nrecord: {bodies: true}";
    let config = config(&upstream.url("/v1")) + "tool_calls = \"text\"\n" + &policy::table("ruled");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", rules))]).await;
    let mut all = Vec::new();
    let mut with_calls = 0;
    for answer in 0..ANSWERS {
        let mut ways = Vec::new();
        for _ in 0..4 {
            let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
            ways.push(said(&assembled));
        }
        assert!(ways.iter().all(|way| *way == ways[0]), "answer {answer}: {ways:#?}");
        with_calls += usize::from(!ways[0][0]["calls"].as_array().unwrap().is_empty());
        all.extend(ways);
    }
    assert!((8..ANSWERS).contains(&with_calls), "{with_calls} answers of calls: too few of one kind");
    let traces = proxy.traces_after_stop().await;
    assert_eq!(traces.len(), all.len());
    for (mut said, trace) in all.into_iter().zip(&traces) {
        said[0]["content"] = json!(said[0]["content"].as_str().unwrap().trim());
        assert_eq!(said, judged(&trace["answer"]), "{:#}", trace["answer"]);
    }
}
