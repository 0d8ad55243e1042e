//! A response that exceeds the time limit of judgement is passed on or withheld by policy, and none of its calls is
//! executed.
//!
//! The responses have so many calls that no machine judges them within the limit of one millisecond, so nothing is
//! timed.

use crate::support::answer::{self, completion};
use crate::support::request::{plain, with_tools};
use crate::support::{Proxy, Reply, Server, config, policy, rooms};
use serde_json::{Value, json};

/// Number of calls of a response, close to the limit. Judging one takes at least a microsecond.
const MANY: usize = 4_000;

const HURRIED: &str = "\n[scanner]\nmax_judgement_milliseconds = 1\n";

fn answer_of(name: &str, arguments: &str, count: usize) -> Value {
    // White space that is also parsed.
    let arguments = arguments.replace('}', &format!("{}}}", " ".repeat(500)));
    let call = |index: usize| json!({"id": format!("call_{index}"), "type": "function", "function": {"name": name, "arguments": arguments}});
    let calls: Vec<Value> = (0..count).map(call).collect();
    completion(json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
}

async fn hurried(body: &Value, rules: &str) -> (Server, Proxy) {
    ruled(body, rules, HURRIED).await
}

async fn ruled(body: &Value, rules: &str, settings: &str) -> (Server, Proxy) {
    let upstream = Server::always(Reply::json(200, body)).await;
    let config = config(&upstream.url("/v1")) + settings + &policy::table("ruled");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", rules))]).await;
    (upstream, proxy)
}

async fn unjudged(proxy: &Proxy, reason: &str) -> f64 {
    proxy.metrics().await.sum("unjudged_answers_total", &[("reason", reason)])
}

#[tokio::test]
async fn under_pass_it_reaches_the_client_as_it_came() {
    for arguments in [r#"{"city":"Paris"}"#, r#"{"City":"Paris"}"#, r#"{"town":"Paris"}"#] {
        let body = answer_of("get_weather", arguments, MANY);
        let sent = body.to_string();
        let (upstream, proxy) = hurried(&body, "on_exhausted: pass").await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!((answer.status.as_u16(), answer.verdict()), (200, "unguarded"));
        assert!(answer.text().as_str() == sent, "the answer was changed");
        assert_eq!(upstream.received().len(), 1, "the model is not requested again");
        assert_eq!(unjudged(&proxy, "calls_time").await, 1.0);
        assert_eq!(proxy.metrics().await.sum("feedback_exhausted_total", &[("kind", "judgement")]), 1.0);
    }
}

#[tokio::test]
async fn json_that_cannot_be_held_reaches_the_client_as_it_came() {
    let modulus = format!(r#"{{"city":"Paris","days":{}}}"#, "7".repeat(617));
    let deep = format!(r#"{{"city":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    for arguments in [&modulus, &deep, r#"{"city":"Paris","days":1e400}"#, r#"{"city":"half \ud83d"}"#] {
        let sent = answer_of("get_weather", arguments, 1).to_string();
        for rules in ["on_exhausted: pass", "on_exhausted: error"] {
            let (upstream, proxy) = ruled(&serde_json::from_str(&sent).unwrap(), rules, "").await;
            let answer = proxy.client().chat(&with_tools("Weather?")).await;
            assert_eq!((answer.status.as_u16(), answer.verdict()), (200, "unguarded"), "{arguments}");
            assert!(answer.text().as_str() == sent, "the answer was changed");
            assert_eq!(upstream.received().len(), 1, "the model is not requested again");
            assert_eq!(unjudged(&proxy, "calls_values").await, 1.0);
        }
    }
}

#[tokio::test]
async fn policy_withholds_it() {
    let body = answer_of("get_weather", r#"{"city":"Paris"}"#, MANY);
    let (_upstream, proxy) = hurried(&body, "on_exhausted: strip").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.status, 200);
    assert!(answer.message()["tool_calls"].as_array().is_none_or(Vec::is_empty));
    let (_upstream, proxy) = hurried(&body, "on_exhausted: error").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains("scanner.max_judgement_milliseconds"), "{}", answer.text());
}

#[tokio::test]
async fn a_text_is_passed_on_as_text() {
    let text = "{\"a\": 1}\n".repeat(5 * MANY);
    let body = completion(json!({"role": "assistant", "content": text}), "stop");
    let sent = body.to_string();
    let (upstream, proxy) = hurried(&body, "on_exhausted: pass").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert!(answer.text().as_str() == sent, "the answer was changed");
    assert_eq!((upstream.received().len(), unjudged(&proxy, "text_time").await), (1, 1.0));
}

#[tokio::test]
async fn catalog_tool_calls_are_neither_executed_nor_passed_on() {
    let upstream = Server::always(Reply::json(200, &answer_of("listRooms", r#"{"floor":2}"#, MANY))).await;
    let api = Server::always(Reply::json(200, &json!(["Amber"]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api) + HURRIED, &rooms::FILES).await;
    let mut request = plain("Which rooms?");
    request["model"] = json!("helper");
    let answer = proxy.client().chat(&request).await;
    assert!(api.received().is_empty(), "nothing unjudged is executed");
    assert_eq!(upstream.received().len(), 1);
    assert!(answer.message()["tool_calls"].is_null() && !answer.text().contains("\"listRooms\""), "{}", answer.text());
    assert_eq!(unjudged(&proxy, "calls_time").await, 1.0);
}

#[tokio::test]
async fn calls_behind_enough_faults_are_requested_again_unexamined() {
    let body = answer_of("get_weather", r#"{"city":"Paris","a":1,"b":2,"c":3}"#, 10);
    let upstream = Server::replying([Reply::json(200, &body), answer::text("Never mind.")]).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "\n[scanner]\nmax_diagnoses = 6\n").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.message()["content"], "Never mind.");
    let messages = upstream.received()[1].messages();
    let replies: Vec<&str> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|reply| reply["content"].as_str().unwrap())
        .collect();
    assert_eq!(replies.len(), 10, "every call is answered");
    let examined = replies.iter().filter(|reply| reply.contains("has no parameter")).count();
    let unexamined = replies.iter().filter(|reply| reply.contains("was not examined")).count();
    assert_eq!((examined, unexamined), (2, 8), "{replies:#?}");
    assert_eq!(proxy.metrics().await.sum("unjudged_answers_total", &[]), 0.0);
}
