//! Calls keep the model's original order even if some of them were sent back, streamed and whole.

use crate::support::answer::{call, call_begin, call_chunks, call_piece, calls, chunk, finish, text};
use crate::support::request::{streamed, with_tools};
use crate::support::{Proxy, Reply, Server, config, rooms};
use serde_json::{Value, json};

const OSLO: &str = r#"{"city":"Oslo"}"#;
const ROME: &str = r#"{"city":"Rome"}"#;
const RITZ: &str = r#"{"hotel":"Ritz","nights":2}"#;
const FAULTY: &str = r#"{"city":{}}"#;

async fn proxy_of(replies: Vec<Reply>) -> (Server, Proxy) {
    let upstream = Server::replying(replies).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    (upstream, proxy)
}

fn arguments(calls: &[Value]) -> Vec<&str> {
    calls.iter().map(|call| call["function"]["arguments"].as_str().unwrap()).collect()
}

fn ids(calls: &[Value]) -> Vec<&str> {
    calls.iter().map(|call| call["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_corrected_call_takes_the_place_of_the_one_that_it_replaces() {
    // The first call is wrong. The model corrects only that call, or makes both again.
    let first = [("a", "get_weather", FAULTY), ("b", "book_room", RITZ)];
    let alone = vec![("c", "get_weather", OSLO)];
    let again = vec![("c", "book_room", RITZ), ("d", "get_weather", OSLO)];
    let same_ids = vec![("b", "get_weather", OSLO)];
    for second in [alone, again, same_ids] {
        let made = |calls: &[(&str, &str, &str)]| -> Vec<Value> {
            calls.iter().map(|(id, name, arguments)| call(id, name, arguments)).collect()
        };
        let (_upstream, proxy) = proxy_of(vec![calls(&made(&first)), calls(&made(&second))]).await;
        let answer = proxy.client().chat(&with_tools("Weather, and a room?")).await;
        assert_eq!(answer.verdict(), "corrected");
        let whole = answer.message()["tool_calls"].as_array().unwrap().clone();
        assert_eq!(arguments(&whole), [OSLO, RITZ], "{second:?}");
        assert_eq!(ids(&whole)[1], "b", "the call that was right keeps its id");
        assert_ne!(ids(&whole)[0], "b");

        let replies = vec![Reply::events(&call_chunks(&first)), Reply::events(&call_chunks(&second))];
        let (_upstream, proxy) = proxy_of(replies).await;
        let assembled = proxy.client().chat_stream(&streamed(with_tools("Both?"))).await.assemble().await;
        assert_eq!(arguments(&assembled.choice().calls), [OSLO, RITZ], "{second:?}");
    }
}

#[tokio::test]
async fn calls_of_several_rounds_come_out_in_the_order_of_the_first() {
    let first = calls(&[call("a", "get_weather", FAULTY), call("b", "book_room", RITZ), call("c", "get_wether", ROME)]);
    let second = calls(&[call("d", "get_weather", FAULTY), call("e", "get_weather", ROME)]);
    let third = calls(&[call("f", "get_weather", OSLO)]);
    let (upstream, proxy) = proxy_of(vec![first, second, third]).await;
    let message = proxy.client().chat(&with_tools("Weather, and a room?")).await.message();
    assert_eq!(upstream.received().len(), 3);
    assert_eq!(arguments(message["tool_calls"].as_array().unwrap()), [OSLO, RITZ, ROME]);
}

#[tokio::test]
async fn the_proxys_own_calls_are_handed_to_the_model_in_their_order() {
    let upstream = Server::replying(vec![
        calls(&[call("a", "listRooms", r#"{"floor":"five"}"#), call("b", "listRooms", r#"{"floor":6}"#)]),
        calls(&[call("c", "listRooms", r#"{"floor":5}"#)]),
        text("Done."),
    ])
    .await;
    let api = Server::always(Reply::json(200, &json!([]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    assert_eq!(proxy.client().chat(&rooms::ask("Rooms?")).await.message()["content"], "Done.");
    let last = upstream.last_request();
    let messages = last.messages();
    let made = messages.iter().find(|message| message["tool_calls"].is_array()).unwrap();
    assert_eq!(arguments(made["tool_calls"].as_array().unwrap()), [r#"{"floor":5}"#, r#"{"floor":6}"#]);
    let results: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
    let answered: Vec<&str> = results.iter().map(|result| result["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(answered, ["c", "b"]);
}

#[tokio::test]
async fn streamed_calls_have_the_order_of_the_upstreams_indexes() {
    // The second call arrives first.
    let chunks = [
        chunk(json!({"role": "assistant", "content": null})),
        call_begin(1, "b", "book_room"),
        call_begin(0, "a", "get_weather"),
        call_piece(1, RITZ),
        call_piece(0, OSLO),
        finish("tool_calls"),
    ];
    let (_upstream, proxy) = proxy_of(vec![Reply::events(&chunks)]).await;
    let assembled = proxy.client().chat_stream(&streamed(with_tools("Both?"))).await.assemble().await;
    let calls = &assembled.choice().calls;
    assert_eq!((ids(calls), arguments(calls)), (vec!["a", "b"], vec![OSLO, RITZ]));
}
