//! Conversations that the provider keeps: `previous_response_id`, `conversation`, `background`, `thread`.

use reqwest::Method;
use serde_json::{Value, json};

use super::api::{Api, Part, call, text, written};
use super::responses_api;
use super::sse;
use crate::support::{Proxy, Received, Reply, Server, config};

const API: Api = Api::Responses;
const PARIS: &str = r#"{"city":"Paris"}"#;

/// Starts an upstream that gives these answers, with the ids `resp_0`, `resp_1`, ..., and a proxy before it.
async fn stateful(answers: Vec<Vec<Part>>) -> (Server, Proxy) {
    let script = move |number: usize, received: &Received| {
        let parts = &answers[number % answers.len()];
        let id = json!(format!("resp_{number}"));
        if !super::api::is_stream(received) {
            let mut answer = responses_api::answer(parts);
            answer["id"] = id;
            return Reply::json(200, &answer);
        }
        let mut events = responses_api::events(parts);
        for event in events.iter_mut().filter(|event| event["response"].is_object()) {
            event["response"]["id"] = id.clone();
        }
        sse::reply(&events)
    };
    let upstream = Server::scripted(script).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    (upstream, proxy)
}

/// Returns the client's next request, which has only the results of the calls.
fn continued(answer: &Value) -> Value {
    let mut next = API.with_tools("");
    next["previous_response_id"] = answer["id"].clone();
    let calls = answer["output"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call");
    let output =
        |call: &Value| json!({"type": "function_call_output", "call_id": call["call_id"], "output": "It rains."});
    next["input"] = calls.map(output).collect();
    next
}

#[tokio::test]
async fn a_text_call_in_provider_state_is_put_before_its_result() {
    for is_stream in [false, true] {
        let (upstream, proxy) = stateful(vec![vec![text(&written("get_weather", PARIS))], vec![text("Rain.")]]).await;
        let request = API.with_tools("Weather?");
        let first = match is_stream {
            true => API.streamed(&proxy, &request).await,
            false => API.send(&proxy, &request).await.ok(),
        };
        API.send(&proxy, &continued(&first)).await.ok();
        let sent = API.conversation(&upstream.last_request());
        assert_eq!(sent.len(), 2, "{sent:#?}");
        assert_eq!((&sent[0]["type"], &sent[0]["name"]), (&json!("function_call"), &json!("get_weather")), "{sent:#?}");
        assert_eq!(sent[0]["call_id"], sent[1]["call_id"]);
        assert_eq!(upstream.last_request().json()["previous_response_id"], "resp_0");
    }
}

#[tokio::test]
async fn native_calls_need_nothing() {
    let (upstream, proxy) = stateful(vec![vec![call("a", "getWeather", PARIS)], vec![text("Rain.")]]).await;
    let first = API.streamed(&proxy, &API.with_tools("Weather?")).await;
    let next = continued(&first);
    API.send(&proxy, &next).await.ok();
    assert_eq!(upstream.last_request().json(), next);
}

#[tokio::test]
async fn a_stream_with_the_id_of_its_first_attempt_continues_the_last() {
    let answers = vec![
        vec![text("I look it up."), call("a", "get_weather", "{}")],
        vec![call("b", "get_weather", PARIS)],
        vec![text("Rain.")],
    ];
    let (upstream, proxy) = stateful(answers).await;
    let first = API.streamed(&proxy, &API.with_tools("Weather?")).await;
    assert_eq!(first["id"], "resp_0", "the client has one id");
    API.send(&proxy, &continued(&first)).await.ok();
    assert_eq!(upstream.last_request().json()["previous_response_id"], "resp_1");
}

#[tokio::test]
async fn feedback_on_a_stored_response_continues_the_conversation() {
    let (upstream, proxy) =
        stateful(vec![vec![call("a", "get_weather", "{}")], vec![call("b", "get_weather", PARIS)]]).await;
    let mut request = API.with_tools("Weather?");
    request["previous_response_id"] = json!("resp_before");
    API.send(&proxy, &request).await.ok();
    let feedback = upstream.last_request().json();
    assert_eq!(feedback["previous_response_id"], "resp_before");
    let kinds: Vec<&str> =
        feedback["input"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(kinds, ["function_call", "function_call_output"]);
}

#[tokio::test]
async fn a_conversation_of_the_provider_gets_no_feedback() {
    let (upstream, proxy) = stateful(vec![vec![call("a", "getWeather", r#"{"days":"3"}"#)]]).await;
    let mut request = API.with_tools("Weather?");
    request["conversation"] = json!("conv_1");
    let answer = API.send(&proxy, &request).await;
    assert_eq!(answer.verdict(), "faulty");
    assert_eq!(upstream.received().len(), 1, "a round would stay in the conversation");
}

#[tokio::test]
async fn a_background_response_passes_through() {
    let mut queued = responses_api::response("queued", Vec::new());
    queued["background"] = json!(true);
    let upstream = Server::always(Reply::json(200, &queued)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let mut request = API.with_tools("Weather?");
    request["background"] = json!(true);
    let answer = API.send(&proxy, &request).await;
    assert_eq!((answer.ok(), answer.verdict()), (queued, "unguarded"));
    assert_eq!(upstream.only_request().json(), request);
}

/// The request is not known when a response is fetched, but its tools are: the response repeats them.
#[tokio::test]
async fn a_fetched_response_is_judged_with_the_tools_that_it_repeats() {
    let wrong_text = written("getWeather", PARIS);
    let cases: [(&[Part], &str, Option<Value>); 7] = [
        (&[call("a", "get_weather", PARIS)], "clean", None),
        (&[call("a", "getWeather", PARIS)], "repaired", Some(json!(["get_weather", PARIS]))),
        (
            &[call("a", "get_weather", r#"{"city":"Paris","days":"3"}"#)],
            "repaired",
            Some(json!(["get_weather", r#"{"city":"Paris","days":3}"#])),
        ),
        (&[call("a", "get_weather", r#"{"city":"Paris","days":"soon"}"#)], "faulty", None),
        (&[call("a", "brought_by_the_input", "{}")], "clean", None),
        (&[text("Rain.")], "text", None),
        (&[text(&wrong_text)], "text", None),
    ];
    for (parts, verdict, repaired) in cases {
        for policy in ["guard", "shadow", "off"] {
            let mut finished = responses_api::answer(parts);
            finished["background"] = json!(true);
            finished["tools"] = API.with_tools("")["tools"].clone();
            let upstream = Server::always(Reply::json(200, &finished)).await;
            let policies = format!("{}[policies]\ndirectory = \"policies\"\n", config(&upstream.url("/v1")));
            let files = [("policies/default.yaml", &*format!("name: default\nmode: {policy}\n"))];
            let proxy = Proxy::start_with_files(policies, &files).await;
            let answer = proxy.client().send(Method::GET, "/v1/responses/resp_upstream", &[], "").await;
            let expected = match (policy, verdict) {
                ("off", _) => "unguarded",
                ("shadow", "repaired") => "clean",
                _ => verdict,
            };
            assert_eq!(answer.verdict(), expected, "{policy}: {parts:?}");
            let mut body = finished.clone();
            if let Some(call) = repaired.as_ref().filter(|_| policy == "guard") {
                (body["output"][0]["name"], body["output"][0]["arguments"]) = (call[0].clone(), call[1].clone());
            }
            assert_eq!(answer.ok(), body, "{policy}: {parts:?}");
        }
    }
}

#[tokio::test]
async fn a_fetched_body_that_cannot_be_judged_is_unchanged() {
    let mut without_tools = responses_api::answer(&[call("a", "getWeather", PARIS)]);
    without_tools.as_object_mut().unwrap().remove("tools");
    for body in ["{\"output\": 7, \"tools\": 7}", "[]", "{\"id\":", &without_tools.to_string()] {
        let upstream = Server::always(Reply::body(200, &[("content-type", "application/json")], body.to_owned())).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let answer = proxy.client().send(Method::GET, "/v1/responses/resp_1", &[], "").await;
        assert_eq!((answer.status.as_u16(), &*answer.text(), answer.verdict()), (200, body, "unguarded"));
    }
}

/// A thread at the provider has the model's own calls, so that faults in it cannot be sent back. Tool runners of Anthropic's
/// SDKs repeat the request without a thread; other clients keep theirs.
#[tokio::test]
async fn only_tool_runners_are_asked_to_go_on_without_a_thread() {
    let upstream =
        Server::scripted(|_, received| Api::Messages.reply(received, &[call("a", "getWeather", PARIS)])).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let mut request = Api::Messages.with_tools("Weather?");
    request["thread"] = json!({"type": "create"});
    let helpers = [("x-stainless-helper", "message-thread, BetaToolRunner")];
    let refused = Api::Messages.send_with(&proxy, &request, &helpers).await;
    assert_eq!(refused.status, 400);
    let error: Value = serde_json::from_str(&refused.text()).unwrap();
    assert_eq!(
        error["error"]["details"],
        json!({"error_code": "thread_unsupported_request", "unsupported": ["thread"]})
    );
    assert!(upstream.received().is_empty());
    let repaired = Api::Messages.send(&proxy, &request).await;
    assert_eq!(repaired.verdict(), "repaired");
    assert_eq!(upstream.last_request().json()["thread"], request["thread"]);
}
