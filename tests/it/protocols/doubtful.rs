//! Answers that may not be what the model meant: texts that may be calls, empty answers, and answers that were cut off.

use serde_json::{Value, json};

use super::api::{APIS, Api, Part, call, is_stream, text, thought, written};
use super::sse;
use crate::support::{Proxy, Received, Reply, Server, config};

const PARIS: &str = r#"{"city":"Paris"}"#;

/// Starts an upstream that gives `first`, and `second` to the request after it, and a proxy before it.
async fn two_answers(api: Api, first: Vec<Part>, second: Vec<Part>) -> (Server, Proxy) {
    let script = move |number: usize, received: &Received| {
        api.reply(received, if number.is_multiple_of(2) { &first } else { &second })
    };
    let upstream = Server::scripted(script).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    (upstream, proxy)
}

/// Returns a text that may explain a call or be one.
fn unsure() -> String {
    format!("Soll ich das ausführen?\n\n{}", written("get_weather", PARIS))
}

#[tokio::test]
async fn a_text_without_confirmed_call_arrives_byte_by_byte() {
    for api in APIS {
        let first = vec![thought("Rain?"), text(&unsure())];
        let (upstream, proxy) = two_answers(api, first.clone(), vec![text("")]).await;
        let request = api.with_tools("Weather?");
        assert_eq!(api.send(&proxy, &request).await.ok(), api.answer(&first), "{api:?}");
        let mut stream = api.stream(&proxy, &request).await;
        stream.rest().await;
        let pings =
            |body: &str| sse::events_of(body).into_iter().filter(|event| event["type"] != "ping").collect::<Vec<_>>();
        assert_eq!(pings(&stream.raw()), pings(&sse::bytes(&api.events(&first))), "{api:?}");
        let received = upstream.received();
        assert_eq!(received.len(), 4);
        let sent = api.conversation(&received[1]);
        let last = sent.last().unwrap();
        assert!(last["role"] == "user" && last.to_string().contains("get_weather"), "{sent:#?}");
        let metrics = proxy.metrics().await;
        assert_eq!(metrics.sum("unsure_answers_total", &[("result", "declined")]), 2.0);
    }
}

#[tokio::test]
async fn a_confirmed_call_replaces_the_text() {
    for api in APIS {
        let first = vec![thought("Rain?"), text(&unsure())];
        let second = vec![call("call_2", "get_weather", PARIS)];
        let (_upstream, proxy) = two_answers(api, first, second).await;
        for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
            let outline = api.outline(&answer);
            assert_eq!(outline.last().unwrap(), r#"call get_weather {"city":"Paris"}"#, "{api:?}");
            assert!(!answer.to_string().contains("tool_call>"), "{api:?}: {answer}");
        }
    }
}

/// Markup of calls without its namespace, after a stray word.
const BROKEN: &str = "Now I book it.\ncourt\n<invoke name=\"book_room\">\n<parameter name=\"hotel\">Ritz</parameter>\n<parameter name=\"nights\">2</parameter>\n</invoke>";

#[tokio::test]
async fn marks_that_end_an_answer_are_confirmed_after_native_calls() {
    const NATIVE: usize = 8;
    let room = r#"{"hotel":"Ritz","nights":2}"#;
    for api in APIS {
        for is_meant in [true, false] {
            let upstream = Server::scripted(move |number: usize, received: &Received| {
                let part = match number {
                    0..NATIVE => call("call_1", "get_weather", PARIS),
                    _ if number.is_multiple_of(2) => text(BROKEN),
                    _ if is_meant => call("call_2", "book_room", room),
                    _ => text(""),
                };
                api.reply(received, &[part])
            })
            .await;
            let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
            for _ in 0..NATIVE / 2 {
                api.both(&proxy, &api.with_tools("Weather?")).await;
            }
            for answer in api.both(&proxy, &api.with_tools("Book it.")).await {
                let expected = if is_meant { format!("call book_room {room}") } else { format!("text {BROKEN}") };
                assert_eq!(api.outline(&answer).last(), Some(&expected), "{api:?}");
            }
            assert_eq!(upstream.received().len(), NATIVE + 4, "{api:?}");
        }
    }
}

#[tokio::test]
async fn an_empty_answer_is_requested_again() {
    for api in APIS {
        for first in [vec![], vec![thought("I should look it up.")], vec![text(" \n")]] {
            let (upstream, proxy) = two_answers(api, first.clone(), vec![call("call_2", "get_weather", PARIS)]).await;
            let [plain, streamed] = api.both(&proxy, &api.with_tools("Weather?")).await;
            let call = [r#"call get_weather {"city":"Paris"}"#.to_owned()];
            assert_eq!(api.outline(&plain), call, "{api:?} {first:?}");
            // The reasoning of the first answer was streamed.
            let mut thoughts = api.outline(&api.answer(&first));
            thoughts.retain(|part| part.starts_with("thought "));
            assert_eq!(api.outline(&streamed), [&thoughts[..], &call].concat(), "{api:?} {first:?}");
            let received = upstream.received();
            assert_eq!(received.len(), 4, "{api:?} {first:?}");
            let sent = api.conversation(&received[1]);
            assert_eq!(sent.last().unwrap()["role"], "user", "{sent:#?}");
            let is_empty = |message: &Value| {
                message["role"] == "assistant" && message["content"].as_array().is_some_and(Vec::is_empty)
            };
            assert!(!sent.iter().any(is_empty), "{api:?}: providers refuse empty messages: {sent:#?}");
        }
    }
}

/// Returns an answer that was cut off at the limit of tokens.
fn cut_off(api: Api, received: &Received, parts: &[Part]) -> Reply {
    let is_stream = is_stream(received);
    let mut answer = api.answer(parts);
    let mut events = api.events(parts);
    match api {
        Api::Responses => {
            answer["status"] = json!("incomplete");
            answer["incomplete_details"] = json!({"reason": "max_output_tokens"});
            let end = events.last_mut().unwrap();
            (end["type"], end["response"]) = (json!("response.incomplete"), answer.clone());
        }
        Api::Messages => {
            answer["stop_reason"] = json!("max_tokens");
            let end = events.iter_mut().find(|event| event["type"] == "message_delta").unwrap();
            end["delta"]["stop_reason"] = json!("max_tokens");
        }
    }
    if is_stream { sse::reply(&events) } else { Reply::json(200, &answer) }
}

#[tokio::test]
async fn text_that_was_cut_off_stays_as_it_is() {
    for api in APIS {
        let parts = [text("It rains in Pa")];
        let upstream = Server::scripted(move |_, received| cut_off(api, received, &parts)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
            assert_eq!(api.outline(&answer), ["text It rains in Pa"]);
            let reason = if api == Api::Responses { &answer["status"] } else { &answer["stop_reason"] };
            assert_eq!(reason, if api == Api::Responses { "incomplete" } else { "max_tokens" });
        }
        assert_eq!(upstream.received().len(), 2);
    }
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_never_completed_by_the_proxy() {
    let api = Api::Responses;
    for arguments in [r#"{"city":"Paris","days":1"#, r#"{"city":"Par"#] {
        let parts = [call("call_1", "get_weather", arguments)];
        let upstream = Server::scripted(move |number, received| match number % 2 {
            0 => cut_off(api, received, &parts),
            _ => api.reply(received, &[call("call_2", "get_weather", PARIS)]),
        })
        .await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
            assert_eq!(api.outline(&answer), [r#"call get_weather {"city":"Paris"}"#], "{arguments}");
            assert_eq!(answer["status"], "completed");
        }
        let added = api.conversation(&upstream.received()[1]);
        assert!(added.iter().any(|item| item["arguments"] == arguments), "{added:#?}");
    }
}
