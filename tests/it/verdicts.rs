//! Verdicts of turns with calls that the proxy executes: they follow the last state of the calls. Tools that the policy
//! can only deny are not offered, and an alias does not lose its tools in shadow mode unnoticed.

use crate::support::answer::{self, call, calls, one_call};
use crate::support::request::weather_tool;
use crate::support::verb::Folder;
use crate::support::{Proxy, Received, Reply, Server, policy, rooms};
use serde_json::{Value, json};

/// The document's operations: `GET /rooms`, `GET /rooms/{room}`, `POST /rooms/{room}/bookings`.
const BOOKING: &str = r#"{"room":"Amber","from":"2026-03-01T09:00:00Z","hours":2}"#;

/// An API without the rooms whose names begin with `No`.
async fn api() -> Server {
    Server::scripted(|_, received| match received.target.contains("/No") {
        true => Reply::json(404, &json!({"error": "no such room"})),
        false => Reply::json(200, &json!({"name": "Amber"})),
    })
    .await
}

fn room(name: &str) -> Reply {
    one_call("getRoom", &json!({ "room": name }).to_string())
}

fn two_rooms(one: &str, other: &str) -> Reply {
    let of = |id: &str, name: &str| call(id, "getRoom", &json!({ "room": name }).to_string());
    calls(&[of("a", one), of("b", other)])
}

async fn proxy(upstream: &Server, api: &Server, rules: &str) -> Proxy {
    let file = policy::file("tested", rules);
    let config = rooms::config_of(upstream, api) + &policy::table("tested");
    Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/tested.yaml", &file)]).await
}

#[tokio::test]
async fn a_verdict_follows_the_last_state_of_the_calls() {
    let fine = "explain: {failures: [{tools: [\"rooms/getRoom\"], status: [404], outcome: fine}]}";
    let done = || answer::text("Done.");
    let cases: [(&str, &str, Vec<Reply>, &str); 11] = [
        ("a call that succeeds", "mode: guard", vec![room("Amber"), done()], "clean"),
        (
            "a call that is repaired",
            "mode: guard",
            vec![one_call("get_room", r#"{"room":"Amber"}"#), done()],
            "repaired",
        ),
        (
            "a call that is corrected",
            "mode: guard",
            vec![one_call("getRoom", "{}"), room("Amber"), done()],
            "corrected",
        ),
        ("a failure that is corrected", "mode: guard", vec![room("None"), room("Amber"), done()], "corrected"),
        ("a failure", "mode: guard", vec![room("None"), done()], "failed"),
        ("a failure after a success", "mode: guard", vec![room("Amber"), room("None"), done()], "failed"),
        (
            "a failure before another tool",
            "mode: guard",
            vec![room("None"), one_call("listRooms", r#"{"floor":2}"#), done()],
            "failed",
        ),
        ("one failure of two calls", "mode: guard", vec![two_rooms("None", "Amber"), done()], "failed"),
        ("what is declared fine", fine, vec![room("None"), done()], "clean"),
        ("a denied call", "mode: guard", vec![one_call("bookRoom", BOOKING), done()], "refused"),
        (
            "a denied call before a success",
            "mode: guard",
            vec![one_call("bookRoom", BOOKING), room("Amber"), done()],
            "refused",
        ),
    ];
    for (what, rules, replies, expected) in cases {
        let (upstream, api) = (Server::replying(replies).await, api().await);
        let proxy = proxy(&upstream, &api, rules).await;
        let answer = proxy.client().chat_with(&rooms::ask("Help me."), &[("x-callwright-debug", "true")]).await;
        assert_eq!(answer.verdict(), expected, "{what}: {:#}", answer.json());
        assert_eq!(answer.json()["callwright"]["verdict"], expected, "{what}");
        let metrics = proxy.metrics().await;
        assert_eq!(metrics.sum("turns_total", &[("mode", "guard"), ("verdict", expected)]), 1.0, "{what}");
        let proxy = proxy.stop().await.start_again().await;
        assert_eq!(proxy.traces().await[0]["verdict"], expected, "{what}");
        let page = proxy.operator().get(&format!("/admin/traces?verdict={expected}")).await.ok();
        assert_eq!(page["traces"].as_array().unwrap().len(), 1, "{what}: {page:#}");
    }
}

#[tokio::test]
async fn a_call_beside_one_of_the_client_counts_too() {
    let mixed = calls(&[call("a", "get_weather", r#"{"city":"Paris"}"#), call("b", "getRoom", r#"{"room":"None"}"#)]);
    let (upstream, api) = (Server::replying([mixed]).await, api().await);
    let proxy = proxy(&upstream, &api, "mode: guard").await;
    let mut request = rooms::ask("Weather and rooms?");
    request["tools"] = json!([weather_tool()]);
    assert_eq!(proxy.client().chat(&request).await.verdict(), "failed");
}

fn offered(received: &Received) -> Vec<String> {
    let mut names = received.tool_names();
    names.sort();
    names
}

#[tokio::test]
async fn tools_that_a_policy_can_only_deny_are_not_offered() {
    let allow = |permission: &str| format!("execute: {{rules: [{{methods: [POST], permission: {permission}}}]}}");
    let all = vec!["bookRoom", "getRoom", "listRooms"];
    let cases = [
        ("mode: guard".to_owned(), vec!["getRoom", "listRooms"]),
        (allow("allow"), all.clone()),
        (allow("approve"), all),
        (allow("deny"), vec!["getRoom", "listRooms"]),
        ("execute: {rules: [{tools: [\"rooms/get*\"], permission: deny}]}".to_owned(), vec!["listRooms"]),
        ("execute: {rules: [{permission: deny}]}".to_owned(), vec![]),
    ];
    for (rules, expected) in cases {
        let (upstream, api) = (Server::always(answer::text("Hello.")).await, api().await);
        let proxy = proxy(&upstream, &api, &rules).await;
        let debug = [("x-callwright-debug", "true")];
        let answer = proxy.client().chat_with(&rooms::ask("Hello"), &debug).await;
        assert_eq!(offered(&upstream.only_request()), expected, "{rules}");
        let mut reported: Vec<&str> = Vec::new();
        let report = answer.json();
        reported.extend(report["callwright"]["tools_offered"].as_array().unwrap().iter().filter_map(Value::as_str));
        reported.sort_unstable();
        assert_eq!(reported, expected, "{rules}");
    }
}

#[tokio::test]
async fn a_called_denied_tool_is_refused_and_still_not_offered() {
    let replies = [one_call("bookRoom", BOOKING), answer::text("I may not book rooms.")];
    let (upstream, api) = (Server::replying(replies).await, api().await);
    let proxy = proxy(&upstream, &api, "mode: guard").await;
    let headers = [("x-callwright-session", "s")];
    let answer = proxy.client().chat_with(&rooms::ask("Book Amber"), &headers).await;
    assert_eq!(answer.verdict(), "refused");
    let received = upstream.received();
    for request in &received {
        assert_eq!(offered(request), ["getRoom", "listRooms"]);
    }
    let result = received[1].last_message()["content"].as_str().unwrap().to_owned();
    assert!(result.contains("policy does not allow POST rooms/bookRoom"), "{result}");
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn an_alias_with_toolsets_is_not_shadowed_unnoticed() {
    let (upstream, api) = (Server::always(answer::text("Hello.")).await, api().await);
    let shadow = "[policies]\ndefault = \"shadow\"\n";
    let config = rooms::config_of(&upstream, &api) + shadow;
    let files = [("callwright.toml", config.as_bytes()), ("rooms.yaml", rooms::DOCUMENT.as_bytes())];
    let checked = Folder::with(&files).run(&["config", "check"], b"");
    assert_eq!(checked.status, Some(1));
    assert!(checked.stderr.contains("`[aliases.helper]` offers toolsets"), "{}", checked.stderr);
    assert!(checked.stderr.contains("omit_toolsets_in_shadow = true"), "{}", checked.stderr);
    let proxy = Proxy::start_with_files(rooms::shadowed(&config), &rooms::FILES).await;
    proxy.client().chat(&rooms::ask("Hello")).await.ok();
    assert!(offered(&upstream.only_request()).is_empty());
}
