//! The console, used by an operator in a real browser (Chromium) with the real binary: tests/clients/console.py has the
//! tasks.
//!
//! Screenshots of every section, wide and narrow, light and dark, are kept in target/console.

mod accessibility;
mod changed;
mod live;
mod seeded;
mod why;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::support::answer::{one_call, text};
use crate::support::python::{chromium, python};
use crate::support::rooms::ask;
use crate::support::{Proxy, Received, Reply, Server, guarded, policy, rooms};
use callwright_test_macros::requires;
use serde_json::json;

/// Markup that a user writes into an argument.
const MARKUP: &str = "<img src=x onerror=\"document.title='owned'\">";

/// A model that omits the floor at first, requests a room that is gone, and books with markup.
fn model(_: usize, request: &Received) -> Reply {
    let messages = request.messages();
    let user = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    let told = messages[user..].iter().filter(|message| message["role"] == "tool").count();
    match (messages[user]["content"].as_str().unwrap().split(' ').next().unwrap(), told) {
        ("List", 0) => one_call("listRooms", "{}"),
        ("List", 1) => one_call("listRooms", r#"{"floor": 5}"#),
        ("Show", 0) => one_call("getRoom", r#"{"room": "gone"}"#),
        ("Book", 0) => {
            one_call("bookRoom", &json!({"room": MARKUP, "from": "2026-03-01T09:00:00Z", "hours": 2}).to_string())
        }
        _ => text("That is all."),
    }
}

#[requires(chromium, python_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_does_the_tasks_of_a_day() {
    let upstream = Server::scripted(model).await;
    let api = Server::scripted(|_, request| {
        let is_gone = request.method == "GET" && request.target.starts_with("/rooms/");
        Reply::json(if is_gone { 404 } else { 200 }, &json!({"rooms": ["blue"]}))
    })
    .await;
    let rules = "execute:\n  rules:\n    - {methods: [POST], tools: [\"rooms/book*\"], permission: approve}\n  approval: {mode: wait, timeout_seconds: 120}\nrecord:\n  bodies: true\n";
    let config = rooms::config_of(&upstream, &api) + &policy::table("office") + "[experience]\nwithhold = 0.0\n";
    let file = policy::file("office", rules);
    let other = policy::file("careful", "limits:\n  static_feedback: 1\n");
    let files = [rooms::FILES[0], ("policies/office.yaml", file.as_str()), ("policies/careful.yaml", other.as_str())];
    let proxy = Proxy::start_with_files(config, &files).await;
    let proxy = Arc::new(proxy);
    proxy.client().chat(&ask("List the rooms")).await.ok();
    for _ in 0..3 {
        proxy.client().chat(&ask("Show the room that is gone")).await.ok();
    }
    proxy.metric_reaches("lessons", &[], 1.0).await;
    let booking = tokio::spawn({
        let proxy = Arc::clone(&proxy);
        async move { proxy.client().chat(&ask("Book a room")).await.ok() }
    });
    proxy.metric_reaches("approvals_pending", &[], 1.0).await;
    let mut command = script("console.py", &proxy);
    command.arg(pictures());
    drive(command).await;
    guarded("the booking that was approved", booking).await.unwrap();
}

#[tokio::test]
async fn the_page_loads_nothing_foreign_and_has_no_other_files() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(crate::support::config::config(&upstream.url("/v1"))).await;
    let page = proxy.operator().get("/console").await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    for name in ["console.js", "console.css"] {
        assert_eq!(proxy.operator().get(&format!("/console/{name}")).await.status, 200, "{name}");
    }
    assert_eq!(proxy.operator().get("/console/..%2f..%2fetc%2fpasswd").await.status, 400);
    assert_eq!(proxy.operator().get("/console/passwd").await.status, 404);
    assert_eq!(proxy.client().get("/console").await.status, 404, "the client side has none");
}

#[requires(chromium, python_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_is_asked_for_the_token_once() {
    const TOKEN: &str = "operator-canary";
    let upstream = Server::always(text("hi")).await;
    let server = format!("operator_token = \"{TOKEN}\"");
    let config = crate::support::config::config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", &server);
    let proxy = Proxy::start(config).await;
    proxy.client().chat(&crate::support::request::plain("Hello")).await.ok();
    let proxy = proxy.stop().await.start_again().await;
    let mut command = script("console_token.py", &proxy);
    command.arg(TOKEN);
    drive(command).await;
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder of screenshots.
fn pictures() -> PathBuf {
    let folder = root().join("target/console");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns the command that runs a script of tests/clients in the browser.
fn script(name: &str, proxy: &Proxy) -> Command {
    let mut command = Command::new(python());
    command.arg(root().join("tests/clients").join(name)).arg(proxy.operator().url("")).arg(chromium());
    command
}

/// Runs a script, which reports that it found no fault.
async fn drive(mut command: Command) {
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && printed.contains("no fault"), "{printed}\n{errors}");
}
