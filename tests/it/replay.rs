//! `callwright replay` on the traces of a real proxy: the effects that a policy would have had on unguarded turns.

use crate::support::answer::{self, call, call_chunks};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::verb::{Folder, Said, gzip, to_lines};
use crate::support::{Proxy, Reply, Server, config, policy};
use serde_json::{Value, json};

/// Responses of a model: a valid call, one with three repairs, two calls of which one cannot be repaired, a text.
fn answers() -> [Reply; 4] {
    [
        answer::one_call("get_weather", r#"{"city":"Paris"}"#),
        answer::one_call("getWeather", r#"{"City":"Paris","days":"3"}"#),
        answer::calls(&[call("a", "launch_rocket", "{}"), call("b", "get_weather", r#"{"city":"Rome"}"#)]),
        answer::text("It rains."),
    ]
}

/// Returns the traces of a proxy under a policy with these rules, one turn per response.
async fn traces(rules: &str, requests: &[Value], answers: impl IntoIterator<Item = Reply>) -> Vec<Value> {
    let upstream = Server::replying(answers).await;
    let file = policy::file("recorded", rules);
    let proxy = Proxy::start_with_files(
        config(&upstream.url("/v1")) + &policy::table("recorded"),
        &[("policies/recorded.yaml", &file)],
    )
    .await;
    for request in requests {
        if request["stream"] == true {
            proxy.client().chat_stream(request).await.rest().await;
        } else {
            proxy.client().chat(request).await;
        }
    }
    proxy.traces_after_stop().await
}

async fn shadowed(bodies: bool) -> Vec<Value> {
    let requests: Vec<Value> = answers().map(|_| with_tools("Weather?")).into();
    traces(&format!("mode: shadow\nrecord: {{bodies: {bodies}}}"), &requests, answers()).await
}

fn replay(traces: &[u8], options: &[&str]) -> Said {
    replay_with(traces, "", options)
}

fn replay_with(traces: &[u8], rules: &str, options: &[&str]) -> Said {
    let file = policy::file("candidate", rules);
    let folder = Folder::with(&[("candidate.yaml", file.as_bytes())]);
    folder.run(&[&["replay", "--policy", "candidate.yaml"], options].concat(), traces)
}

/// Returns the output of `--format json` for traces that are all usable.
fn report(traces: &[Value], rules: &str) -> Value {
    let said = replay_with(&to_lines(traces), rules, &["--format", "json"]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let [report] = said.lines().try_into().unwrap();
    report
}

fn calls(clean: u64, repaired: u64, sent_back: u64, handed_over: u64) -> Value {
    json!({"clean": clean, "repaired": repaired, "sent_back": sent_back, "handed_over": handed_over})
}

#[tokio::test]
async fn turns_with_bodies_are_judged_again_others_as_recorded() {
    for (bodies, source) in [(true, "again"), (false, "as_recorded")] {
        let report = report(&shadowed(bodies).await, "");
        assert_eq!(report["headline"], "would have repaired 1 and re-asked 1 of 4 calls");
        assert_eq!(report["calls"], calls(2, 1, 1, 0), "{source}");
        let turns = json!({"text": 1, "clean": 1, "repaired": 1, "sent_back": 1, "handed_over": 0, "unknown": 0});
        assert_eq!(report["turns"], turns);
        assert_eq!(report["repairs"], json!({"parameter_renamed": 1, "tool_renamed": 1, "type_coerced": 1}));
        assert_eq!(report["diagnoses"], json!({"E2": 1}));
        assert_eq!(report["judged"][source], 4);
        let model =
            json!({"name": "gpt-test", "calls": 4, "clean": 2, "repaired": 1, "sent_back": 1, "handed_over": 0});
        assert_eq!(report["models"], json!([model]));
        let tools: Vec<&str> =
            report["tools"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(tools, ["getWeather", "launch_rocket", "get_weather"]);
        let told = report["notes"].to_string().contains("4 of 4 turns do not hold the bodies");
        assert_eq!(told, !bodies, "{}", report["notes"]);
    }
}

#[tokio::test]
async fn the_policy_decides_about_turns_whose_bodies_are_known() {
    let traces = shadowed(true).await;
    let careful = report(&traces, "repair: {values: false}");
    assert_eq!((&careful["calls"], &careful["diagnoses"]), (&calls(2, 0, 2, 0), &json!({"E2": 1, "E4.1": 1})));
    let patient = report(&traces, "limits: {static_feedback: 0}");
    assert_eq!(patient["calls"], calls(2, 1, 0, 1));
    assert_eq!(patient["headline"], "would have repaired 1, re-asked 0 and handed over 1 of 4 calls");
    let single = report(&traces, "limits: {upstream_requests: 1}");
    assert_eq!(single["calls"], calls(2, 1, 0, 1));
    let spent = report(&traces, "limits: {tokens: 25}");
    assert_eq!(spent["calls"], calls(2, 1, 0, 1));
    let recorded = report(&shadowed(false).await, "repair: {values: false}");
    assert_eq!(recorded["calls"], calls(2, 1, 1, 0), "what was recorded stays");
}

#[tokio::test]
async fn streams_and_several_choices_are_judged_too() {
    let mut several = with_tools("Weather?");
    several["n"] = json!(2);
    let message = |name: &str| json!({"role": "assistant", "tool_calls": [call("a", name, r#"{"city":"Paris"}"#)]});
    let mut completion = answer::completion(message("get_weather"), "tool_calls");
    let second = json!({"index": 1, "message": message("launch_rocket"), "finish_reason": "tool_calls"});
    completion["choices"].as_array_mut().unwrap().push(second);
    let chunks = call_chunks(&[("a", "getWeather", r#"{"City":"Paris"}"#)]);
    let requests = [streamed(with_tools("Weather?")), several];
    let replies = [Reply::events(&chunks), Reply::json(200, &completion)];
    let traces = traces("mode: shadow\nrecord: {bodies: true}", &requests, replies).await;
    let report = report(&traces, "");
    assert_eq!(report["calls"], calls(1, 1, 0, 1), "several choices are no conversation to go on with");
    assert_eq!(report["judged"]["again"], 2);
}

#[tokio::test]
async fn of_guarded_turns_the_answers_before_feedback_are_counted() {
    let replies = || {
        [
            answer::one_call("getWeather", r#"{"town":"Paris"}"#),
            answer::one_call("getWeather", r#"{"city":"Paris"}"#),
            answer::one_call("getWeather", r#"{"city":"Paris"}"#),
        ]
    };
    let requests = [with_tools("Weather?"), with_tools("Weather?")];
    for bodies in [true, false] {
        let traces = traces(&format!("mode: guard\nrecord: {{bodies: {bodies}}}"), &requests, replies()).await;
        let report = report(&traces, "");
        assert_eq!(report["calls"], calls(0, 1, 1, 0), "bodies {bodies}");
        assert_eq!((&report["corrected"], &report["answers_to_feedback"]), (&json!(1), &json!(1)));
        assert!(report["notes"].to_string().contains("2 turns ran in mode `guard`: feedback corrected 1"), "{report}");
    }
}

#[tokio::test]
async fn what_nobody_judged_is_said_to_be_unknown() {
    let refusal = Reply::json(500, &json!({"error": {"message": "no"}}));
    let replies = [answer::one_call("getWeather", r#"{"city":"Paris"}"#), refusal];
    let requests = [with_tools("Weather?"), plain("Hello")];
    let report = report(&traces("mode: off", &requests, replies).await, "");
    assert_eq!((&report["turns"]["unknown"], &report["judged"]["not"]), (&json!(2), &json!(2)));
    assert!(report["notes"].to_string().contains("2 turns have an unknown outcome"), "{}", report["notes"]);
}

#[tokio::test]
async fn operator_api_pages_and_compressed_files_are_understood() {
    let traces = shadowed(true).await;
    let lines = to_lines(&traces);
    let expected = replay(&lines, &["--format", "json"]).stdout;
    let list = format!("{}\n", json!(traces)).into_bytes();
    let page = format!("{}\n", json!({"traces": traces, "next": "x"})).into_bytes();
    let glued: Vec<u8> = traces.iter().flat_map(|trace| trace.to_string().into_bytes()).collect();
    let (mut counts, all): (Vec<Value>, Value) = (Vec::new(), serde_json::from_slice(&expected).unwrap());
    for form in [&list, &page, &glued, &gzip(&lines)] {
        let said = replay(form, &["--format", "json"]);
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        let mut report = said.lines().remove(0);
        assert!(report["lines"].as_u64().unwrap() <= 4);
        report["lines"] = json!(4);
        counts.push(report);
    }
    assert!(counts.iter().all(|report| *report == all), "{counts:?}");
}

#[tokio::test]
async fn summaries_count_by_their_verdict() {
    let upstream = Server::replying(answers()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "[policies]\ndefault = \"shadow\"\n").await;
    for _ in answers() {
        proxy.client().chat(&with_tools("Weather?")).await;
    }
    let proxy = proxy.stop().await.start_again().await;
    let page = proxy.operator().get("/admin/traces").await.json();
    let report = report(&[page], "");
    let turns = json!({"text": 1, "clean": 1, "repaired": 1, "sent_back": 1, "handed_over": 0, "unknown": 0});
    assert_eq!((&report["turns"], &report["calls"]), (&turns, &calls(0, 0, 0, 0)));
    assert!(report["notes"].to_string().contains("4 turns are summaries"), "{}", report["notes"]);
}

#[tokio::test]
async fn the_table_shows_what_an_operator_decides_by() {
    let mut traces = shadowed(true).await;
    traces.extend(shadowed(false).await);
    let said = replay(&to_lines(&traces), &[]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let text = String::from_utf8(said.stdout).unwrap();
    assert!(text.starts_with("would have repaired 2 and re-asked 2 of 8 calls\n"), "{text}");
    let cells = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in\n{text}"));
        line[name.len()..].split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(cells("sent back"), ["2", "25.0", "%", "2", "25.0", "%"]);
    assert_eq!(cells("all"), ["8", "100.0", "%", "8", "100.0", "%"]);
    assert_eq!(cells("type_coerced"), ["2", "25.0"]);
    assert_eq!(cells("E2 tool_unknown"), ["2", "25.0"]);
    assert_eq!(cells("gpt-test"), ["8", "4", "(50.0", "%)", "2", "(25.0", "%)", "2", "(25.0", "%)", "0"]);
    assert_eq!(cells("launch_rocket"), ["2", "0", "0", "2", "(100.0", "%)", "0"]);
    assert!(text.contains("4 of 8 turns do not hold the bodies"), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[tokio::test]
async fn lines_that_cannot_be_used_are_named_and_the_rest_is_counted() {
    let traces = shadowed(false).await;
    let mut broken = traces[0].clone();
    broken["attempts"] = json!("canary");
    let mut cut = traces[0].clone();
    cut.as_object_mut().unwrap().remove("usage");
    let mut input = to_lines(&traces);
    input.extend_from_slice(b"no json\n{\"x\":\"canary\"}\n5\n{\"id\":\n\xff\n");
    input.extend(to_lines(&[broken, cut, json!([traces[1], {"x": "canary"}, traces[2]])]));
    let said = replay(&input, &["--format", "json"]);
    assert_eq!(said.status, Some(1));
    let report = said.lines().remove(0);
    assert_eq!((&report["calls"], &report["problems"]), (&calls(3, 2, 2, 0), &json!(8)), "{report}");
    for expected in [
        "standard input:5: the line is not valid JSON: see column 2",
        "standard input:6: this is not a trace from `GET /admin/traces/{id}`: it has no `mode`",
        "standard input:7: this is not a trace",
        "standard input:8: the line ends in the middle",
        "standard input:9: the line is not UTF-8",
        "standard input:10: this is not a trace",
        "standard input:11: this is not a trace from `GET /admin/traces/{id}`: it has no `usage`",
        "standard input:12: this is not a trace",
        "callwright: 8 of 12 lines could not be used, or only in part",
    ] {
        assert!(said.stderr.contains(expected), "{expected}: {}", said.stderr);
    }
    assert!(!said.stderr.contains("canary"), "{}", said.stderr);
}

#[test]
fn files_that_cannot_be_read_are_named_and_nothing_is_no_error() {
    let folder = Folder::with(&[]);
    let absent = folder.run(&["replay", "--in", "absent.jsonl"], b"");
    assert!(absent.status == Some(1) && absent.stderr.contains("cannot read absent.jsonl: "), "{}", absent.stderr);
    let empty = folder.run(&["replay"], b"");
    assert_eq!((empty.status, empty.stderr.as_str()), (Some(0), ""));
    assert!(empty.stdout.starts_with(b"would have repaired 0 and re-asked 0 of 0 calls\n"));
    let help = folder.run(&["replay", "--help"], b"");
    assert!(String::from_utf8(help.stdout).unwrap().contains("admin/traces?limit=1000"));
}

#[tokio::test]
async fn tools_that_a_conversation_brings_are_judged_again() {
    let mut request = with_tools("Weather?");
    let tools = request.as_object_mut().unwrap().remove("tools").unwrap();
    request["messages"].as_array_mut().unwrap().insert(0, json!({"role": "system", "content": "", "tools": tools}));
    let requests: Vec<Value> = answers().map(|_| request.clone()).into();
    let traces = traces("mode: shadow\nrecord: {bodies: true}", &requests, answers()).await;
    let report = report(&traces, "");
    assert_eq!((&report["calls"], &report["judged"]["again"]), (&calls(2, 1, 1, 0), &json!(4)));
    let careful = self::report(&traces, "repair: {values: false}");
    assert_eq!(careful["calls"], calls(2, 0, 2, 0), "the policy decides");
}
