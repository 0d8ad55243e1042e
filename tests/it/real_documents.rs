//! Documents of real APIs load, their operations are offered, and their calls reach a server that is generated from the
//! same document and finds no fault in the requests.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it left out"
)]

use std::path::{Path, PathBuf};

use crate::support::documented::{Documented, operation_count};
use crate::support::request::plain;
use crate::support::{Proxy, Received, Server, answer, config, policy, sample};
use callwright_test_macros::requires;
use serde_json::{Value, json};

/// Number of operations called per document: enough to cover every kind of parameter, few enough for every build.
const CALLS: usize = 25;

/// Base path of the generated server, which must be preserved.
const BASE: &str = "/base/v9";

/// Returns the folder of the documents.
fn documents() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    shared.join("data/specs")
}

/// A model that calls the tool that the user names, with the minimal arguments that its schema accepts.
async fn obedient_model() -> Server {
    Server::scripted(|_, received| {
        let last = received.last_message();
        if last["role"] == "tool" {
            return answer::text(last["content"].as_str().unwrap_or_default());
        }
        let name = last["content"].as_str().unwrap_or_default();
        match offered(received, name).as_ref().and_then(|tool| sample::arguments(&tool["parameters"])) {
            Some(arguments) => answer::one_call(name, &arguments.to_string()),
            None => answer::text("no valid arguments found"),
        }
    })
    .await
}

fn offered(received: &Received, name: &str) -> Option<Value> {
    let body = received.json();
    let tools = body["tools"].as_array()?.iter().map(|tool| &tool["function"]);
    tools.into_iter().find(|function| function["name"] == name).cloned()
}

struct Walk {
    offered: usize,
    called: usize,
    without_arguments: usize,
}

/// Loads and offers the document, lets the model call up to [`CALLS`] of its operations, and checks every request.
async fn walk(path: &Path) -> Walk {
    let text = std::fs::read_to_string(path).unwrap();
    let document: Value = serde_saphyr::from_str(&text).unwrap();
    let (model, api) = (obedient_model().await, Documented::start(document.clone(), BASE).await);
    let config = config(&model.url("/v1"))
        + "max_tools = 0\n"
        + &policy::table("all")
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n[aliases.helper]\nmodel = \"m\"\ntoolsets = [\"api\"]\n"
        + &format!(
            "[toolsets.api]\ndocument = {:?}\nbase_url = \"{}\"\nmissing_credentials = \"send\"\n",
            path,
            api.server.url(BASE)
        );
    let rules = policy::file(
        "all",
        "record: {bodies: true}\noffer: {whole: 10000}\nexecute:\n  rules:\n    - {permission: allow}",
    );
    let proxy = Proxy::start_with_files(config, &[("policies/all.yaml", &rules)]).await;
    let names = names_of(&proxy, &model).await;
    assert!(
        names.len() * 10 >= operation_count(&document) * 9,
        "{} of {} operations offered",
        names.len(),
        operation_count(&document)
    );
    let step = names.len().div_ceil(CALLS).max(1);
    let mut walk = Walk { offered: names.len(), called: 0, without_arguments: 0 };
    for name in names.iter().step_by(step) {
        model.take_received();
        let told = ask(&proxy, name).await;
        let sent = api.server.take_received();
        assert!(api.complaints().is_empty(), "{}: {name}: {:#?}", path.display(), api.complaints());
        match sent.as_slice() {
            [] if told == "no valid arguments found" => walk.without_arguments += 1,
            [request] => {
                check_arguments_arrived(&model, request);
                walk.called += 1;
            }
            _ => {
                let trace = proxy.traces_after_stop().await.pop();
                panic!(
                    "{}: {name}: {} requests: {:#}",
                    path.display(),
                    sent.len(),
                    trace.unwrap_or_default()["executions"]
                );
            }
        }
    }
    let visited: std::collections::BTreeSet<String> = api.visited().into_iter().collect();
    assert_eq!(visited.len(), walk.called, "every tool is its own operation");
    walk
}

/// Returns the names of all tools that the alias offers.
async fn names_of(proxy: &Proxy, model: &Server) -> Vec<String> {
    ask(proxy, "What can you do?").await;
    model.last_request().tool_names()
}

async fn ask(proxy: &Proxy, text: &str) -> String {
    let mut request = plain(text);
    request["model"] = json!("helper");
    proxy.client().chat(&request).await.message()["content"].as_str().unwrap_or_default().to_owned()
}

/// Checks that the request contains every string and number of the arguments of the model's last call.
fn check_arguments_arrived(model: &Server, request: &Received) {
    let asked = model.last_request();
    let messages = asked.messages();
    let call = messages.iter().rev().find_map(|message| message["tool_calls"].get(0)).unwrap();
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    let target = request.target.replace('+', " ");
    let target = percent_encoding::percent_decode_str(&target).decode_utf8_lossy().into_owned();
    let body = request.text().replace('+', " ");
    let body_decoded = percent_encoding::percent_decode_str(&body).decode_utf8_lossy().into_owned();
    let everything = format!("{target} {:?} {body} {body_decoded}", request.headers);
    for (name, value) in arguments.as_object().unwrap() {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => continue,
        };
        let quoted = Value::String(text.clone()).to_string();
        let found = everything.contains(&text) || everything.contains(quoted.trim_matches('"'));
        assert!(found, "{name} = {text} is not in the request {everything}");
    }
}

#[requires("data/specs")]
#[tokio::test]
async fn the_specifications_own_examples() {
    let specs = documents();
    let folder = specs.join("oai_examples/examples/v3.0");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.iter().any(|file| file.ends_with("uspto.yaml")), "{files:?}");
    for file in files {
        let walk = walk(&file).await;
        assert_eq!((walk.called, walk.without_arguments), (walk.offered, 0), "{}", file.display());
    }
}

async fn walk_larger(file: &str) {
    let specs = documents();
    let walk = walk(&specs.join("openapi_directory_2022/APIs").join(file)).await;
    println!(
        "{file}: {} operations offered, {} called, {} without arguments",
        walk.offered, walk.called, walk.without_arguments
    );
    assert!(
        walk.called * 10 >= (walk.called + walk.without_arguments) * 8,
        "{file}: too few operations could be called"
    );
}

#[requires("data/specs")]
#[tokio::test]
async fn payments() {
    walk_larger("squareup.com/2.0/openapi.yaml").await;
}

#[requires("data/specs")]
#[tokio::test]
async fn a_media_server() {
    walk_larger("jellyfin.local/v1/openapi.yaml").await;
}

#[requires("data/specs")]
#[tokio::test]
async fn a_code_host() {
    walk_larger("bitbucket.org/2.0/openapi.yaml").await;
}

#[requires("data/specs")]
#[tokio::test]
async fn a_cloud_provider() {
    walk_larger("linode.com/4.97.2/openapi.yaml").await;
}

#[requires("data/specs")]
#[tokio::test]
async fn a_citys_transport() {
    walk_larger("tfl.gov.uk/v1/openapi.yaml").await;
}
