//! Responses with neither content nor a call (E6): they are sent back once, and a call at the end of the reasoning is
//! recovered, streamed and whole.

use crate::support::answer::{call, calls, chunk, completion, finish, one_call, role, text, text_chunks};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Proxy, Reply, Server, config, policy, rooms, verb};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

/// A complete call between reserved marks.
const WRITTEN: &str = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";

/// Returns a whole response with this message.
fn message(message: Value, finish_reason: &str) -> Reply {
    Reply::json(200, &completion(message, finish_reason))
}

fn empty() -> Reply {
    message(json!({"role": "assistant", "content": null}), "stop")
}

async fn proxy_of(replies: Vec<Reply>, rules: &str) -> (Server, Proxy) {
    let upstream = Server::replying(replies).await;
    let config = config(&upstream.url("/v1")) + &policy::table("ruled");
    let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", &policy::file("ruled", rules))]).await;
    (upstream, proxy)
}

/// Returns the names of the calls of a message.
fn called(message: &Value) -> Vec<String> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls.map(|call| call["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_empty_answer_goes_back_once_with_a_nudge() {
    for said in [
        json!({"role": "assistant", "content": null}),
        json!({"role": "assistant", "content": " \n"}),
        json!({"role": "assistant", "content": "", "reasoning_content": "I should look it up."}),
        json!({"role": "assistant", "content": null, "reasoning": "I should look it up."}),
        json!({"role": "assistant", "content": "<think>I should look it up.</think>\n"}),
        json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "I should look it up."}]}),
    ] {
        let (upstream, proxy) = proxy_of(vec![message(said.clone(), "stop"), one_call("get_weather", PARIS)], "").await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!(
            (answer.verdict(), called(&answer.message())),
            ("corrected", vec!["get_weather".to_owned()]),
            "{said}"
        );
        let received = upstream.received();
        assert_eq!(received.len(), 2, "{said}");
        let messages = received[1].messages();
        let nudge = messages.last().unwrap();
        assert_eq!(nudge["role"], "user");
        let nudge = nudge["content"].as_str().unwrap();
        assert!(nudge.starts_with("E6: your last answer was empty") && nudge.len() < 250, "{nudge}");
        // An assistant message without content and calls is invalid in the API.
        let is_empty = |message: &Value| message["content"].as_str().is_none_or(|text| text.trim().is_empty());
        assert!(messages.iter().all(|message| message["role"] == "user" || !is_empty(message)), "{messages:?}");
        let traces = proxy.traces_after_stop().await;
        assert_eq!(traces[0]["attempts"][0]["diagnoses"][0]["code"], "E6");
        assert_eq!(traces[0]["attempts"][1]["purpose"], "static_feedback");
    }
}

#[tokio::test]
async fn an_answer_that_stays_empty_passes_as_it_came() {
    let replies = || vec![empty(), message(json!({"role": "assistant", "content": "", "x": 1.5}), "stop")];
    for rules in ["", "on_exhausted: error", "limits: {static_feedback: 1}"] {
        let (upstream, proxy) = proxy_of(replies(), rules).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!((answer.status.as_u16(), answer.verdict()), (200, "faulty"), "{rules}");
        assert_eq!(answer.message(), json!({"role": "assistant", "content": "", "x": 1.5}));
        assert_eq!(upstream.received().len(), 2, "once, and no more");
    }
}

#[tokio::test]
async fn what_has_a_reason_to_be_empty_never_goes_back() {
    let nothing = json!({"role": "assistant", "content": null});
    let mut none = with_tools("Weather?");
    none["tool_choice"] = json!("none");
    for (said, reason, request) in [
        (nothing.clone(), "length", with_tools("Weather?")),
        (nothing.clone(), "content_filter", with_tools("Weather?")),
        (json!({"role": "assistant", "content": null, "refusal": "I cannot."}), "stop", with_tools("Weather?")),
        (
            json!({"role": "assistant", "content": null, "audio": {"id": "a", "data": ""}}),
            "stop",
            with_tools("Weather?"),
        ),
        (
            json!({"role": "assistant", "content": "", "images": [{"type": "image_url"}]}),
            "stop",
            with_tools("Weather?"),
        ),
        (nothing.clone(), "stop", none),
        (nothing.clone(), "stop", plain("Hello")),
    ] {
        let (upstream, proxy) = proxy_of(vec![message(said.clone(), reason), text("no")], "").await;
        let answer = proxy.client().chat(&request).await;
        assert_eq!((answer.message(), upstream.received().len()), (said.clone(), 1), "{said} {reason}");
        assert_eq!(proxy.metrics().await.sum("diagnoses_total", &[("code", "E6")]), 0.0);
    }
}

#[tokio::test]
async fn policy_and_limits_say_whether_it_goes_back() {
    for (rules, verdict) in [
        ("mode: shadow", "faulty"),
        ("mode: off", "unguarded"),
        ("limits: {static_feedback: 0}", "faulty"),
        ("limits: {upstream_requests: 1}", "faulty"),
        ("scan: {faults: {E6: repair}}", "text"),
        ("scan: {faults: {E6: advise}}", "text"),
        ("scan: {faults: {E6: off}}", "text"),
    ] {
        let (upstream, proxy) = proxy_of(vec![empty(), text("no")], rules).await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!((answer.verdict(), upstream.received().len()), (verdict, 1), "{rules}");
        assert_eq!(answer.message(), json!({"role": "assistant", "content": null}), "{rules}");
        let noted = proxy.metrics().await.sum("advice_total", &[("code", "E6")]);
        assert_eq!(noted, if rules.contains("repair") || rules.contains("advise") { 1.0 } else { 0.0 }, "{rules}");
    }
}

#[tokio::test]
async fn of_several_choices_none_goes_back() {
    let choice = |index: u32, content: Value| json!({"index": index, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"});
    let mut body = completion(json!({}), "stop");
    body["choices"] = json!([choice(0, json!("Hello.")), choice(1, Value::Null)]);
    let (upstream, proxy) = proxy_of(vec![Reply::json(200, &body), text("no")], "").await;
    let mut request = with_tools("Weather?");
    request["n"] = json!(2);
    let answer = proxy.client().chat(&request).await;
    assert_eq!((answer.ok()["choices"].clone(), upstream.received().len()), (body["choices"].clone(), 1));
}

#[tokio::test]
async fn an_empty_answer_to_a_proxy_tools_result_goes_back_too() {
    let upstream =
        Server::replying(vec![calls(&[call("c1", "listRooms", r#"{"floor":5}"#)]), empty(), text("The blue one.")])
            .await;
    let api = Server::always(Reply::json(200, &json!(["blue"]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let answer = proxy.client().chat(&rooms::ask("Which rooms are free?")).await;
    assert_eq!(answer.message()["content"], "The blue one.");
    let roles: Vec<Value> = upstream.received()[2].messages().iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"]);
    api.only_request();
}

#[tokio::test]
async fn the_call_in_which_the_reasoning_ends_is_made() {
    let reasoning = format!("The user asks for the weather.\n{WRITTEN}\n");
    for said in [
        json!({"role": "assistant", "content": null, "reasoning_content": reasoning}),
        json!({"role": "assistant", "content": "\n", "reasoning": reasoning}),
        json!({"role": "assistant", "content": format!("<think>{reasoning}</think>")}),
    ] {
        let (upstream, proxy) = proxy_of(vec![message(said.clone(), "stop")], "").await;
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        assert_eq!((answer.verdict(), &answer.ok()["choices"][0]["finish_reason"]), ("repaired", &json!("tool_calls")));
        let made = answer.message();
        assert_eq!(called(&made), ["get_weather"], "{said}");
        assert_eq!(made["tool_calls"][0]["function"]["arguments"].as_str(), Some(PARIS));
        for member in ["reasoning_content", "reasoning"] {
            assert_eq!(made.get(member), said.get(member), "reasoning stays as it came");
        }
        assert_eq!(upstream.received().len(), 1, "no model was needed");
        let traces = proxy.traces_after_stop().await;
        let repair = &traces[0]["attempts"][0]["repairs"][0];
        assert_eq!((&repair["kind"], &repair["from"]), (&json!("rescued"), &json!("tool_call")));
    }
}

#[tokio::test]
async fn reasoning_without_a_final_call_of_an_offered_tool_is_no_call() {
    let of_other = WRITTEN.replace("get_weather", "launch_rocket");
    let cut = WRITTEN.replace("\n</tool_call>", "").replace("}}", "");
    for reasoning in [
        format!("{WRITTEN}\nNo, that would be wrong."),
        of_other,
        cut,
        "get_weather(city=\"Paris\")".to_owned(),
        format!("The page says:\n> {WRITTEN}"),
    ] {
        let said = json!({"role": "assistant", "content": "", "reasoning_content": reasoning});
        let (upstream, proxy) = proxy_of(vec![message(said, "stop"), text("Sunny.")], "").await;
        let made = proxy.client().chat(&with_tools("Weather?")).await.message();
        assert_eq!((called(&made), &made["content"]), (vec![], &json!("Sunny.")), "{reasoning}");
        assert_eq!(upstream.received().len(), 2);
    }
    // The model quotes a call from a page that a tool returned.
    let said = json!({"role": "assistant", "content": "", "reasoning_content": format!("The page says: {WRITTEN}")});
    let (upstream, proxy) = proxy_of(vec![message(said, "stop"), text("Sunny.")], "").await;
    let mut request = with_tools("What does the page say?");
    let messages = request["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call("p", "read_page", "{}")]}));
    messages.push(json!({"role": "tool", "tool_call_id": "p", "content": format!("Welcome! {WRITTEN}")}));
    let made = proxy.client().chat(&request).await.message();
    assert_eq!((called(&made), upstream.received().len()), (vec![], 2), "{made}");
    // If there is content, a call in the reasoning is not made.
    let said = json!({"role": "assistant", "content": "Sunny.", "reasoning_content": WRITTEN});
    let (upstream, proxy) = proxy_of(vec![message(said.clone(), "stop")], "").await;
    assert_eq!(proxy.client().chat(&with_tools("Weather?")).await.message(), said);
    assert_eq!(upstream.received().len(), 1);
}

#[tokio::test]
async fn a_faulty_call_in_the_reasoning_goes_back_as_any_other() {
    let reasoning = WRITTEN.replace("city", "town");
    let said = json!({"role": "assistant", "content": "", "reasoning_content": reasoning});
    let (upstream, proxy) = proxy_of(vec![message(said, "stop"), one_call("get_weather", PARIS)], "").await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!((answer.verdict(), called(&answer.message())), ("corrected", vec!["get_weather".to_owned()]));
    let feedback = upstream.last_request().last_message();
    assert!(feedback["content"].as_str().unwrap().contains("`town`"), "{feedback}");
}

/// Returns a stream of reasoning in pieces of `size` characters, without content.
fn reasoning_chunks(member: &str, reasoning: &str, size: usize) -> Vec<Value> {
    let letters: Vec<char> = reasoning.chars().collect();
    let pieces = letters.chunks(size).map(|piece| chunk(json!({ member: piece.iter().collect::<String>() })));
    [role()].into_iter().chain(pieces).chain([finish("stop")]).collect()
}

#[tokio::test]
async fn an_empty_stream_goes_back_and_goes_on_as_one_stream() {
    for (first, member) in [
        (vec![role(), finish("stop")], None),
        (
            vec![chunk(json!({"role": "assistant", "content": null})), chunk(json!({"content": "\n"})), finish("stop")],
            None,
        ),
        (reasoning_chunks("reasoning_content", "I should look it up.", 3), Some("reasoning_content")),
    ] {
        for then_call in [false, true] {
            let second = match then_call {
                true => crate::support::answer::call_chunks(&[("c1", "get_weather", PARIS)]),
                false => text_chunks("It is sunny."),
            };
            let (upstream, proxy) = proxy_of(vec![Reply::events(&first), Reply::events(&second)], "").await;
            let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
            let choice = assembled.choice();
            let ending = if then_call { "tool_calls" } else { "stop" };
            assert_eq!(choice.finish_reason.as_deref(), Some(ending));
            assert_eq!(choice.content.trim(), if then_call { "" } else { "It is sunny." });
            assert_eq!(choice.calls.len(), usize::from(then_call));
            let flowed = member.and_then(|member| choice.others.get(member)).map(String::as_str);
            assert_eq!(flowed, member.map(|_| "I should look it up."), "what flowed stays");
            assert_eq!(upstream.received().len(), 2);
        }
    }
}

#[tokio::test]
async fn a_stream_that_stays_empty_ends_well() {
    let chunks = [role(), finish("stop")];
    let (upstream, proxy) = proxy_of(vec![Reply::events(&chunks), Reply::events(&chunks)], "").await;
    let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
    let choice = assembled.choice();
    assert_eq!((choice.content.as_str(), choice.finish_reason.as_deref()), ("", Some("stop")));
    assert_eq!(upstream.received().len(), 2);
}

#[tokio::test]
async fn a_call_ending_streamed_reasoning_is_made_and_reasoning_stays() {
    let reasoning = format!("The user asks for the weather.\n{WRITTEN}");
    for member in ["reasoning_content", "reasoning"] {
        for size in [1, 5, 1000] {
            let chunks = reasoning_chunks(member, &reasoning, size);
            let (upstream, proxy) = proxy_of(vec![Reply::events(&chunks)], "").await;
            let assembled = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await.assemble().await;
            let choice = assembled.choice();
            assert_eq!(choice.finish_reason.as_deref(), Some("tool_calls"));
            assert_eq!((choice.content.as_str(), choice.others.get(member)), ("", Some(&reasoning)));
            let [made] = &choice.calls[..] else { panic!("{choice:?}") };
            assert_eq!(
                (&made["function"]["name"], &made["function"]["arguments"]),
                (&json!("get_weather"), &json!(PARIS))
            );
            assert_eq!(upstream.received().len(), 1);
        }
    }
}

#[test]
fn the_offline_scan_reports_empty_answers_with_offered_tools() {
    let tools = with_tools("Weather?")["tools"].clone();
    let line = |id: &str, more: Value| {
        let mut line = json!({"id": id, "tools": tools, "message": {"role": "assistant", "content": ""}});
        for (key, value) in more.as_object().unwrap() {
            line[key] = value.clone();
        }
        line
    };
    let lines = [
        line("empty", json!({})),
        line("reasoned", json!({"message": {"content": null, "reasoning": "hm"}})),
        line("call", json!({"message": {"content": null, "reasoning": WRITTEN}})),
        line("untooled", json!({"tools": []})),
        line("cut", json!({"finish_reason": "length"})),
        line("filtered", json!({"finish_reason": "content_filter"})),
        line("none", json!({"tool_choice": "none"})),
        line("announced", json!({"message": {"content": "Let me look that up:"}})),
    ];
    let input = lines.map(|line| line.to_string()).join("\n");
    let scanned = |rules: &str| -> Vec<String> {
        let folder = verb::Folder::with(&[("p.yaml", policy::file("p", rules).as_bytes())]);
        let said = folder.run(&["scan", "--policy", "p.yaml"], input.as_bytes());
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        let codes = |found: &Value| {
            let codes = found.as_array().into_iter().flatten().map(|found| found["code"].as_str().unwrap().to_owned());
            codes.collect::<Vec<_>>().join(",")
        };
        let shown = |line: &Value| {
            let verdict = line["verdict"].as_str().unwrap();
            format!(
                "{} {verdict} {} {}",
                line["id"].as_str().unwrap(),
                codes(&line["diagnoses"]),
                codes(&line["advice"])
            )
        };
        said.lines().iter().map(|line| shown(line).trim().to_owned()).collect()
    };
    let by_default = scanned("");
    assert_eq!(
        by_default,
        [
            "empty faulty E6", "reasoned faulty E6", "call repaired", "untooled text", "cut text", "filtered text",
            "none text", "announced text",
        ]
    );
    let noted = scanned("scan: {faults: {E6: advise, E6.1: feedback}}");
    assert_eq!(noted[0], "empty text  E6");
    assert_eq!(noted[7], "announced text  E6.1", "never more than noted");
}
