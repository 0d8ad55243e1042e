//! Streams whose text may be a call: text that is sent immediately, text that is held back, and the result.

use crate::support::answer::{call_chunks, chunk, chunk_of, finish, role, text_chunk};
use crate::support::request::{booking_tool, plain, streamed, weather_tool, with_tools};
use crate::support::{Assembled, Event, Gate, Proxy, Reply, Server, config, policy};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

fn written(name: &str, arguments: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
}

/// Returns the chunks of a text in pieces of `size` characters.
fn pieces(text: &str, size: usize) -> Vec<Value> {
    let letters: Vec<char> = text.chars().collect();
    let texts = letters.chunks(size).map(|piece| text_chunk(&piece.iter().collect::<String>()));
    [role()].into_iter().chain(texts).chain([finish("stop")]).collect()
}

async fn proxy_of(replies: Vec<Reply>, tables: &str) -> (Server, Proxy) {
    let upstream = Server::replying(replies).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + tables).await;
    (upstream, proxy)
}

async fn assembled(proxy: &Proxy, request: Value) -> Assembled {
    proxy.client().chat_stream(&streamed(request)).await.assemble().await
}

fn calls_of(assembled: &Assembled) -> Vec<(String, Value)> {
    let calls = assembled.choice().calls.iter();
    calls
        .map(|call| {
            let arguments = call["function"]["arguments"].as_str().unwrap();
            (call["function"]["name"].as_str().unwrap().to_owned(), serde_json::from_str(arguments).unwrap())
        })
        .collect()
}

fn paris() -> Vec<(String, Value)> {
    vec![("get_weather".to_owned(), json!({"city": "Paris"}))]
}

#[tokio::test]
async fn a_written_call_streams_as_a_call_without_its_text() {
    let code = "get_weather(city=\"Paris\")";
    for (before, call) in [
        ("", written("get_weather", PARIS)),
        ("I look it up.\n\n", written("getWeather", PARIS)),
        ("", code.to_owned()),
        ("", format!("```json\n{{\"name\": \"get_weather\", \"arguments\": {PARIS}}}\n```")),
        ("<think>Maybe {\"name\"?</think>\n", format!("[{code}]")),
        ("Sure! ", format!("[TOOL_CALLS][{{\"name\": \"get_weather\", \"arguments\": {PARIS}}}]")),
    ] {
        for size in [1, 7, 1000] {
            let chunks = pieces(&format!("{before}{call}"), size);
            let (_upstream, proxy) = proxy_of(vec![Reply::events(&chunks)], "").await;
            let assembled = assembled(&proxy, with_tools("Weather?")).await;
            assert_eq!(calls_of(&assembled), paris(), "{before}{call}");
            let choice = assembled.choice();
            assert_eq!((choice.content.as_str(), choice.finish_reason.as_deref()), (before, Some("tool_calls")));
            assert_eq!((assembled.id.as_str(), choice.role.as_deref()), ("chatcmpl-upstream", Some("assistant")));
            let id = choice.calls[0]["id"].as_str().unwrap();
            assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        }
    }
}

#[tokio::test]
async fn what_looked_like_a_call_and_is_none_comes_out_byte_by_byte() {
    for text in [
        "{\"name\": \"Bob\", \"age\": 7}",
        "```json\n{\"city\": \"Paris\"}\n```\nThat is it.",
        "[x] done\n[ ] open\n",
        "get_weather is the tool that I would ask",
        "A <tool",
        "{\"name\": \"Bo",
    ] {
        let mut chunks = pieces(text, 1);
        chunks.iter_mut().for_each(|chunk| chunk["x_vendor"] = json!(1.50));
        let (_upstream, proxy) = proxy_of(vec![Reply::events(&chunks)], "").await;
        let events = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.rest().await;
        let expected: Vec<Event> = chunks.into_iter().map(Event::Json).chain([Event::Done]).collect();
        assert_eq!(events, expected, "{text}");
    }
}

#[tokio::test]
async fn text_flows_again_as_soon_as_it_is_evidently_text() {
    let gate = Gate::closed();
    let reply = Reply::stream()
        .event(&role())
        .event(&text_chunk("Look:\n"))
        .event(&text_chunk("["))
        .event(&text_chunk("here](https://example.com) and"))
        .wait(&gate)
        .event(&text_chunk(" there."));
    let (_upstream, proxy) = proxy_of(vec![reply.event(&finish("stop")).done()], "").await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    for expected in ["", "Look:\n", "[", "here](https://example.com) and"] {
        assert_eq!(stream.next_chunk().await["choices"][0]["delta"]["content"], expected);
    }
    gate.open();
    stream.rest().await;
    assert_eq!(proxy.metrics().await.sum("stream_hold_seconds_count", &[]), 1.0);
}

#[tokio::test]
async fn reasoning_flows_past_a_text_that_is_held() {
    let gate = Gate::closed();
    let reasoning = chunk(json!({"reasoning_content": "Hm."}));
    let both = chunk(json!({"reasoning_content": "Paris.", "content": written("get_weather", PARIS)}));
    let reply =
        Reply::stream().event(&role()).event(&text_chunk("<tool")).event(&reasoning).event(&text_chunk("box> "));
    let reply = reply.event(&both).wait(&gate).event(&finish("stop")).done();
    let (_upstream, proxy) = proxy_of(vec![reply], "").await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    let mut seen = vec![Event::Json(stream.next_chunk().await), Event::Json(stream.next_chunk().await)];
    assert_eq!(seen[1], Event::Json(reasoning));
    for (member, expected) in [("content", "<tool"), ("content", "box> "), ("reasoning_content", "Paris.")] {
        let chunk = stream.next_chunk().await;
        assert_eq!(chunk["choices"][0]["delta"][member], expected, "{chunk}");
        seen.push(Event::Json(chunk));
    }
    gate.open();
    seen.extend(stream.rest().await);
    let assembled = Assembled::of_events(&seen);
    assert_eq!((calls_of(&assembled), assembled.choice().content.as_str()), (paris(), "<toolbox> "));
}

#[tokio::test]
async fn a_hold_is_bounded_in_bytes_and_in_time() {
    for (table, outcome) in [("max_held_bytes = 20", "bytes"), ("max_hold_milliseconds = 1", "time")] {
        let gate = Gate::closed();
        let text = written("get_weather", r#"{"city": "Paris"}"#);
        let (first, second) = text.split_at(40);
        let (mark, inner) = first.split_at(12);
        let reply = Reply::stream().event(&role()).event(&text_chunk(mark)).event(&text_chunk(inner)).wait(&gate);
        let reply = reply.event(&text_chunk(second));
        let (_upstream, proxy) =
            proxy_of(vec![reply.event(&finish("stop")).done()], &format!("[pipeline]\n{table}\n")).await;
        let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
        stream.next_chunk().await;
        let mut content = String::new();
        while content.len() < first.len() {
            let chunk = stream.next_chunk().await;
            content.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap());
        }
        gate.open();
        let assembled = Assembled::of_events(&stream.rest().await);
        assert_eq!((content + &assembled.choice().content, assembled.choice().calls.len()), (text, 0), "{table}");
        assert_eq!(assembled.choice().finish_reason.as_deref(), Some("stop"));
        // Text after an expired hold may begin another one.
        assert!(proxy.metrics().await.sum("stream_holds_total", &[("outcome", outcome)]) >= 1.0, "{table}");
    }
}

#[tokio::test]
async fn where_no_call_may_be_made_nothing_is_held() {
    let gate = Gate::closed();
    let mut forbidden = with_tools("Weather?");
    forbidden["tool_choice"] = json!("none");
    for request in [forbidden, plain("Weather?")] {
        let reply = Reply::stream().event(&role()).event(&text_chunk("<tool_call>")).wait(&gate);
        let (_upstream, proxy) = proxy_of(vec![reply.event(&finish("stop")).done()], "").await;
        let mut stream = proxy.client().chat_stream(&streamed(request)).await;
        stream.next_chunk().await;
        assert_eq!(stream.next_chunk().await["choices"][0]["delta"]["content"], "<tool_call>");
    }
    gate.open();
}

#[tokio::test]
async fn a_native_call_releases_the_text_before_it() {
    let mut chunks = vec![role(), text_chunk("get_weather")];
    chunks.extend(call_chunks(&[("call_1", "getWeather", PARIS)]).into_iter().skip(1));
    let (_upstream, proxy) = proxy_of(vec![Reply::events(&chunks)], "").await;
    let assembled = assembled(&proxy, with_tools("Weather?")).await;
    assert_eq!((calls_of(&assembled), assembled.choice().content.as_str()), (paris(), "get_weather"));
}

#[tokio::test]
async fn a_text_that_is_sent_back_never_reaches_the_client() {
    let unread = r#"One moment.<tool_call>{"name": "get_weather", "arguments": {"city": "#;
    let (upstream, proxy) = proxy_of(
        vec![Reply::events(&pieces(unread, 5)), Reply::events(&pieces(&written("get_weather", PARIS), 5))],
        "",
    )
    .await;
    let assembled = assembled(&proxy, with_tools("Weather?")).await;
    assert_eq!((calls_of(&assembled), assembled.choice().content.as_str()), (paris(), "One moment."));
    assert_eq!(upstream.received()[1].messages()[1]["content"], unread);
    assert_eq!(upstream.received()[1].last_message()["role"], "user");
}

#[tokio::test]
async fn a_text_that_stays_faulty_is_sent_whole() {
    let unread = r#"One moment.<tool_call>{"name": "get_weather", "arguments": {"city": "#;
    let upstream = Server::always(Reply::events(&pieces(unread, 5))).await;
    let config = config(&upstream.url("/v1")) + &policy::table("ruled");
    for limit in [0, 2] {
        let file = policy::file("ruled", &format!("limits: {{static_feedback: {limit}}}"));
        let proxy = Proxy::start_with_files(config.clone(), &[("policies/ruled.yaml", &file)]).await;
        let assembled = assembled(&proxy, with_tools("Weather?")).await;
        assert_eq!((assembled.choice().content.as_str(), assembled.choice().calls.len()), (unread, 0), "{limit}");
        assert_eq!(assembled.choice().finish_reason.as_deref(), Some("stop"));
    }
}

#[tokio::test]
async fn an_upstream_that_breaks_off_loses_no_held_text() {
    let reply = Reply::stream().event(&role()).event(&text_chunk("Hm.\n")).event(&text_chunk("{\"name\": \"get")).end();
    let (_upstream, proxy) = proxy_of(vec![reply], "").await;
    let assembled = assembled(&proxy, with_tools("Weather?")).await;
    assert_eq!(assembled.error.as_ref().unwrap()["code"], "truncated");
    assert_eq!(assembled.choices[&0].content, "Hm.\n{\"name\": \"get");
}

#[tokio::test]
async fn a_legacy_request_gets_the_legacy_form() {
    let mut request = plain("Weather?");
    request["functions"] = json!([weather_tool()["function"], booking_tool()["function"]]);
    let (_upstream, proxy) = proxy_of(vec![Reply::events(&pieces(&written("get_weather", PARIS), 4))], "").await;
    let assembled = assembled(&proxy, request).await;
    assert_eq!(assembled.choice().function_call, Some(json!({"name": "get_weather", "arguments": PARIS})));
    assert_eq!(
        (assembled.choice().finish_reason.as_deref(), assembled.choice().calls.len()),
        (Some("function_call"), 0)
    );
}

#[tokio::test]
async fn each_choice_is_held_and_rescued_by_itself() {
    let texts = [written("get_weather", PARIS), "{\"name\": \"Bob\", \"age\": 7}".to_owned(), "Hm.".to_owned()];
    let mut chunks = Vec::new();
    let longest = texts.iter().map(String::len).max().unwrap();
    for start in (0..longest).step_by(6) {
        let parts: Vec<Value> = (0_usize..)
            .zip(&texts)
            .filter_map(|(index, text)| {
                let piece = text.get(start..text.len().min(start + 6))?;
                Some(json!({"index": index, "delta": {"content": piece}, "logprobs": null, "finish_reason": null}))
            })
            .collect();
        chunks.push(chunk_of(Value::Array(parts)));
    }
    chunks.extend((0..3).map(|index| chunk_of(json!([{"index": index, "delta": {}, "finish_reason": "stop"}]))));
    let (upstream, proxy) = proxy_of(vec![Reply::events(&chunks)], "").await;
    let mut request = with_tools("Weather?");
    request["n"] = json!(3);
    let assembled = assembled(&proxy, request).await;
    let seen: Vec<(usize, &str, Option<&str>)> = assembled
        .choices
        .values()
        .map(|choice| (choice.calls.len(), choice.content.as_str(), choice.finish_reason.as_deref()))
        .collect();
    assert_eq!(seen, [(1, "", Some("tool_calls")), (0, texts[1].as_str(), Some("stop")), (0, "Hm.", Some("stop"))]);
    assert_eq!(upstream.received().len(), 1);
}

#[tokio::test]
async fn logprobs_come_with_the_text_that_they_belong_to() {
    let token = |text: &str| {
        let logprobs =
            json!({"content": [{"token": text, "logprob": -0.5, "bytes": null, "top_logprobs": []}], "refusal": null});
        chunk_of(json!([{"index": 0, "delta": {"content": text}, "logprobs": logprobs, "finish_reason": null}]))
    };
    let chunks = [role(), token("Hm."), token("\n["), token("x]"), finish("stop")];
    let (_upstream, proxy) = proxy_of(vec![Reply::events(&chunks)], "").await;
    let mut request = with_tools("Weather?");
    request["logprobs"] = json!(true);
    let events = proxy.client().chat_stream(&streamed(request)).await.rest().await;
    let tokens = |chunk: &Value| -> Vec<String> {
        let tokens = chunk["choices"][0]["logprobs"]["content"].as_array().into_iter().flatten();
        tokens.map(|token| token["token"].as_str().unwrap().to_owned()).collect()
    };
    let all: Vec<String> = events
        .iter()
        .flat_map(|event| match event {
            Event::Json(chunk) => tokens(chunk),
            Event::Done => Vec::new(),
        })
        .collect();
    assert_eq!(all, ["Hm.", "\n[", "x]"]);
    assert_eq!(Assembled::of_events(&events).choice().content, "Hm.\n[x]");
}
