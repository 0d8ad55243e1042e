//! The proxy's own API conforms to openapi/callwright.json on both listeners: the file is what `callwright openapi`
//! prints, every route is described, and Schemathesis, which sends thousands of requests, finds no undescribed response
//! and no status of 500 or more.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::answer::text;
use crate::support::python::python;
use crate::support::{Proxy, Received, Reply, Server, rooms, verb};
use callwright_test_macros::requires;
use reqwest::Method;
use serde_json::{Value, json};

/// Path whose response is a stream without an end.
const STREAM: &str = "/admin/approvals/events";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn document() -> Value {
    serde_json::from_str(&std::fs::read_to_string(repository("openapi/callwright.json")).unwrap()).unwrap()
}

/// Returns path and methods of each described route.
fn described() -> Vec<(String, BTreeSet<String>)> {
    let methods = |item: &Value| {
        let keys = item.as_object().unwrap().keys().filter(|key| *key != "servers" && *key != "parameters");
        keys.map(|key| key.to_uppercase()).collect()
    };
    document()["paths"].as_object().unwrap().iter().map(|(path, item)| (path.clone(), methods(item))).collect()
}

#[test]
fn every_route_is_described() {
    let router = std::fs::read_to_string(repository("src/http/router.rs")).unwrap();
    let routes = router.split(".route(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
    let routes: BTreeSet<String> = routes.map(|rest| rest.split('"').next().unwrap().replace("{*", "{")).collect();
    let described: BTreeSet<String> = described().into_iter().map(|(path, _)| path).collect();
    assert!(routes.len() > 30, "{routes:?}");
    assert_eq!(routes, described, "the routes of src/http/router.rs and the paths of openapi/callwright.json");
}

#[test]
fn the_checked_in_description_is_printed() {
    let printed = verb::Folder::with(&[]).run(&["openapi"], b"");
    assert_eq!(printed.status, Some(0), "{}", printed.stderr);
    let checked_in = std::fs::read(repository("openapi/callwright.json")).unwrap();
    assert!(printed.stdout == checked_in, "`callwright openapi` prints openapi/callwright.json");
}

#[tokio::test]
async fn every_description_has_a_route_and_no_route_takes_more() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(crate::support::config::config(&upstream.url("/v1"))).await;
    let item = document();
    for (path, methods) in described() {
        let is_client = item["paths"][&path]["servers"][0]["url"].as_str().unwrap().ends_with("8787");
        let side = if is_client { proxy.client() } else { proxy.operator() };
        // The pass-through route accepts every path and method. A stream has no end; `approval_events.rs` reads it.
        if path == "/v1/{path}" || path == STREAM {
            continue;
        }
        let probe = path.replace(['{', '}'], "");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let answer = side.send(Method::from_bytes(method.as_bytes()).unwrap(), &probe, &[], String::new()).await;
            let told = answer.text();
            let is_taken = answer.status != 405 && !told.contains("unknown_url");
            // Below /v1 other methods are passed through to the provider.
            let is_passed = path.starts_with("/v1/") && path != "/v1/feedback";
            assert!(is_taken == methods.contains(method) || is_passed, "{method} {path}: {} {told}", answer.status);
        }
    }
}

#[test]
fn the_proxy_makes_a_tool_of_every_operation_of_its_own() {
    let path = repository("openapi/callwright.json");
    let arguments = ["check", path.to_str().unwrap(), "--format", "json", "--deny", "skipped,renamed,simplified"];
    let said = verb::Folder::with(&[]).run(&arguments, b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let report = &said.lines()[0];
    let operations: usize = described().iter().map(|(_, methods)| methods.len()).sum();
    assert_eq!(report["operations_loaded"], operations, "{report}");
}

/// A provider that responds to every request with success.
fn provider(_: usize, request: &Received) -> Reply {
    let path = request.target.split('?').next().unwrap_or_default();
    match path {
        "/v1/models" => Reply::json(200, &json!({"object": "list", "data": [{"id": "gpt-test", "object": "model"}]})),
        "/v1/chat/completions" if request.json()["stream"] == true => {
            Reply::events(&crate::support::answer::text_chunks("hi"))
        }
        "/v1/chat/completions" => text("hi"),
        "/v1/responses" => {
            let content = json!([{"type": "output_text", "text": "hi", "annotations": []}]);
            let item = json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content});
            let body =
                json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [item]});
            Reply::json(200, &body)
        }
        "/v1/messages" => {
            let content = json!([{"type": "text", "text": "hi"}]);
            let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
                "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}});
            Reply::json(200, &body)
        }
        _ => Reply::json(200, &json!({"object": "list", "data": []})),
    }
}

/// Runs Schemathesis on the operations with this tag.
async fn fuzz(url: String, tag: &'static str, checks: &'static [&'static str]) {
    let python = python();
    let mut command = Command::new(python.with_file_name("schemathesis"));
    let folder = tempfile::tempdir().unwrap();
    command
        .current_dir(folder.path())
        .arg("run")
        .arg(repository("openapi/callwright.json"))
        .args(["--url", &url, "--include-tag", tag, "--exclude-path", STREAM]);
    command.args(["--max-examples", "25", "--seed", "1", "--generation-deterministic", "--no-color"]).args(checks);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("generated"),
        "{told}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[requires(python_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn no_client_side_request_gives_an_undescribed_answer() {
    let upstream = Server::scripted(provider).await;
    let proxy = Proxy::start(crate::support::config::config(&upstream.url("/v1"))).await;
    // A request that is not part of the OpenAI API may be valid at the provider, so it is passed on.
    const CHECKS: &[&str] =
        &["--exclude-checks", "positive_data_acceptance,negative_data_rejection,unsupported_method"];
    fuzz(proxy.client().url(""), "client", CHECKS).await;
    assert!(!proxy.stop().await.log().contains("panicked"));
}

#[requires(python_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn no_operator_side_request_gives_an_undescribed_answer() {
    let upstream = Server::scripted(provider).await;
    let api = Server::always(text("{}")).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    proxy.client().chat(&rooms::ask("Hello")).await.ok();
    // A schema cannot express all semantic constraints, so some matching texts and numbers are refused with a reason.
    const CHECKS: &[&str] = &["--exclude-checks", "positive_data_acceptance"];
    fuzz(proxy.operator().url(""), "operator", CHECKS).await;
    assert!(!proxy.stop().await.log().contains("panicked"));
}
