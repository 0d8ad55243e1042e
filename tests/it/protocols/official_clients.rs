//! The official clients for Python and Node.js work with the binary as with the providers.
#![allow(clippy::print_stdout, reason = "a test says what the client reports")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::api::{Api, Part, call, text, thought, written};
use super::{responses_api, sse};
use crate::support::python::python;
use crate::support::{Gate, Proxy, Received, Reply, Server, config, guarded};
use callwright_test_macros::requires;

const PARIS: &str = r#"{"city":"Paris"}"#;
const ROME: &str = r#"{"city":"Rome"}"#;
const RAIN: &str = "It rains in Paris.";

/// Silence after which the proxy sends an event.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// The upstream's script: the model name selects the answer.
fn reply(api: Api, received: &Received) -> Reply {
    if received.method == "GET" || !received.target.starts_with(api.path()) || received.target.len() > api.path().len()
    {
        return other_reply(received);
    }
    let request = received.json();
    let parts: Vec<Part> = match request["model"].as_str().unwrap() {
        "text" => vec![text(RAIN)],
        "thought" => vec![thought("Rain?"), text(RAIN)],
        "call" => vec![call("call_1", "get_weather", PARIS)],
        "two calls" => vec![call("call_1", "get_weather", PARIS), call("call_2", "get_weather", ROME)],
        "wrong name" => vec![call("call_1", "getWeather", r#"{"city":"Paris","days":"3"}"#)],
        "missing city" if !api.is_continued(received) => vec![thought("Rain?"), call("call_1", "get_weather", "{}")],
        "missing city" => vec![call("call_2", "get_weather", PARIS)],
        "no reasoning" if received.text().contains("Rain?") => return error(api, 400),
        "no reasoning" => vec![text(RAIN)],
        "written" => vec![text(&format!("I look it up.\n{}", written("get_weather", PARIS)))],
        "slow call" => return slow(api),
        "reset" => return Reply::reset(),
        model @ ("error in stream" | "reset in stream" | "endless") => return broken(api, model),
        model => return error(api, model.strip_prefix("error ").unwrap().parse().unwrap()),
    };
    api.reply(received, &parts)
}

/// Returns the reply to a request that is not a turn.
fn other_reply(received: &Received) -> Reply {
    let body = match received.target.as_str() {
        "/v1/messages/count_tokens" => json!({"input_tokens": 42}),
        "/v1/responses/resp_upstream/input_items" => {
            let item = json!({"id": "msg_in", "type": "message", "role": "user", "status": "completed", "content": []});
            json!({"object": "list", "data": [item], "first_id": "msg_in", "last_id": "msg_in", "has_more": false})
        }
        target if target.starts_with("/v1/responses/resp_upstream") => responses_api::answer(&[text(RAIN)]),
        target => panic!("an unexpected request: {} {target}", received.method),
    };
    Reply::json(200, &body)
}

/// Returns a stream with a call that takes longer than the proxy is silent.
fn slow(api: Api) -> Reply {
    let events = api.events(&[call("call_1", "get_weather", PARIS)]);
    let half = events.len() - 4;
    let gate = Gate::closed();
    let reply = sse::begun(&events[..half]).wait(&gate);
    tokio::spawn(async move {
        tokio::time::sleep(KEEP_ALIVE * 5 / 2).await;
        gate.open();
    });
    events[half..].iter().fold(reply, |reply, event| reply.piece(sse::event(event))).end()
}

/// Returns a stream that does not end as it should.
fn broken(api: Api, how: &str) -> Reply {
    let events = api.events(&[text(RAIN)]);
    let half = events.len() - 6;
    let begun = sse::begun(&events[..half]);
    match how {
        "reset in stream" => begun.then_reset(),
        "endless" => begun.then_silence(),
        _ => {
            let error = match api {
                Api::Responses => {
                    json!({"type": "error", "sequence_number": half, "code": "server_error", "message": "no", "param": null})
                }
                Api::Messages => json!({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}),
            };
            begun.piece(sse::event(&error)).end()
        }
    }
}

fn error(api: Api, status: u16) -> Reply {
    let fields = [("content-type", "application/json"), ("request-id", "req_upstream"), ("retry-after", "7")];
    let body = match api {
        Api::Responses => {
            json!({"error": {"message": "as scripted", "type": "scripted", "param": null, "code": "of_upstream"}})
        }
        Api::Messages => json!({"type": "error", "error": {"type": "scripted", "message": "as scripted"}}),
    };
    Reply::body(status, &fields, body.to_string())
}

/// Runs a client against a proxy before a scripted upstream, and waits until its cancelled request has reached the
/// upstream as such.
async fn drive(api: Api, mut client: Command) {
    let upstream = Server::scripted(move |_, received| reply(api, received)).await;
    let silence = format!("[pipeline]\nkeep_alive_seconds = {}\n", KEEP_ALIVE.as_secs());
    let proxy = Proxy::start(config(&upstream.url("/v1")) + &silence).await;
    let url = proxy.client().url("");
    let packages = packages_of(&client);
    client.arg(url).args(packages).env("NO_PROXY", "127.0.0.1");
    for variable in ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"] {
        client.env_remove(variable);
    }
    let run = tokio::task::spawn_blocking(move || client.output());
    let output = guarded("waiting for the client", run).await.unwrap().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    println!("{}", printed.trim());
    upstream.hangup().await;
}

/// Returns the folder of the packages if the client is one of Node.js.
fn packages_of(client: &Command) -> Option<PathBuf> {
    (client.get_program() == "node").then(|| root().join("target/node"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn client(program: impl AsRef<std::ffi::OsStr>, script: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(root().join("tests/clients").join(script));
    command
}

#[requires(python_clients)]
#[tokio::test]
async fn the_python_client_of_responses_does_not_notice_the_proxy() {
    drive(Api::Responses, client(python(), "responses_client.py")).await;
}

#[requires(python_clients)]
#[tokio::test]
async fn the_python_client_of_messages_does_not_notice_the_proxy() {
    drive(Api::Messages, client(python(), "messages_client.py")).await;
}

#[requires(node_clients)]
#[tokio::test]
async fn the_node_client_of_responses_does_not_notice_the_proxy() {
    drive(Api::Responses, client("node", "node/responses_client.mjs")).await;
}

#[requires(node_clients)]
#[tokio::test]
async fn the_node_client_of_messages_does_not_notice_the_proxy() {
    drive(Api::Messages, client("node", "node/messages_client.mjs")).await;
}
