//! Loops of a model, with successful calls without progress, are blocked: where the proxy executes calls, and across
//! the turns of a client that executes its own tools.

use crate::support::answer::{self, call, call_chunks, one_call};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Proxy, Reply, Server, config, policy, rooms};
use serde_json::{Value, json};

const FLOOR: &str = r#"{"floor":2}"#;
const PARIS: &str = r#"{"city":"Paris"}"#;

fn ask() -> Value {
    let mut request = plain("Find me a quiet room.");
    request["model"] = json!("helper");
    request
}

/// Whether the last message of a request reports a loop.
fn is_told(message: &Value) -> bool {
    message["content"].as_str().is_some_and(|text| text.contains("E5.1 in the whole call"))
}

#[tokio::test]
async fn the_third_call_of_a_turn_is_told_what_the_earlier_ones_gave() {
    let upstream = Server::scripted(|_, received| match is_told(&received.last_message()) {
        true => answer::text("There is only Amber."),
        false => one_call("listRooms", FLOOR),
    })
    .await;
    let api = Server::always(Reply::json(200, &json!(["Amber"]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    assert_eq!(proxy.client().chat(&ask()).await.message()["content"], "There is only Amber.");
    assert_eq!(api.received().len(), 2, "the third one is not sent");
    let told = upstream.last_request().last_message()["content"].as_str().unwrap().to_owned();
    assert!(told.contains("made 2 times with the same arguments") && told.contains("[\"Amber\"]"), "{told}");
    assert_eq!(proxy.metrics().await.sum("diagnoses_total", &[("code", "E5.1")]), 1.0);
}

#[tokio::test]
async fn two_calls_in_turn_are_a_circle_too() {
    let upstream = Server::scripted(|number, received| match is_told(&received.last_message()) {
        true => answer::text("Amber is all there is."),
        false if number % 2 == 0 => one_call("listRooms", FLOOR),
        false => one_call("getRoom", r#"{"room":"Amber"}"#),
    })
    .await;
    let api = Server::scripted(|_, received| Reply::json(200, &json!({"from": received.target}))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    assert_eq!(proxy.client().chat(&ask()).await.message()["content"], "Amber is all there is.");
    assert_eq!(api.received().len(), 4);
    let told = upstream.last_request().last_message()["content"].as_str().unwrap().to_owned();
    assert!(told.contains("in turn with `getRoom`"), "{told}");
}

#[tokio::test]
async fn a_call_that_fails_in_the_same_way_again_is_a_circle() {
    let upstream = Server::scripted(|_, received| match is_told(&received.last_message()) {
        true => answer::text("The floor is closed."),
        false => one_call("listRooms", FLOOR),
    })
    .await;
    let api = Server::always(Reply::json(422, &json!({"message": "the floor is closed"}))).await;
    let rules = policy::file("patient", "limits: {dynamic_feedback: 5}");
    let files = [rooms::FILES[0], ("policies/patient.yaml", rules.as_str())];
    let config = rooms::config_of(&upstream, &api) + &policy::table("patient");
    let proxy = Proxy::start_with_files(config, &files).await;
    assert_eq!(proxy.client().chat(&ask()).await.message()["content"], "The floor is closed.");
    assert_eq!(api.received().len(), 2, "the third one is not sent");
}

#[tokio::test]
async fn what_changes_is_no_circle() {
    let upstream = Server::scripted(|number, _| match number {
        0..=4 => one_call("listRooms", FLOOR),
        _ => answer::text("Now it is free."),
    })
    .await;
    let api = Server::scripted(|number, _| Reply::json(200, &json!({"free": number}))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    assert_eq!(proxy.client().chat(&ask()).await.message()["content"], "Now it is free.");
    assert_eq!(api.received().len(), 5);
}

#[tokio::test]
async fn a_model_that_never_leaves_the_circle_is_handed_over() {
    let upstream = Server::always(one_call("listRooms", FLOOR)).await;
    let api = Server::always(Reply::json(200, &json!(["Amber"]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let answer = proxy.client().chat(&ask()).await;
    let text = answer.message()["content"].as_str().unwrap().to_owned();
    assert!(text.contains("could not finish") && !text.contains("listRooms"), "{text}");
    assert_eq!(api.received().len(), 2);
    let trace = proxy.traces_after_stop().await.remove(0);
    assert_eq!(trace["exhausted"], "static_feedback");
}

/// Returns the conversation of a client that executed the same call once per element of `results`.
fn ran(results: &[&str]) -> Value {
    let mut request = with_tools("What is the weather in Paris?");
    let messages = request["messages"].as_array_mut().unwrap();
    for (number, result) in results.iter().enumerate() {
        let id = format!("c{number}");
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call(&id, "get_weather", PARIS)]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
    }
    request
}

/// A model that repeats its call until it receives the feedback about the loop.
async fn stubborn() -> Server {
    Server::scripted(|_, received| {
        let (told, stream) = (is_told(&received.last_message()), received.json()["stream"] == true);
        match (told, stream) {
            (true, false) => answer::text("It stays sunny."),
            (true, true) => Reply::events(&answer::text_chunks("It stays sunny.")),
            (false, false) => one_call("get_weather", PARIS),
            (false, true) => Reply::events(&call_chunks(&[("c9", "get_weather", PARIS)])),
        }
    })
    .await
}

#[tokio::test]
async fn a_clients_tool_is_held_up_across_turns_streamed_or_not() {
    let upstream = stubborn().await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let circle = ran(&["sunny, 21 degrees", "sunny, 21 degrees"]);
    assert_eq!(proxy.client().chat(&circle).await.message()["content"], "It stays sunny.");
    let stream = proxy.client().chat_stream(&streamed(circle)).await.assemble().await;
    assert_eq!((stream.choice().content.as_str(), stream.choice().calls.len()), ("It stays sunny.", 0));
    for legitimate in [
        ran(&["sunny, 21 degrees"]),
        ran(&["sunny, 21 degrees", "rain, 19 degrees"]),
        ran(&["{\"state\":\"pending\"}", "{\"state\":\"pending\"}"]),
        ran(&["ok", "ok", "ok"]),
    ] {
        let answer = proxy.client().chat(&legitimate).await;
        assert_eq!(answer.message()["tool_calls"][0]["function"]["arguments"], PARIS, "{legitimate:#}");
    }
}

#[tokio::test]
async fn policy_can_let_circles_be() {
    let upstream = stubborn().await;
    let rules = policy::file("loose", "scan: {faults: {E5.1: advise}}");
    let files = [("policies/loose.yaml", rules.as_str())];
    let proxy = Proxy::start_with_files(config(&upstream.url("/v1")) + &policy::table("loose"), &files).await;
    let answer = proxy.client().chat(&ran(&["sunny", "sunny"])).await;
    assert!(answer.message()["tool_calls"].is_array());
    assert_eq!(proxy.metrics().await.sum("advice_total", &[("code", "E5.1")]), 1.0);
}
