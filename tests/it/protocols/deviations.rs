//! Servers that deviate from the API reference: their answers are judged, and what the proxy writes is well-formed.

use serde_json::{Value, json};

use super::api::{APIS, Api, Part, call, text, thought};
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
            ("only the final item of the call", |events| {
                events.retain(|event| {
                    let is_begun = is(event, "output_item.added") && event["item"]["type"] == "function_call";
                    !is_begun && !is(event, "function_call_arguments.")
                });
            }),
            ("an index behind a gap", |events| {
                for event in events.iter_mut().filter(|event| event["output_index"] == 2) {
                    event["output_index"] = json!(7);
                }
            }),
            ("arguments that are an object", |events| {
                let last = events.len() - 1;
                events[last]["response"]["output"][2]["arguments"] = json!({"city": "Paris"});
                for event in events.iter_mut().filter(|event| is(event, "output_item.done")) {
                    if event["item"]["type"] == "function_call" {
                        event["item"]["arguments"] = json!({"city": "Paris"});
                    }
                }
                events.retain(|event| !is(event, "function_call_arguments."));
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
            ("input in the start of the block and an empty delta", |events| {
                let mut is_first = true;
                events.retain(|event| {
                    event["delta"]["type"] != "input_json_delta" || std::mem::replace(&mut is_first, false)
                });
                let start = events.iter_mut().find(|event| event["content_block"]["type"] == "tool_use").unwrap();
                start["content_block"]["input"] = json!({"city": "Paris"});
            }),
            ("input in the start of the block and again in deltas", |events| {
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
async fn text_with_the_index_of_an_open_call_does_not_split_it() {
    let api = Api::Messages;
    for name in ["get_weather", "getWeather"] {
        for stray in ["\n", "Let me see."] {
            let mut events = api.events(&[call("toolu_1", name, r#"{"city":"Paris"}"#)]);
            let delta =
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": stray}});
            let deltas: Vec<usize> = (0..events.len()).filter(|at| is(&events[*at], "content_block_delta")).collect();
            for at in deltas.into_iter().rev() {
                events.insert(at + 1, delta.clone());
            }
            let upstream = Server::always(sse::reply(&events)).await;
            let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
            let answer = api.streamed(&proxy, &api.with_tools("Weather?")).await;
            let outline = api.outline(&answer);
            let calls: Vec<&String> = outline.iter().filter(|part| part.starts_with("call ")).collect();
            assert_eq!(calls, [r#"call get_weather {"city":"Paris"}"#], "{stray:?}: {outline:?}");
            assert_eq!((calls.len(), outline.len(), &answer["stop_reason"]), (1, 2, &json!("tool_use")), "{outline:?}");
            assert_eq!(upstream.received().len(), 1);
        }
    }
}

#[tokio::test]
async fn results_with_images_reach_the_upstream_as_sent() {
    let api = Api::Messages;
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": "seen"}, image]});
    let made = |id: &str| json!({"type": "tool_use", "id": id, "name": "get_weather", "input": {"city": "Paris"}});
    let mut request = api.with_tools("Weather?");
    request["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": [made("toolu_1"), made("toolu_2")]}),
        json!({"role": "user", "content": [result("toolu_1"), result("toolu_2"), {"type": "text", "text": "And now?"}]}),
    ]);
    for last in
        [call("toolu_3", "get_weather", r#"{"city":"Rome"}"#), call("toolu_3", "getWeather", r#"{"city":"Rome"}"#)]
    {
        let upstream = Server::scripted(move |_, received| api.reply(received, std::slice::from_ref(&last))).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for answer in api.both(&proxy, &request).await {
            assert_eq!(api.outline(&answer), [r#"call get_weather {"city":"Rome"}"#]);
        }
        assert_eq!(upstream.received()[0].text(), request.to_string());
    }
}

#[tokio::test]
async fn a_missing_id_and_arguments_that_are_an_object_are_completed() {
    let api = Api::Responses;
    for (id, arguments) in [
        (json!(null), json!(r#"{"city":"Oslo","days":"3"}"#)),
        (json!("call_1"), json!({"city": "Oslo", "days": "3"})),
        (json!(null), json!({"city": "Oslo", "days": 3})),
    ] {
        let item = json!({"type": "function_call", "id": "fc_9", "call_id": id, "name": "get_weather", "arguments": arguments});
        let upstream = Server::scripted(move |_, received| api.reply(received, &[Part::Other(item.clone())])).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
            let item = &answer["output"][0];
            let given: Value = serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
            assert_eq!(given, json!({"city": "Oslo", "days": 3}));
            assert!(item["call_id"].as_str().is_some_and(|id| !id.is_empty()), "{item}");
        }
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
