//! OpenAI's official Python client works with the binary as with the provider.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it left out"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::answer::{self, call, call_chunks, completion, role, text_chunk};
use crate::support::python::python;
use crate::support::{Gate, Proxy, Received, Reply, Server, config, policy};
use callwright_test_macros::requires;
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;
const ROME: &str = r#"{"city":"Rome"}"#;

/// Silence after which the proxy sends an event.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// The upstream's script: the model name selects the response.
fn reply(received: &Received) -> Reply {
    if received.method == "GET" {
        let model = json!({"id": "gpt-test", "object": "model", "created": 1, "owned_by": "vendor"});
        return Reply::json(200, &json!({"object": "list", "data": [model]}));
    }
    let request = received.json();
    let stream = request["stream"] == true;
    if received.target.ends_with("/embeddings") {
        let data = json!([{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}]);
        return Reply::json(
            200,
            &json!({"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}),
        );
    }
    let asked_again = received.last_message()["role"] == "tool";
    match request["model"].as_str().unwrap() {
        "text" => text(stream),
        "call" => calls(&request, &[("call_1", "get_weather", PARIS)]),
        "two calls" => calls(&request, &[("call_1", "get_weather", PARIS), ("call_2", "get_weather", ROME)]),
        "wrong name" => calls(&request, &[("call_1", "getWeather", r#"{"city":"Paris","days":"3"}"#)]),
        "missing city" if !asked_again => calls(&request, &[("call_1", "get_weather", "{}")]),
        "missing city" => calls(&request, &[("call_2", "get_weather", PARIS)]),
        "slow call" => slow(),
        "reset" => Reply::reset(),
        "reset in stream" => Reply::stream().event(&role()).event(&text_chunk("It ")).then_reset(),
        model => error(model.strip_prefix("error ").unwrap().parse().unwrap()),
    }
}

/// Returns a stream with a call that takes longer than the proxy is silent.
fn slow() -> Reply {
    let chunks = call_chunks(&[("call_1", "get_weather", PARIS)]);
    let (begin, end) = chunks.split_at(chunks.len() - 1);
    let gate = Gate::closed();
    let reply = begin.iter().fold(Reply::stream(), Reply::event).wait(&gate);
    tokio::spawn(async move {
        tokio::time::sleep(KEEP_ALIVE * 5 / 2).await;
        gate.open();
    });
    end.iter().fold(reply, Reply::event).done().end()
}

fn text(stream: bool) -> Reply {
    if stream { Reply::events(&answer::text_chunks("It rains in Paris.")) } else { answer::text("It rains in Paris.") }
}

fn calls(request: &Value, calls: &[(&str, &str, &str)]) -> Reply {
    if request["stream"] == true {
        let mut chunks = call_chunks(calls);
        if request["stream_options"]["include_usage"] == true {
            let mut usage = answer::chunk_of(json!([]));
            usage["usage"] = json!({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25});
            chunks.push(usage);
        }
        return Reply::events(&chunks);
    }
    let calls: Vec<Value> = calls.iter().map(|(id, name, arguments)| call(id, name, arguments)).collect();
    let body = completion(json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls");
    Reply::body(200, &[("content-type", "application/json"), ("x-request-id", "req_upstream")], body.to_string())
}

fn error(status: u16) -> Reply {
    let fields = [("content-type", "application/json"), ("x-request-id", "req_upstream"), ("retry-after", "7")];
    let body = json!({"error": {"message": "as scripted", "type": "scripted", "param": null, "code": "of_upstream"}});
    Reply::body(status, &fields, body.to_string())
}

#[requires(python_clients)]
#[tokio::test]
async fn the_official_python_client_does_not_notice_the_proxy() {
    let python = python();
    let upstream = Server::scripted(|_, received| reply(received)).await;
    let silence = format!("[pipeline]\nkeep_alive_seconds = {}\n", KEEP_ALIVE.as_secs());
    let aliases = "[aliases.helper]\nmodel = \"gpt-test\"\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + &silence + aliases).await;
    drive(python, "openai_client.py", &proxy).await;
}

/// Two retries of the client and two of the proxy result in two retries, not eight.
#[requires(python_clients)]
#[tokio::test]
async fn the_official_client_and_the_proxy_do_not_multiply_retries() {
    let python = python();
    let upstream = Server::scripted(|_, _| {
        let fields = [("content-type", "application/json"), ("retry-after-ms", "1")];
        Reply::body(429, &fields, json!({"error": {"message": "as scripted", "type": "scripted"}}).to_string())
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    drive(python, "retrying.py", &proxy).await;
    assert_eq!(upstream.received().len(), 3);
}

/// Runs a script of `tests/clients` with the proxy's URL. Fails with its output if it fails.
async fn drive(python: PathBuf, script: &str, proxy: &Proxy) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(script);
    let url = proxy.client().url("");
    let run = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(python);
        command.arg(script).arg(url).env("NO_PROXY", "127.0.0.1").env_remove("OPENAI_BASE_URL").output()
    });
    let output = crate::support::guarded("waiting for the client", run).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    println!("{}", said.trim());
}

/// A model that passes points on as the user wrote them, and swaps the coordinates after the message about the failed
/// call explains it.
fn planner(received: &Received) -> Reply {
    let request = received.json();
    let last = received.last_message();
    let text = last["content"].as_str().unwrap_or_default();
    if text.contains("distance_m") {
        let chunks = answer::text_chunks("39 km.");
        return if request["stream"] == true { Reply::events(&chunks) } else { answer::text("39 km.") };
    }
    let points = match text.contains("longitude precedes the latitude") {
        true => ["135.7588,34.9858", "135.5258,34.6873"],
        false => ["34.9858,135.7588", "34.6873,135.5258"],
    };
    let arguments = json!({"origin": points[0], "destination": points[1]}).to_string();
    let id = format!("call_{}", received.messages().len());
    calls(&request, &[(&id, "planRoute", &arguments)])
}

#[requires(python_clients)]
#[tokio::test]
async fn an_agent_that_runs_its_own_tools_is_told_why_they_failed() {
    let python = python();
    let upstream = Server::scripted(|_, received| planner(received)).await;
    let document = include_str!("../../openapi/route-planner.yaml");
    let on = policy::file("on", "explain: {client_tools: on}");
    let config = config(&upstream.url("/v1"))
        + &policy::table("on")
        + "[aliases.travel]\nmodel = \"gpt-test\"\n[toolsets.routes]\ndocument = \"routes.yaml\"\nbase_url = \"http://127.0.0.1:1\"\n";
    let files = [("routes.yaml", document), ("policies/on.yaml", on.as_str())];
    let proxy = Proxy::start_with_files(config, &files).await;
    drive(python, "failing_tools.py", &proxy).await;
}

/// The paper's two examples ("Reverse Chain", figures 1 and 2), with the demo's model, documents and APIs.
#[requires(python_clients)]
#[tokio::test]
async fn an_agent_is_given_planned_calls_and_notices_nothing() {
    let python = python();
    let folder = tempfile::tempdir().unwrap();
    let world = callwright_demo::start(folder.path()).await.unwrap();
    let proxy = Proxy::start(world.config_toml.as_str()).await;
    drive(python, "planned_tools.py", &proxy).await;
    let metrics = proxy.metrics().await;
    let plans = |result| metrics.sum("plans_total", &[("result", result)]);
    assert_eq!((plans("given_up"), plans("undrawn"), plans("dropped")), (0.0, 0.0, 0.0));
}
