//! Handover to a person at a limit: users read two plain sentences, `usage` has the cost of the turn, and the trace
//! contains the record of the loop as JSON and as text.

use crate::support::answer::{self, call, completion};
use crate::support::request::{plain, streamed};
use crate::support::{Answer, Proxy, Reply, Server, policy, rooms};
use reqwest::Method;
use serde_json::{Value, json};

/// A model response with text and a call.
fn says(text: &str, floor: u32) -> Reply {
    let calls = [call(&format!("c{floor}"), "listRooms", &json!({ "floor": floor }).to_string())];
    Reply::json(200, &completion(json!({"role": "assistant", "content": text, "tool_calls": calls}), "tool_calls"))
}

fn ask() -> Value {
    let mut request = plain("Which rooms are free?");
    request["model"] = json!("helper");
    request
}

async fn recorded(upstream: &Server, api: &Server) -> Proxy {
    let file = policy::file("recorded", "record: {bodies: true}");
    let config = rooms::config_of(upstream, api) + &policy::table("recorded");
    Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/recorded.yaml", &file)]).await
}

/// Returns a turn that ends at a limit, and a proxy with its trace in the store.
async fn handed_over() -> (Proxy, Answer) {
    let upstream = Server::replying([
        says("I look on floor 5.", 5),
        says("Floor 5 is closed, so I try 6.", 6),
        says("Then 7.", 7),
        says("And 8.", 8),
    ])
    .await;
    let api = Server::always(Reply::json(400, &json!({"code": 4711, "hint": "\u{1b}[31mred"}))).await;
    let proxy = recorded(&upstream, &api).await;
    let answer = proxy.client().chat(&ask()).await;
    (proxy.stop().await.start_again().await, answer)
}

#[tokio::test]
async fn the_record_of_the_loop_is_true_for_every_round() {
    let (proxy, answer) = handed_over().await;
    let id = answer.header("x-callwright-trace").unwrap();
    let trace = proxy.operator().get(&format!("/admin/traces/{id}")).await.ok();
    assert_eq!((&trace["exhausted"], &trace["verdict"]), (&json!("dynamic_feedback"), &json!("failed")));
    let record = trace["record"].as_array().unwrap();
    let part = |name: &str| -> Vec<&Value> { record.iter().map(|round| &round[name]).collect() };
    let actions = [
        "listRooms({\"floor\":5})", "listRooms({\"floor\":6})", "listRooms({\"floor\":7})", "listRooms({\"floor\":8})",
    ];
    assert_eq!(part("action"), actions[..3]);
    assert_eq!(part("new_action"), actions[1..]);
    assert_eq!(part("thought"), ["Floor 5 is closed, so I try 6.", "Then 7.", "And 8."]);
    assert!(part("observation").iter().all(|text| text.as_str().unwrap().contains("closed for renovation")));
    assert_eq!(part("kind"), ["dynamic"; 3]);
}

#[tokio::test]
async fn a_user_reads_two_sentences_and_the_cost_is_that_of_the_turn() {
    let (proxy, answer) = handed_over().await;
    let trace = answer.header("x-callwright-trace").unwrap().to_owned();
    let text = answer.message()["content"].as_str().unwrap().to_owned();
    let expected = "I could not finish this request. Please try again, or contact support with the reference ";
    assert_eq!(text, format!("{expected}{trace}."));
    let usage = &answer.json()["usage"];
    assert_eq!(usage["total_tokens"], 4 * 25, "four requests of 25 tokens: {usage}");
    let trace = proxy.operator().get(&format!("/admin/traces/{trace}")).await.ok();
    for kind in ["prompt_tokens", "completion_tokens", "total_tokens"] {
        assert_eq!(usage[kind], trace["usage"][kind], "{kind}");
    }
    assert_eq!(trace["record"].as_array().unwrap().len(), 3, "the record is in the trace");
}

/// A model that never gives up; streamed where the request is.
async fn stubborn() -> Server {
    Server::scripted(|number, received| {
        let arguments = json!({"floor": number % 9 + 1}).to_string();
        let id = format!("c{number}");
        match received.json()["stream"] == true {
            true => {
                let mut chunks = answer::call_chunks(&[(id.as_str(), "listRooms", arguments.as_str())]);
                let mut last = answer::chunk_of(json!([]));
                last["usage"] = json!({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25});
                chunks.push(last);
                Reply::events(&chunks)
            }
            false => answer::calls(&[call(&id, "listRooms", &arguments)]),
        }
    })
    .await
}

#[tokio::test]
async fn the_policy_has_the_texts_and_the_request_the_language() {
    let (upstream, api) = (stubborn().await, Server::always(Reply::json(400, &json!({"code": 4711}))).await);
    let rules =
        "limits:\n  message:\n    language: de\n    texts: {de: \"Leider nicht. Kennung {trace}.\", fr: \"Non.\"}";
    let file = policy::file("worded", rules);
    let config = rooms::config_of(&upstream, &api) + &policy::table("worded");
    let proxy = Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/worded.yaml", &file)]).await;
    for (accepted, expected) in [("", "Leider nicht. Kennung "), ("en, fr-CA;q=0.4", "Non."), ("es", "Leider nicht. ")]
    {
        let headers = [("accept-language", accepted)];
        let answer = proxy.client().chat_with(&ask(), &headers).await;
        let text = answer.message()["content"].as_str().unwrap().to_owned();
        assert!(text.starts_with(expected), "{accepted}: {text}");
        let mut request = streamed(ask());
        request["stream_options"] = json!({"include_usage": true});
        let streamed = proxy.client().chat_stream_with(&request, &headers).await.assemble().await;
        assert!(streamed.choices[&0].content.starts_with(expected), "{accepted}: {streamed:?}");
        assert_eq!(streamed.usage.unwrap()["total_tokens"], 4 * 25, "{accepted}");
    }
    let wrong = policy::file("worded", "limits: {message: {language: it}}");
    proxy.write("policies/worded.yaml", &wrong);
    proxy.metric_reaches("policy_reloads_total", &[("result", "failure")], 1.0).await;
    assert!(proxy.log().contains("no text in the language `it`; it has en"), "{}", proxy.log());
}

#[tokio::test]
async fn a_person_reads_the_trace_as_text() {
    let (proxy, answer) = handed_over().await;
    let path = format!("/admin/traces/{}", answer.header("x-callwright-trace").unwrap());
    let text = proxy.operator().get(&format!("{path}?format=text")).await;
    assert_eq!((text.status.as_u16(), text.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    let text = text.text();
    for expected in [
        "LIMIT REACHED: dynamic_feedback",
        "last user message:\n  | Which rooms are free?",
        "4. closing → success 200",
        "GET /rooms of rooms → client_error 400",
        "explained by rooms.yaml#",
        "closed for renovation",
        "  | Floor 5 is closed, so I try 6.",
        "Answer\n------",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "nothing acts on a terminal");
    let accepted = proxy.operator().send(Method::GET, &path, &[("accept", "text/plain")], "").await;
    assert_eq!(accepted.text(), text);
    let json = proxy.operator().send(Method::GET, &path, &[("accept", "*/*")], "").await;
    assert_eq!(json.json()["exhausted"], "dynamic_feedback");
    assert_eq!(proxy.operator().get(&format!("{path}?format=xml")).await.status.as_u16(), 400);
}

#[tokio::test]
async fn without_bodies_neither_form_has_what_anybody_wrote() {
    let upstream = Server::replying([says("canary", 5), answer::text("canary")]).await;
    let api = Server::always(Reply::json(400, &json!({"code": 4711, "canary": 1}))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let answer = proxy.client().chat(&ask()).await;
    let proxy = proxy.stop().await.start_again().await;
    let path = format!("/admin/traces/{}?format=text", answer.header("x-callwright-trace").unwrap());
    let text = proxy.operator().get(&path).await.text();
    assert!(!text.contains("canary") && text.contains("policy key `record.bodies`"), "{text}");
}
