//! Modes, limits and reports: shadow mode and `off` change nothing, the handover is a well-formed answer of the proxy, and
//! metrics name the protocol.

use serde_json::{Value, json};

use super::api::{APIS, Api, Part, call, text, thought, written};
use super::sse;
use crate::support::{Proxy, Received, Reply, Server, config, policy, rooms};

const PARIS: &str = r#"{"city":"Paris"}"#;

/// Answers that guard mode changes.
fn faulty_answers() -> Vec<Vec<Part>> {
    vec![
        vec![thought("Rain?"), call("a", "getWeather", r#"{"city":"Paris","days":"3"}"#)],
        vec![text("I look."), call("a", "get_weather", "{}"), call("b", "launch_rocket", "{}")],
        vec![text(&written("get_weather", PARIS))],
        vec![],
    ]
}

#[tokio::test]
async fn shadow_mode_and_off_change_no_byte() {
    for api in APIS {
        let answers = faulty_answers();
        let count = answers.len();
        let script = {
            let answers = answers.clone();
            move |number: usize, received: &Received| api.reply(received, &answers[number / 2 % count])
        };
        for (mode, verdict) in [("shadow", None), ("off", Some("unguarded"))] {
            let upstream = Server::scripted(script.clone()).await;
            let rules = policy::file("ruled", &format!("mode: \"{mode}\""));
            let config = config(&upstream.url("/v1")) + &policy::table("ruled");
            let proxy = Proxy::start_with_files(config, &[("policies/ruled.yaml", rules.as_str())]).await;
            for parts in &answers {
                let plain = api.send(&proxy, &api.with_tools("Weather?")).await;
                assert_eq!(plain.text(), api.answer(parts).to_string(), "{api:?} {mode}");
                assert!(
                    verdict.is_none_or(|verdict| plain.verdict() == verdict),
                    "{api:?} {mode}: {}",
                    plain.verdict()
                );
                let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
                stream.rest().await;
                assert_eq!(stream.raw(), sse::bytes(&api.events(parts)), "{api:?} {mode}");
            }
            assert_eq!(upstream.received().len(), 2 * count, "{api:?} {mode}: no request of the proxy");
        }
    }
}

#[tokio::test]
async fn the_handover_at_a_limit_is_an_answer_of_the_protocol() {
    for api in APIS {
        let script = move |number: usize, received: &Received| {
            let floor = json!({"floor": number % 9 + 1}).to_string();
            api.reply(received, &[text("I look. "), call(&format!("ours_{number}"), "listRooms", &floor)])
        };
        let upstream = Server::scripted(script).await;
        let rooms_api = Server::always(Reply::json(400, &json!({"code": 4711}))).await;
        let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &rooms_api), &rooms::FILES).await;
        let mut request = api.plain("Which rooms are free?");
        request["model"] = json!("helper");
        let mut spent = Vec::new();
        for answer in api.both(&proxy, &request).await {
            let outline = api.outline(&answer);
            let last = outline.last().unwrap();
            assert!(last.contains("I could not finish this request. Please try again"), "{api:?}: {outline:?}");
            for of_the_model in ["listRooms", "Do not", "<data>", "Error:", "Tried"] {
                assert!(!last.contains(of_the_model), "{api:?}: {outline:?}");
            }
            assert!(!outline.iter().any(|part| part.starts_with("call ")), "{api:?}: {outline:?}");
            let count = |kind: &str| answer["usage"][kind].as_u64().unwrap_or_default();
            spent.push((count("input_tokens") + count("cache_read_input_tokens"), count("output_tokens")));
        }
        for (trace, spent) in proxy.traces_after_stop().await.iter().zip(spent) {
            let count = |kind: &str| trace["usage"][kind].as_u64().unwrap();
            assert_eq!(spent, (count("prompt_tokens"), count("completion_tokens")), "{api:?}: {trace:#}");
            assert!(spent.1 > 0, "{api:?}: {trace:#}");
            assert_eq!((&trace["verdict"], &trace["exhausted"]), (&json!("failed"), &json!("dynamic_feedback")));
        }
    }
}

#[tokio::test]
async fn a_stream_has_the_report_that_the_client_requests() {
    for api in APIS {
        let parts = [call("a", "getWeather", PARIS)];
        let upstream = Server::scripted(move |_, received| api.reply(received, &parts)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let mut request = api.with_tools("Weather?");
        request["stream"] = json!(true);
        let fields = [&super::api::FIELDS[..], &[("x-callwright-debug", "true")]].concat();
        let mut stream = proxy.client().stream(api.path(), &fields, request.to_string()).await;
        stream.rest().await;
        let events = sse::events_of(&stream.raw());
        assert_eq!(api.outline(&api.assembled(&events)), [r#"call get_weather {"city":"Paris"}"#]);
        let reports: Vec<&Value> = events
            .iter()
            .flat_map(|event| [&event["callwright"], &event["response"]["callwright"], &event["delta"]["callwright"]])
            .filter(|report| report.is_object())
            .collect();
        assert_eq!(reports.len(), 1, "{api:?}: {events:#?}");
        assert_eq!(reports[0]["verdict"], "repaired");
    }
}

#[tokio::test]
async fn turns_are_counted_by_protocol_and_verdict() {
    let upstream = Server::scripted(|_, received| {
        let api = if received.target == "/v1/responses" { Api::Responses } else { Api::Messages };
        api.reply(received, &[call("a", "getWeather", PARIS)])
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for api in APIS {
        api.both(&proxy, &api.with_tools("Weather?")).await;
        let metrics = proxy.metrics().await;
        let labels = [("protocol", api.label()), ("verdict", "repaired")];
        assert_eq!(metrics.sum("protocol_turns_total", &labels), 2.0);
        assert_eq!(metrics.sum("protocol_turns_total", &[("protocol", "chat")]), 0.0);
    }
}

#[tokio::test]
async fn the_usage_of_all_attempts_is_summed_where_policy_says_so() {
    for api in APIS {
        let script = move |_: usize, received: &Received| {
            let arguments = if api.is_continued(received) { PARIS } else { "{}" };
            api.reply(received, &[call("a", "get_weather", arguments)])
        };
        let upstream = Server::scripted(script).await;
        let rules = policy::file("summed", "usage: sum");
        let config = config(&upstream.url("/v1")) + &policy::table("summed");
        let proxy = Proxy::start_with_files(config, &[("policies/summed.yaml", rules.as_str())]).await;
        for answer in api.both(&proxy, &api.with_tools("Weather?")).await {
            let usage = &answer["usage"];
            assert_eq!(usage["output_tokens"], 10, "{api:?}: {usage}");
            let cached = usage["cache_read_input_tokens"].as_u64().unwrap_or_default();
            assert_eq!(usage["input_tokens"].as_u64().unwrap() + cached, 40, "{api:?}: {usage}");
        }
    }
}
