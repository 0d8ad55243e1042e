//! A call that a model writes into its text reaches the client as a call, and other text stays text.

use crate::support::answer::{self, call, completion, one_call};
use crate::support::request::{booking_tool, plain, weather_tool, with_tools};
use crate::support::{Answer, Proxy, Reply, Server, config, policy, rooms};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

/// Returns a call in the notation of Hermes and related models.
fn written(name: &str, arguments: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
}

async fn guarding(replies: Vec<Reply>) -> (Server, Proxy) {
    guarding_with(replies, "").await
}

/// Starts a proxy with further keys of the upstream, or tables after it.
async fn guarding_with(replies: Vec<Reply>, keys: &str) -> (Server, Proxy) {
    let upstream = Server::replying(replies).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + keys).await;
    (upstream, proxy)
}

async fn ruled(replies: Vec<Reply>, rules: &str) -> (Server, Proxy) {
    let upstream = Server::replying(replies).await;
    let config = config(&upstream.url("/v1")) + &policy::table("ruled");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", rules))]).await;
    (upstream, proxy)
}

/// Returns name and arguments of all calls of a message.
fn calls_of(message: &Value) -> Vec<(String, Value)> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls
        .map(|call| {
            let arguments = call["function"]["arguments"].as_str().unwrap();
            (call["function"]["name"].as_str().unwrap().to_owned(), serde_json::from_str(arguments).unwrap())
        })
        .collect()
}

fn paris() -> Vec<(String, Value)> {
    vec![("get_weather".to_owned(), json!({"city": "Paris"}))]
}

fn finish_reason(answer: &Answer) -> Value {
    answer.ok()["choices"][0]["finish_reason"].clone()
}

#[tokio::test]
async fn a_written_call_becomes_a_call() {
    let (upstream, proxy) = guarding(vec![answer::text(&written("get_weather", PARIS))]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), finish_reason(&answer)), ("repaired", json!("tool_calls")));
    let message = answer.message();
    assert_eq!((calls_of(&message), &message["content"]), (paris(), &Value::Null));
    let id = message["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(message["tool_calls"][0]["type"], "function");
    assert_eq!(upstream.received().len(), 1, "no model was needed");
    let traces = proxy.traces_after_stop().await;
    let repair = &traces[0]["attempts"][0]["repairs"][0];
    assert_eq!((&repair["kind"], &repair["to"]), (&json!("rescued"), &json!("get_weather")));
    assert!(repair["from"].as_str().is_some_and(|notation| !notation.is_empty()), "the notation is told: {repair}");
}

#[tokio::test]
async fn the_text_around_a_call_stays_and_names_and_values_are_mended() {
    let text = format!("I look it up.\n{}", written("getWeather", r#"{"City":"Paris"}"#));
    let (_upstream, proxy) = guarding(vec![answer::text(&text)]).await;
    let message = proxy.client().chat(&with_tools("Weather?")).await.message();
    assert_eq!(calls_of(&message), paris());
    assert_eq!(message["content"].as_str().map(str::trim), Some("I look it up."));
}

#[tokio::test]
async fn other_message_members_and_content_parts_stay() {
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]});
    let message = json!({
        "role": "assistant", "reasoning_content": "hm", "x": 1.5,
        "content": [thinking, {"type": "text", "text": written("get_weather", PARIS)}],
    });
    let (_upstream, proxy) = guarding(vec![Reply::json(200, &completion(message, "stop"))]).await;
    let message = proxy.client().chat(&with_tools("Weather?")).await.message();
    assert_eq!(calls_of(&message), paris());
    assert_eq!(
        (&message["content"], &message["reasoning_content"], &message["x"]),
        (&json!([thinking]), &json!("hm"), &json!(1.5))
    );
}

#[tokio::test]
async fn a_legacy_request_gets_the_legacy_form() {
    let mut request = plain("Weather?");
    request["functions"] = json!([weather_tool()["function"], booking_tool()["function"]]);
    let (_upstream, proxy) = guarding(vec![answer::text(&written("get_weather", PARIS))]).await;
    let answer = proxy.client().chat(&request).await;
    let message = answer.message();
    assert_eq!(finish_reason(&answer), "function_call");
    assert_eq!(message["function_call"], json!({"name": "get_weather", "arguments": PARIS}));
    assert_eq!((message.get("tool_calls"), &message["content"]), (None, &Value::Null));
}

#[tokio::test]
async fn without_parallel_calls_one_is_rescued() {
    let text = written("get_weather", PARIS) + "\n" + &written("get_weather", r#"{"city":"Rome"}"#);
    let (_upstream, proxy) = guarding(vec![answer::text(&text), answer::text(&text)]).await;
    let mut request = with_tools("Weather?");
    assert_eq!(calls_of(&proxy.client().chat(&request).await.message()).len(), 2);
    request["parallel_tool_calls"] = json!(false);
    assert_eq!(calls_of(&proxy.client().chat(&request).await.message()), paris());
}

#[tokio::test]
async fn a_forced_call_may_be_written_too() {
    for choice in [json!("required"), json!({"type": "function", "function": {"name": "get_weather"}})] {
        let (_upstream, proxy) = guarding(vec![answer::text(&written("get_weather", PARIS))]).await;
        let mut request = with_tools("Weather?");
        request["tool_choice"] = choice;
        let answer = proxy.client().chat(&request).await;
        assert_eq!((calls_of(&answer.message()), finish_reason(&answer)), (paris(), json!("tool_calls")));
    }
}

/// Checks that the response is passed on byte by byte.
async fn stays_text(request: Value, text: &str, reason: &str) {
    let body = completion(json!({"role": "assistant", "content": text}), reason);
    let (upstream, proxy) = guarding(vec![Reply::json(200, &body)]).await;
    let answer = proxy.client().chat(&request).await;
    assert_eq!(answer.text(), body.to_string());
    assert_eq!((answer.verdict(), upstream.received().len()), ("text", 1), "{text}");
}

#[tokio::test]
async fn a_text_stays_a_text_where_no_call_may_be_made() {
    let text = written("get_weather", PARIS);
    let mut forbidden = with_tools("Weather?");
    forbidden["tool_choice"] = json!("none");
    stays_text(forbidden, &text, "stop").await;
    let mut other_tool = with_tools("Weather?");
    other_tool["tool_choice"] =
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [booking_tool()]}});
    stays_text(other_tool, &text, "stop").await;
    stays_text(plain("Weather?"), &text, "stop").await;
}

#[tokio::test]
async fn what_was_cut_off_is_never_completed() {
    let cut = &written("get_weather", r#"{"city":"Paris","days":12}"#)[..60];
    let body = completion(json!({"role": "assistant", "content": cut}), "length");
    let (_upstream, proxy) = ruled(vec![Reply::json(200, &body)], "limits: {static_feedback: 0}").await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.text(), body.to_string());
}

#[tokio::test]
async fn bare_json_stays_the_answer_where_json_was_asked_for() {
    let mut request = with_tools("Weather?");
    request["response_format"] = json!({"type": "json_object"});
    stays_text(request, &json!({"name": "get_weather", "arguments": {"city": "Paris"}}).to_string(), "stop").await;
}

#[tokio::test]
async fn a_call_in_a_reasoning_block_stays_a_thought() {
    let text = format!("<think>I could say {}</think>\nWhich city?", written("get_weather", PARIS));
    stays_text(with_tools("Weather?"), &text, "stop").await;
}

#[tokio::test]
async fn text_beside_a_native_call_is_only_text() {
    let native = json!({"role": "assistant", "content": written("get_weather", r#"{"city":"Rome"}"#), "tool_calls": [call("a", "get_weather", PARIS)]});
    let body = completion(native, "tool_calls");
    let (_upstream, proxy) = guarding(vec![Reply::json(200, &body)]).await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.text(), body.to_string());
}

#[tokio::test]
async fn each_choice_is_rescued_and_none_sent_back() {
    let message = |text: &str| json!({"role": "assistant", "content": text});
    let mut body = completion(message(&written("get_weather", PARIS)), "stop");
    let logprobs = json!({"content": [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}]});
    body["choices"][0]["logprobs"] = logprobs.clone();
    let more = [
        message("Hm."),
        message(&written("get_weather", "{}")),
        message("<tool_call>{\"name\": \"get_weather\", \"argum"),
    ];
    for (index, message) in more.into_iter().enumerate() {
        let choice = json!({"index": index + 1, "message": message, "logprobs": logprobs, "finish_reason": "stop"});
        body["choices"].as_array_mut().unwrap().push(choice);
    }
    let (upstream, proxy) = guarding(vec![Reply::json(200, &body)]).await;
    let mut request = with_tools("Weather?");
    request["n"] = json!(4);
    let answer = proxy.client().chat(&request).await.ok();
    let choices = answer["choices"].as_array().unwrap();
    assert_eq!(calls_of(&choices[0]["message"]), paris());
    assert!(choices[0]["logprobs"].is_null(), "they belong to another text");
    for index in 1..4 {
        assert_eq!(choices[index], body["choices"][index], "what cannot be mended stays as it came");
    }
    assert_eq!(upstream.received().len(), 1);
}

#[tokio::test]
async fn a_faulty_written_call_gets_text_and_stays_text_at_the_limits() {
    let faulty = written("get_weather", r#"{"days": 3}"#);
    let (upstream, proxy) = guarding(vec![answer::text(&faulty), answer::text(&written("get_weather", PARIS))]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), calls_of(&answer.message())), ("corrected", paris()));
    let messages = upstream.received()[1].messages();
    assert_eq!(messages[1], json!({"role": "assistant", "content": faulty}), "it goes back as it came");
    assert_eq!((messages.len(), &messages[2]["role"]), (3, &json!("user")), "no call is there to be answered");
    let feedback = messages[2]["content"].as_str().unwrap();
    assert!(feedback.contains("get_weather") && feedback.contains("city"), "{feedback}");

    let (_upstream, proxy) = ruled(vec![answer::text(&faulty)], "limits: {static_feedback: 0}").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), &answer.message()["content"]), ("faulty", &json!(faulty)));
    assert_eq!((answer.message().get("tool_calls"), finish_reason(&answer)), (None, json!("stop")));
}

#[tokio::test]
async fn on_exhausted_strip_leaves_the_right_written_calls() {
    let text = written("get_weather", PARIS) + &written("book_room", "{}");
    let (_upstream, proxy) =
        ruled(vec![answer::text(&text)], "limits: {static_feedback: 0}\non_exhausted: strip").await;
    assert_eq!(calls_of(&proxy.client().chat(&with_tools("Both")).await.message()), paris());
}

#[tokio::test]
async fn a_call_that_cannot_be_read_goes_back_as_the_users_word() {
    let unread = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "#;
    let (upstream, proxy) = guarding(vec![answer::text(unread), one_call("get_weather", PARIS)]).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), calls_of(&answer.message())), ("corrected", paris()));
    let messages = upstream.received()[1].messages();
    assert_eq!(messages[1], json!({"role": "assistant", "content": unread}));
    assert_eq!((messages.len(), &messages[2]["role"]), (3, &json!("user")));
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("diagnoses_total", &[("code", "E1")]), 1.0);
    assert_eq!(metrics.sum("feedback_rounds_sum", &[("kind", "static")]), 1.0);
    let traces = proxy.traces_after_stop().await;
    assert_eq!(traces[0]["attempts"][0]["diagnoses"][0]["code"], "E1");
    assert_eq!(
        (&traces[0]["record"][0]["kind"], &traces[0]["record"][0]["action"]),
        (&json!("static"), &json!("no_call")),
        "the text itself is not stored"
    );
}

#[tokio::test]
async fn an_unreadable_call_stays_text_when_limits_are_reached() {
    let unread = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "#;
    let (upstream, proxy) =
        ruled(vec![answer::text(unread), answer::text(unread)], "limits: {static_feedback: 1}").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), &answer.message()["content"]), ("faulty", &json!(unread)));
    assert_eq!(upstream.received().len(), 2);
    let (_upstream, proxy) =
        ruled(vec![answer::text(unread)], "limits: {static_feedback: 0}\non_exhausted: error").await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.error(502)["code"], "feedback_exhausted");
}

#[tokio::test]
async fn shadow_mode_notes_a_rescue_and_changes_nothing() {
    let body = completion(json!({"role": "assistant", "content": written("get_weather", PARIS)}), "stop");
    let (_upstream, proxy) = ruled(vec![Reply::json(200, &body)], "mode: shadow").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.text(), answer.verdict()), (body.to_string(), "faulty"));
    assert_eq!(proxy.metrics().await.sum("shadow_repairs_total", &[("kind", "rescued")]), 1.0);
}

#[tokio::test]
async fn a_written_call_of_a_catalogs_tool_is_executed() {
    let upstream = Server::replying([
        answer::text(&format!("One moment. {}", written("listRooms", r#"{"floor":2}"#))),
        answer::text("Amber and Birch."),
    ])
    .await;
    let api = Server::always(Reply::json(200, &json!(["Amber", "Birch"]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let mut request = plain("Which rooms?");
    request["model"] = json!("helper");
    assert_eq!(proxy.client().chat(&request).await.message()["content"], "Amber and Birch.");
    assert_eq!(api.only_request().target, "/rooms?floor=2");
    let messages = upstream.received()[1].messages();
    assert_eq!(calls_of(&messages[1]), [("listRooms".to_owned(), json!({"floor": 2}))], "results need their call");
    assert_eq!(messages[1]["content"].as_str().map(str::trim), Some("One moment."));
    assert_eq!(messages[2]["tool_call_id"], messages[1]["tool_calls"][0]["id"]);
}

/// A call amid prose, which counts as a call if the upstream is not known to deliver native calls.
fn amid_prose() -> String {
    "I will look up the weather for you now, and then we shall see what to pack.\n\nget_weather(city='Paris')\n\nOne moment, please, it takes a little while.".to_owned()
}

#[tokio::test]
async fn an_upstream_with_native_calls_needs_stronger_evidence() {
    let native = || one_call("get_weather", PARIS);
    let prose = || answer::text(&amid_prose());
    // A text, then one native call and a text, then as many calls as necessary and a text.
    let replies = || {
        let mut replies = vec![prose(), native(), prose()];
        replies.extend(std::iter::repeat_with(native).take(8));
        replies.push(prose());
        replies
    };
    let cases = [("auto", [true, true, false]), ("text", [true, true, true]), ("native", [false, false, false])];
    for (key, rescued) in cases {
        let upstream = Server::replying(replies()).await;
        let config = config(&upstream.url("/v1")) + &format!("tool_calls = \"{key}\"\n") + &policy::table("ruled");
        let rules = policy::file("ruled", "repair: {rescue: {unsure: call}}");
        let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &rules)]).await;
        let mut seen = Vec::new();
        for _ in 0..replies().len() {
            seen.push(!calls_of(&proxy.client().chat(&with_tools("Weather?")).await.message()).is_empty());
        }
        assert_eq!([seen[0], seen[2], seen[11]], rescued, "{key}");
    }
}

#[tokio::test]
async fn policy_says_what_evidence_is_enough() {
    let bare = json!({"name": "get_weather", "arguments": {"city": "Paris"}}).to_string();
    let marked = written("get_weather", PARIS);
    for (rule, expected) in [("off", [false, false]), ("marked", [false, true]), ("alone", [true, true])] {
        let rules = format!("repair: {{rescue: {{text: \"{rule}\"}}}}");
        let (_upstream, proxy) = ruled(vec![answer::text(&bare), answer::text(&marked)], &rules).await;
        for expected in expected {
            let message = proxy.client().chat(&with_tools("Weather?")).await.message();
            assert_eq!(!calls_of(&message).is_empty(), expected, "{rule}: {message}");
        }
    }
}
