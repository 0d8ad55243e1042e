//! Every page of the console is accessible: axe-core finds no violation, light and dark, on wide and narrow screens.
//!
//! Screenshots are kept in target/console. With `CALLWRIGHT_README_IMAGES=1` in the environment, the pictures of the
//! README in docs/images are made again.

use std::path::Path;
use std::time::Duration;

use callwright_test_macros::requires;
use callwright_types::{FaultCode, Trace};
use http::Method;
use serde_json::json;

use super::seeded;
use super::{drive, pictures, root, script};
use crate::support::answer::{one_call, text};
use crate::support::{Proxy, Received, Reply, Server, policy, rooms};

/// Keys, prices and an approval rule, so that each page has content.
const TABLES: &str =
    "api_key = \"k\"\n[keys]\nmode = \"required\"\n[prices.\"gpt-test\"]\nprompt = 2.5\ncompletion = 10.0\n";

#[requires(chromium, python_clients, node_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_no_violation_on_any_page() {
    let upstream = Server::always(text("hi")).await;
    let mut traces = seeded::day();
    let shown = seeded::faulty(FaultCode::ParameterMissing, "/from");
    let id = shown.id.clone();
    traces.push(Trace { session: Some("session-1".to_owned()), ..shown });
    let proxy = seeded::proxy_with(&upstream, TABLES, traces).await;
    let key = json!({"name": "shop", "budget": 25.0, "budget_period": "month", "requests_per_minute": 60});
    let answer = proxy
        .operator()
        .send(Method::POST, "/admin/keys", &[("content-type", "application/json")], key.to_string())
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let key: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
    let mut command = script("console_accessibility.py", &proxy);
    command.arg(axe()).arg(pictures());
    command.args([
        format!("turn/{id}"),
        "session/session-1".to_owned(),
        format!("key/{}", key["key"]["id"].as_str().unwrap()),
        "policy/default".to_owned(),
    ]);
    command.args([
        "turns?finding=fault:E3.4",
        "turns?text=nothing",
        "turns?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z",
    ]);
    drive(command).await;
}

/// A model that omits the floor at first. It takes time, so that the waterfall has the proportions of a real one.
fn model(_: usize, request: &Received) -> Reply {
    std::thread::sleep(Duration::from_millis(400));
    let last = request.last_message();
    match last["role"].as_str() {
        Some("tool") if last["content"].as_str().unwrap_or_default().contains("blue") => {
            text("The blue room on floor 3 has a projector.")
        }
        Some("tool") => one_call("listRooms", r#"{"floor": "3", "tags": ["projector"]}"#),
        _ => one_call("listRooms", r#"{"tags": "projector"}"#),
    }
}

#[requires(chromium, python_clients, node_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_no_violation_with_bodies_and_waiting_calls() {
    let upstream = Server::scripted(model).await;
    let api = Server::always(Reply::json(200, &json!({"rooms": ["blue"]}))).await;
    let rules = "execute:\n  rules:\n    - {methods: [GET], tools: [\"rooms/list*\"], permission: allow}\nrecord:\n  bodies: true\n";
    let file = policy::file("office", rules);
    let other = policy::file("careful", "limits:\n  static_feedback: 1\n");
    let files = [rooms::FILES[0], ("policies/office.yaml", file.as_str()), ("policies/careful.yaml", other.as_str())];
    let config = rooms::config_of(&upstream, &api) + &policy::table("office");
    let proxy = Proxy::start_with_files(config, &files).await;
    let answer = proxy.client().chat(&rooms::ask("Which room on the third floor has a projector?")).await;
    let id = answer.header("x-callwright-trace").unwrap().to_owned();
    answer.ok();
    proxy.metric_reaches("lessons", &[], 1.0).await;
    let lessons: serde_json::Value =
        serde_json::from_str(&proxy.operator().get("/admin/lessons").await.text()).unwrap();
    let lesson = lessons["items"][0]["id"].as_str().unwrap();
    let mut command = script("console_accessibility.py", &proxy);
    command.arg(axe()).arg(pictures());
    command.args([format!("turn/{id}"), format!("lesson/{lesson}"), "policy/careful".to_owned()]);
    command.args(["tool/rooms/bookRoom", "toolset/rooms"]);
    drive(command).await;
}

/// Returns the file of axe-core.
fn axe() -> std::path::PathBuf {
    root().join("target/node/node_modules/axe-core/axe.min.js")
}

#[test]
fn the_pictures_of_the_readme_are_small() {
    for name in ["console-overview.png", "console-turn.png"] {
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images").join(name)).unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() <= 150_000, "{name}: {} bytes", bytes.len());
    }
}
