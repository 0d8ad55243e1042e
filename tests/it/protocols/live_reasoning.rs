//! Reasoning flows while it comes. That of an answer which was not accepted never returns to the provider.

use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};

use super::api::{APIS, Api, FIELDS, Part, call, text, thought};
use super::sse;
use crate::support::config::config_with_store;
use crate::support::{Event, Gate, Proxy, Received, Reply, Server, Stream, config, policy};

const PARIS: &str = r#"{"city":"Paris"}"#;
const ROME: &str = r#"{"city":"Rome"}"#;

/// Number of events behind the last part of an answer.
fn end_events(api: Api) -> usize {
    match api {
        Api::Responses => 1,
        Api::Messages => 2,
    }
}

/// Returns a stream that waits at a gate of its own behind each of its first `count` events.
fn gated(events: &[Value], count: usize) -> (Reply, Vec<Gate>) {
    let gates: Vec<Gate> = (0..count).map(|_| Gate::closed()).collect();
    let mut reply = Reply::stream();
    for (at, event) in events.iter().enumerate() {
        reply = reply.piece(sse::event(event));
        if let Some(gate) = gates.get(at) {
            reply = reply.wait(gate);
        }
    }
    (reply.end(), gates)
}

async fn next(stream: &mut Stream) -> Value {
    match stream.next().await {
        Some(Event::Json(event)) => event,
        other => panic!("no event but {other:?}"),
    }
}

#[tokio::test]
async fn head_and_reasoning_leave_before_the_next_event_comes() {
    for api in APIS {
        let parts = [thought("Rain? Or snow, in Paris?"), call("call_1", "get_weather", PARIS)];
        let events = api.events(&parts);
        let live = api.events(&parts[..1]).len() - end_events(api);
        let (reply, gates) = gated(&events, live);
        let upstream = Server::always(reply).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
        for (event, gate) in events.iter().zip(&gates) {
            assert_eq!(next(&mut stream).await, *event, "{api:?}");
            gate.open();
        }
        stream.rest().await;
        assert_eq!(stream.raw(), sse::bytes(&events), "{api:?}: a stream that is not sent back keeps every byte");
    }
}

#[tokio::test]
async fn reasoning_of_a_later_attempt_is_live_too() {
    for api in APIS {
        let first = [thought("Rain?"), call("call_1", "get_weather", "{}")];
        let second = [thought("The city, of course."), call("call_2", "get_weather", PARIS)];
        let events = api.events(&second);
        let live = api.events(&second[..1]).len() - end_events(api);
        let heads = api.events(&[]).len() - end_events(api);
        let (reply, gates) = gated(&events, live);
        let begun = sse::reply(&api.events(&first));
        let upstream = Server::replying([begun, reply]).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
        let mut seen = Vec::new();
        for _ in 0..api.events(&first[..1]).len() - end_events(api) {
            seen.push(next(&mut stream).await);
        }
        // The head of the second attempt does not reach the client.
        gates[..heads].iter().for_each(Gate::open);
        for (event, gate) in events.iter().zip(&gates).skip(heads) {
            let given = next(&mut stream).await;
            for member in ["type", "delta", "summary_index", "part", "text"] {
                assert_eq!(given[member], event[member], "{api:?}: {given}");
            }
            seen.push(given);
            gate.open();
        }
        while let Some(Event::Json(event)) = stream.next().await {
            seen.push(event);
        }
        let outline = api.outline(&api.assembled(&seen));
        let expected = ["thought Rain?", "thought The city, of course.", r#"call get_weather {"city":"Paris"}"#];
        assert_eq!(outline, expected, "{api:?}");
    }
}

/// A provider that refuses reasoning which it did not write, or which lacks the part that followed it.
#[derive(Clone)]
struct StrictProvider {
    api: Api,
    /// Answers to give, in order.
    script: Arc<Vec<Vec<Part>>>,
    /// Parts of the answers that were given.
    given: Arc<Mutex<Vec<Vec<Value>>>>,
}

impl StrictProvider {
    fn new(api: Api, script: Vec<Vec<Part>>) -> Self {
        Self { api, script: Arc::new(script), given: Arc::default() }
    }

    fn reply(&self, received: &Received) -> Reply {
        if let Err(message) = self.check(received) {
            return Reply::json(
                400,
                &json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}}),
            );
        }
        let mut given = self.given.lock().unwrap();
        let parts = &self.script[given.len()];
        given.push(self.api.answer(parts)[self.api.parts_key()].as_array().unwrap().clone());
        self.api.reply(received, parts)
    }

    /// Checks the reasoning of a conversation.
    fn check(&self, received: &Received) -> Result<(), String> {
        let conversation = self.api.conversation(received);
        let runs: Vec<Vec<Value>> = match self.api {
            Api::Responses => vec![conversation],
            Api::Messages => conversation.iter().filter_map(|message| message["content"].as_array().cloned()).collect(),
        };
        let given = self.given.lock().unwrap();
        for run in &runs {
            for (at, part) in run.iter().enumerate().filter(|(_, part)| is_reasoning(part)) {
                let known =
                    given.iter().find_map(|answer| Some((answer, answer.iter().position(|own| is_same(own, part))?)));
                let Some((answer, place)) = known else { return Err(format!("changed reasoning: {part}")) };
                if !run.get(at + 1).is_some_and(|next| is_same(&answer[place + 1], next)) {
                    return Err(format!("reasoning without the part that followed it: {part}"));
                }
            }
        }
        Ok(())
    }
}

fn is_reasoning(part: &Value) -> bool {
    matches!(part["type"].as_str(), Some("thinking" | "redacted_thinking" | "reasoning"))
}

/// Whether a part is the one that was given. The id of a reasoning item may be omitted.
fn is_same(given: &Value, part: &Value) -> bool {
    let mut given = given.clone();
    if part["id"].is_null() && given["type"] == "reasoning" {
        given.as_object_mut().unwrap().remove("id");
    }
    given == *part
}

/// Returns the client's next request: its last one, the answer, and the results of the calls.
fn continued(api: Api, request: &Value, answer: &Value, edit: impl Fn(&mut Value)) -> Value {
    let mut request = request.clone();
    let mut parts = answer[api.parts_key()].as_array().unwrap().clone();
    parts.iter_mut().for_each(edit);
    let conversation = request[api.conversation_key()].as_array_mut().unwrap();
    let calls: Vec<Value> = parts.iter().filter(|part| part["name"].is_string()).cloned().collect();
    match api {
        Api::Responses => {
            conversation.extend(parts);
            conversation.extend(calls.iter().map(
                |call| json!({"type": "function_call_output", "call_id": call["call_id"], "output": "It rains."}),
            ));
        }
        Api::Messages => {
            conversation.push(json!({"role": "assistant", "content": parts}));
            let results: Vec<Value> = calls
                .iter()
                .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "It rains."}))
                .collect();
            conversation.push(json!({"role": "user", "content": results}));
        }
    }
    request
}

/// Change that a client makes to the parts that it returns.
type PartEdit = fn(&mut Value);

/// Two turns with rejected attempts, and one more.
fn script() -> Vec<Vec<Part>> {
    vec![
        vec![thought("Rain?"), call("call_1", "get_weather", "{}")],
        vec![thought("A rocket."), call("call_2", "launch_rocket", "{}")],
        vec![thought("Paris."), call("call_3", "get_weather", PARIS)],
        vec![thought("And there?"), call("call_4", "get_weather", "{}")],
        vec![thought("Rome."), call("call_5", "get_weather", ROME)],
        vec![thought("Both."), text("It rains.")],
    ]
}

#[tokio::test]
async fn rejected_reasoning_does_not_return_to_the_provider() {
    let nothing = |_: &mut Value| {};
    // Some clients return reasoning items without their ids.
    let without_id = |part: &mut Value| {
        if part["type"] == "reasoning" {
            part.as_object_mut().unwrap().remove("id");
        }
    };
    let cases: [(Api, PartEdit); 3] =
        [(Api::Responses, nothing), (Api::Responses, without_id), (Api::Messages, nothing)];
    for (api, edit) in cases {
        let provider = StrictProvider::new(api, script());
        let script = provider.clone();
        let upstream = Server::scripted(move |_, received| script.reply(received)).await;
        let mut proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let mut request = api.with_tools("Weather?");
        for expected in [
            &["thought Rain?", "thought A rocket.", "thought Paris.", r#"call get_weather {"city":"Paris"}"#][..],
            &["thought And there?", "thought Rome.", r#"call get_weather {"city":"Rome"}"#],
            &["thought Both.", "text It rains."],
        ] {
            let answer = api.streamed(&proxy, &request).await;
            assert_eq!(api.outline(&answer), expected, "{api:?}");
            request = continued(api, &request, &answer, edit);
            // Another process on the same store recognises it.
            proxy = proxy.stop().await.start_again().await;
        }
        let received = upstream.last_request();
        let mut accepted = Vec::new();
        for part in api.conversation(&received) {
            let parts = part["content"].as_array().filter(|_| api == Api::Messages).cloned();
            accepted.extend(parts.unwrap_or_else(|| vec![part]).into_iter().filter(is_reasoning));
        }
        let given = provider.given.lock().unwrap();
        assert_eq!(accepted.len(), 2, "{api:?}: {accepted:#?}");
        for (part, attempt) in accepted.iter().zip([2, 4]) {
            assert!(is_same(&given[attempt][0], part), "{api:?}: its own reasoning is changed: {part}");
        }
    }
}

#[tokio::test]
async fn the_last_answer_continues_its_stream_after_a_later_failure() {
    for api in APIS {
        let first = vec![thought("Rain?"), text("I look. "), thought("Where?"), call("call_1", "get_weather", "{}")];
        let expected = api.outline(&api.answer(&first));
        let second = vec![thought("Then."), text("It rains.")];
        let script = [first, second.clone()];
        let upstream = Server::scripted(move |number, received| match number {
            0 => api.reply(received, &script[0]),
            // The second attempt ends in the middle of its reasoning.
            1 => sse::begun(&api.events(&second)[..5]).then_reset(),
            _ => api.reply(received, &script[1]),
        })
        .await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let request = api.with_tools("Weather?");
        let answer = api.streamed(&proxy, &request).await;
        let mut outline = api.outline(&answer);
        assert_eq!(outline.pop(), expected.last().cloned(), "{api:?}");
        assert_eq!(outline[..3], expected[..3], "{api:?}");
        assert_eq!(outline.len(), 4, "{api:?}: the begun reasoning of the second attempt: {outline:?}");
        // What was accepted after all returns unchanged; what was begun does not.
        let request = continued(api, &request, &answer, |_| {});
        api.streamed(&proxy, &request).await;
        let conversation = api.conversation(&upstream.last_request());
        let parts = match api {
            Api::Responses => conversation[1..5].to_vec(),
            Api::Messages => conversation[1]["content"].as_array().unwrap().clone(),
        };
        let answer = json!({ api.parts_key(): parts });
        assert_eq!(api.outline(&answer), expected, "{api:?}");
    }
}

#[tokio::test]
async fn reasoning_of_withheld_calls_does_not_return_to_the_provider() {
    for api in APIS {
        let script = vec![
            vec![thought("Rain?"), call("call_1", "get_weather", "{}")],
            vec![thought("Snow?"), call("call_2", "get_weather", "{}")],
            vec![text("It rains.")],
        ];
        let provider = StrictProvider::new(api, script);
        let script = provider.clone();
        let upstream = Server::scripted(move |_, received| script.reply(received)).await;
        let rules = policy::file("ruled", "limits: {static_feedback: 0}\non_exhausted: strip");
        let config = config(&upstream.url("/v1")) + &policy::table("ruled");
        let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &rules)]).await;
        let mut request = api.with_tools("Weather?");
        let streamed = api.streamed(&proxy, &request).await;
        assert_eq!(api.outline(&streamed), ["thought Rain?"], "{api:?}");
        request = continued(api, &request, &streamed, |_| {});
        let plain = api.send(&proxy, &request).await.ok();
        assert_eq!(api.outline(&plain), ["thought Snow?"], "{api:?}");
        request = continued(api, &request, &plain, |_| {});
        assert_eq!(api.outline(&api.streamed(&proxy, &request).await), ["text It rains."], "{api:?}");
    }
}

#[tokio::test]
async fn without_a_store_reasoning_is_held_until_its_call_is_accepted() {
    for api in APIS {
        let script = [
            vec![thought("Rain?"), call("call_1", "get_weather", "{}")],
            vec![thought("Paris."), call("call_2", "get_weather", PARIS)],
        ];
        let upstream = Server::scripted(move |number, received| api.reply(received, &script[number])).await;
        let proxy = Proxy::start(config_with_store(&upstream.url("/v1"), "")).await;
        let answer = api.streamed(&proxy, &api.with_tools("Weather?")).await;
        assert_eq!(api.outline(&answer), ["thought Paris.", r#"call get_weather {"city":"Paris"}"#], "{api:?}");
    }
}

/// Starts a proxy whose upstream stops in the middle of a call until the gate opens.
async fn waiting(api: Api, mode: &str, gate: &Gate) -> (Server, Proxy, Vec<Value>) {
    let events = api.events(&[thought("Rain?"), call("call_1", "get_weather", PARIS)]);
    let half = events.len() - 4;
    let reply = sse::begun(&events[..half]).wait(gate);
    let reply = events[half..].iter().fold(reply, |reply, event| reply.piece(sse::event(event)));
    let upstream = Server::always(reply.end()).await;
    let rules = policy::file("ruled", &format!("mode: {mode}"));
    let config = config(&upstream.url("/v1")) + "[pipeline]\nkeep_alive_seconds = 1\n" + &policy::table("ruled");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &rules)]).await;
    (upstream, proxy, events)
}

#[tokio::test]
async fn while_a_call_is_held_the_client_gets_events() {
    for api in APIS {
        let gate = Gate::closed();
        let (_upstream, proxy, events) = waiting(api, "guard", &gate).await;
        let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
        let live = api.events(&[thought("Rain?")]).len() - end_events(api);
        let mut seen = Vec::new();
        for _ in 0..live {
            seen.push(next(&mut stream).await);
        }
        let kind = if api == Api::Responses { "response.in_progress" } else { "ping" };
        for _ in 0..2 {
            seen.push(next(&mut stream).await);
            assert_eq!(seen.last().unwrap()["type"], kind, "{api:?}");
        }
        gate.open();
        while let Some(Event::Json(event)) = stream.next().await {
            seen.push(event);
        }
        // The checks of the stream include gapless numbers.
        assert_eq!(api.assembled(&seen), api.assembled(&events), "{api:?}");
        assert!(!stream.raw().lines().any(|line| line.starts_with(':')), "{}", stream.raw());
    }
}

#[tokio::test]
async fn a_stream_that_is_not_guarded_gets_comments_only() {
    for api in APIS {
        for mode in ["shadow", "off"] {
            let gate = Gate::closed();
            let (_upstream, proxy, events) = waiting(api, mode, &gate).await;
            let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
            stream.await_raw("\n: ping\n").await;
            gate.open();
            stream.rest().await;
            let raw = stream.raw();
            let events_only: String = raw.split_inclusive('\n').filter(|line| !line.starts_with(':')).collect();
            assert_eq!(events_only, sse::bytes(&events), "{api:?} {mode}");
        }
    }
}

#[tokio::test]
async fn counting_and_compaction_have_the_conversation_of_a_turn() {
    for (api, paths) in [
        (Api::Responses, &["/v1/responses/compact", "/v1/responses/input_tokens"][..]),
        (Api::Messages, &["/v1/messages/count_tokens"]),
    ] {
        let script = [
            vec![thought("Rain?"), call("call_1", "get_weather", "{}")],
            vec![thought("Paris."), call("call_2", "get_weather", PARIS)],
        ];
        let upstream = Server::scripted(move |number, received| match script.get(number) {
            Some(parts) => api.reply(received, parts),
            None => Reply::json(200, &json!({"input_tokens": 42})),
        })
        .await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let request = api.with_tools("Weather?");
        let answer = api.streamed(&proxy, &request).await;
        let request = continued(api, &request, &answer, |_| {});
        let mut expected = request.clone();
        let run = match api {
            Api::Responses => &mut expected["input"],
            Api::Messages => &mut expected["messages"][1]["content"],
        };
        let retracted = run.as_array_mut().unwrap().remove(usize::from(api == Api::Responses));
        assert!(retracted.to_string().contains("Rain?") || is_reasoning(&retracted), "{retracted}");
        for path in paths {
            proxy.client().send(Method::POST, path, &FIELDS, request.to_string()).await.ok();
            let received = upstream.last_request();
            assert_eq!((received.target.as_str(), received.json()), (*path, expected.clone()), "{api:?}");
        }
        // A conversation without such reasoning keeps every byte.
        let plain = format!("{{ \"model\":\"gpt-test\", \"{}\": [ ] }}", api.conversation_key());
        proxy.client().send(Method::POST, paths[0], &FIELDS, plain.clone()).await.ok();
        assert_eq!(upstream.last_request().text(), plain);
    }
}
