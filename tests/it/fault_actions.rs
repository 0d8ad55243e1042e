//! The policy determines the action for a fault: none, a note, a repair, or feedback to the model.

use crate::support::answer::{self, call, one_call};
use crate::support::request::with_tools;
use crate::support::{Proxy, Reply, Server, config, policy};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;
const DEBUG: [(&str, &str); 1] = [("x-callwright-debug", "true")];

/// Starts a proxy with a single policy with these fault actions.
async fn ruled(replies: Vec<Reply>, faults: &str) -> (Server, Proxy) {
    let upstream = Server::replying(replies).await;
    let config = config(&upstream.url("/v1")) + &policy::table("ruled");
    let rules = format!("scan: {{faults: {{{faults}}}}}");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", &rules))]).await;
    (upstream, proxy)
}

/// Returns name and arguments of the response's only call.
fn only_call(answer: &crate::support::Answer) -> (String, String) {
    let calls = answer.message()["tool_calls"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 1);
    let text = |key: &str| calls[0]["function"][key].as_str().unwrap().to_owned();
    (text("name"), text("arguments"))
}

/// Returns the request with an earlier call of `get_weather` and its result.
fn with_an_earlier_call(arguments: &str, result: &str) -> Value {
    let mut request = with_tools("What is the weather in Paris?");
    let messages = request["messages"].as_array_mut().unwrap();
    let earlier = call("earlier", "get_weather", arguments);
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [earlier]}));
    messages.push(json!({"role": "tool", "tool_call_id": "earlier", "content": result}));
    request
}

#[tokio::test]
async fn what_is_off_or_only_noted_passes_as_it_is() {
    let wrong = [
        ("transfer_money", "{}", "E2"),
        ("GetWeather", PARIS, "E2.2"),
        ("get_weather", "{}", "E3.4"),
        ("get_weather", r#"{"city": 7}"#, "E4.1"),
        ("get_weather", r#"{"city": "#, "E1"),
    ];
    for (name, arguments, code) in wrong {
        for (action, noted) in [("off", 0.0), ("advise", 1.0)] {
            let (upstream, proxy) = ruled(vec![one_call(name, arguments)], &format!("{code}: {action}")).await;
            let answer = proxy.client().chat(&with_tools("Weather?")).await;
            assert_eq!(answer.verdict(), "clean", "{code} {action}");
            assert_eq!(only_call(&answer), (name.to_owned(), arguments.to_owned()));
            assert_eq!(upstream.received().len(), 1);
            proxy.metric_reaches("turns_total", &[], 1.0).await;
            let metrics = proxy.metrics_now().await;
            assert_eq!(metrics.sum("advice_total", &[("code", code)]), noted, "{code} {action}");
            assert_eq!(metrics.sum("diagnoses_total", &[]), 0.0);
        }
    }
}

#[tokio::test]
async fn a_placeholder_is_noted_by_default_and_returned_by_policy() {
    let blank = r#"{"city":"<city>"}"#;
    let (upstream, proxy) = ruled(vec![one_call("get_weather", blank)], "").await;
    let answer = proxy.client().chat_with(&with_tools("How is the weather?"), &DEBUG).await;
    assert_eq!((answer.verdict(), upstream.received().len()), ("clean", 1));
    assert_eq!(answer.json()["callwright"]["advice"][0]["code"], "E4.3");

    let replies = vec![one_call("get_weather", blank), answer::text("Which city?")];
    let (upstream, proxy) = ruled(replies, "E4.3: feedback").await;
    let answer = proxy.client().chat(&with_tools("How is the weather?")).await;
    assert_eq!(answer.message()["content"], "Which city?");
    assert!(upstream.last_request().last_message()["content"].as_str().unwrap().contains("E4.3"));

    let (upstream, proxy) = ruled(vec![one_call("get_weather", blank)], "E4.3: feedback").await;
    let answer = proxy.client().chat(&with_tools("Call it with <city>, literally.")).await;
    assert_eq!((answer.verdict(), upstream.received().len()), ("clean", 1));
}

#[tokio::test]
async fn what_is_only_noted_is_told_along_with_what_is_sent_back() {
    let both = r#"{"city":"<city>","days":"many"}"#;
    let (upstream, proxy) = ruled(vec![one_call("get_weather", both), one_call("get_weather", PARIS)], "").await;
    proxy.client().chat(&with_tools("How is the weather?")).await.ok();
    let feedback = upstream.last_request().last_message()["content"].as_str().unwrap().to_owned();
    let (faults, notes) = feedback.split_once("Note besides: ").unwrap();
    assert!(faults.contains("E4.1") && !faults.contains("E4.3") && notes.contains("E4.3"), "{feedback}");
}

#[tokio::test]
async fn the_same_call_again_is_noted_or_sent_back() {
    let request = with_an_earlier_call(PARIS, "sunny, 21 degrees");
    let (upstream, proxy) = ruled(vec![one_call("get_weather", PARIS)], "").await;
    let answer = proxy.client().chat_with(&request, &DEBUG).await;
    assert_eq!((answer.verdict(), upstream.received().len()), ("clean", 1));
    let advice = &answer.json()["callwright"]["advice"][0];
    assert_eq!((&advice["code"], &advice["facts"]["result"]), (&json!("E5"), &json!("sunny, 21 degrees")));

    let replies = vec![one_call("get_weather", PARIS), answer::text("Sunny.")];
    let (_upstream, proxy) = ruled(replies, "E5: feedback").await;
    assert_eq!(proxy.client().chat(&request).await.message()["content"], "Sunny.");

    let failed = with_an_earlier_call(PARIS, "503 service unavailable");
    let (upstream, proxy) = ruled(vec![one_call("get_weather", PARIS)], "E5: feedback").await;
    proxy.client().chat(&failed).await.ok();
    assert_eq!(upstream.received().len(), 1);
}

#[tokio::test]
async fn a_tool_clearly_outdone_by_another_is_sent_back_by_policy() {
    let request = with_tools("Please book a hotel room");
    for (faults, requests) in [("", 1), ("E2.1: advise", 1), ("E2.1: feedback", 2)] {
        let replies = vec![one_call("get_weather", PARIS), answer::text("Which hotel?")];
        let (upstream, proxy) = ruled(replies, faults).await;
        proxy.client().chat(&request).await.ok();
        assert_eq!(upstream.received().len(), requests, "{faults}");
    }
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_is_counted_and_holds_no_call_up() {
    let mut request = with_tools("Weather?");
    request["tools"][0]["function"]["parameters"] = json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}});
    let arguments = r#"{"city": 7, "anything": [1, {"else": 9007199254740993}]}"#;
    let (_upstream, proxy) = ruled(vec![one_call("get_weather", arguments); 2], "").await;
    for _ in 0..2 {
        let answer = proxy.client().chat(&request).await;
        assert_eq!((answer.verdict(), only_call(&answer).1.as_str()), ("unguarded", arguments));
    }
    assert_eq!(proxy.metrics_now().await.sum("schema_problems_total", &[("judges", "false")]), 1.0);
    assert_eq!(proxy.log().matches("not used for validation").count(), 1, "{}", proxy.log());
}
