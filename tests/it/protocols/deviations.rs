//! Servers that deviate from the API reference: their answers are judged, and what the proxy writes is well-formed.

use serde_json::{Value, json};

use super::api::{APIS, Api, call, text, thought};
use super::{responses_api, sse};
use crate::support::{Proxy, Reply, Server, config};

/// A deviation: its description, and a change of the events of a stream.
type Deviation = (&'static str, fn(&mut Vec<Value>));

/// Deviations behind the text: the client gets none of them.
fn of_calls(api: Api) -> Vec<Deviation> {
    match api {
        Api::Responses => vec![
            ("no `response.in_progress`", |events| events.retain(|event| event["type"] != "response.in_progress")),
            ("arguments in the final item alone", |events| {
                events.retain(|event| !is(event, "function_call_arguments."))
            }),
            ("no end of the arguments", |events| events.retain(|event| !is(event, "function_call_arguments.done"))),
            ("no items in the final response", |events| {
                events.last_mut().unwrap()["response"]["output"] = json!([]);
            }),
            ("no final item of the call", |events| {
                events.retain(|event| !is(event, "output_item.done") || event["item"]["type"] != "function_call");
            }),
        ],
        Api::Messages => vec![
            ("no `message_stop`", |events| drop(events.pop())),
            ("no end of the call", |events| {
                let end = events.iter().rposition(|event| is(event, "content_block_stop")).unwrap();
                events.remove(end);
            }),
            ("input in the start of the block", |events| {
                events.retain(|event| event["delta"]["type"] != "input_json_delta");
                let start = events.iter_mut().find(|event| event["content_block"]["type"] == "tool_use").unwrap();
                start["content_block"]["input"] = json!({"city": "Paris"});
            }),
        ],
    }
}

/// Deviations in all events: text flows as it came, so the client gets them as without the proxy.
fn of_all_events(api: Api) -> Vec<Deviation> {
    match api {
        Api::Responses => vec![
            ("no sequence numbers", |events| remove(events, "sequence_number")),
            ("no ids of items in deltas", |events| remove(events, "item_id")),
            ("no parts", |events| events.retain(|event| !is(event, "_part."))),
            ("no final texts", |events| events.retain(|event| !is(event, "text.done") && !is(event, "part.done"))),
            ("one index for all items", |events| {
                for event in events.iter_mut().filter(|event| event.get("output_index").is_some()) {
                    event["output_index"] = json!(0);
                }
            }),
        ],
        Api::Messages => vec![
            ("no ends of blocks", |events| events.retain(|event| !is(event, "content_block_stop"))),
            ("indexes with gaps", |events| {
                for event in events.iter_mut().filter(|event| event.get("index").is_some()) {
                    event["index"] = json!(2 * event["index"].as_u64().unwrap());
                }
            }),
        ],
    }
}

/// Whether the type of an event contains `kind`.
fn is(event: &Value, kind: &str) -> bool {
    event["type"].as_str().unwrap().contains(kind)
}

fn remove(events: &mut [Value], member: &str) {
    for event in events {
        event.as_object_mut().unwrap().remove(member);
    }
}

const EXPECTED: [&str; 3] = ["thought Rain?", "text I look it up.", r#"call get_weather {"city":"Paris"}"#];

/// Returns the events that the client gets of an answer with this deviation, whose call has this name.
async fn events_of(api: Api, name: &str, deviate: fn(&mut Vec<Value>)) -> Vec<Value> {
    let mut events =
        api.events(&[thought("Rain?"), text("I look it up."), call("call_1", name, r#"{"city":"Paris"}"#)]);
    deviate(&mut events);
    if api == Api::Responses && events[0].get("sequence_number").is_some() {
        events = responses_api::numbered(events);
    }
    let upstream = Server::always(sse::reply(&events)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    api.stream_events(&proxy, &api.with_tools("Weather?")).await
}

#[tokio::test]
async fn deviations_of_calls_are_corrected() {
    for api in APIS {
        for (what, deviate) in of_calls(api) {
            for name in ["get_weather", "getWeather"] {
                let answer = api.assembled(&events_of(api, name, deviate).await);
                assert_eq!(api.outline(&answer), EXPECTED, "{api:?} {name}: {what}");
            }
        }
    }
}

#[tokio::test]
async fn calls_of_deviating_streams_are_judged() {
    for api in APIS {
        for (what, deviate) in of_all_events(api) {
            let events = events_of(api, "getWeather", deviate).await;
            let outline = match api {
                Api::Responses => api.outline(&events.last().unwrap()["response"]),
                Api::Messages => api.outline(&api.assembled(&regular(events))),
            };
            assert_eq!(outline, EXPECTED, "{api:?}: {what}");
        }
    }
}

/// Returns the events of a message with ends of all blocks and indexes without gaps.
fn regular(events: Vec<Value>) -> Vec<Value> {
    let mut regular: Vec<Value> = Vec::new();
    let (mut begun, mut is_open) = (0, false);
    for mut event in events {
        if is_open && (is(&event, "content_block_start") || is(&event, "message_delta")) {
            regular.push(json!({"type": "content_block_stop", "index": begun - 1}));
            is_open = false;
        }
        if is(&event, "content_block_start") {
            (begun, is_open) = (begun + 1, true);
        }
        is_open &= !is(&event, "content_block_stop");
        if event.get("index").is_some() {
            event["index"] = json!(begun - 1);
        }
        regular.push(event);
    }
    regular
}

#[tokio::test]
async fn events_without_names_and_a_done_event_are_understood() {
    for api in APIS {
        let parts = [text("I look it up."), call("call_1", "getWeather", r#"{"city":"Paris"}"#)];
        let reply = api.events(&parts).iter().fold(Reply::stream(), Reply::event).done();
        let upstream = Server::always(reply).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
        stream.rest().await;
        let calls = format!("{:?}", stream.raw());
        assert!(calls.contains("get_weather") && !calls.contains("getWeather"), "{api:?}: {calls}");
    }
}

#[tokio::test]
async fn missing_and_repeated_ids_are_made_unique() {
    for api in APIS {
        let key = if api == Api::Responses { "call_id" } else { "id" };
        for ids in [["", ""], ["same", "same"]] {
            let calls = ids.map(|id| call(id, "get_weather", r#"{"city":"Paris"}"#));
            let upstream = Server::scripted(move |_, received| api.reply(received, &calls)).await;
            let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
            let answer = api.send(&proxy, &api.with_tools("Weather?")).await.ok();
            let parts = answer[api.parts_key()].as_array().unwrap();
            let ids: Vec<&str> = parts.iter().map(|part| part[key].as_str().unwrap()).collect();
            assert!(!ids[0].is_empty() && !ids[1].is_empty() && ids[0] != ids[1], "{api:?}: {ids:?}");
        }
    }
}
