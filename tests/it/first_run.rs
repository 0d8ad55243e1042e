//! The first minutes of a new user, with the real binary: an API made with FastAPI on loopback, its document as tools,
//! and the first guarded call through the official `openai` package.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::answer::{one_call, text};
use crate::support::python::python;
use crate::support::verb::{Folder, Said, command};
use crate::support::{Client, Received, Reply, Server};
use callwright_test_macros::requires;
use serde_json::json;

/// Model name of the new user.
const MODEL: &str = "gpt-test";

/// A child process that is killed on drop, and the lines that it has printed.
struct Running {
    process: Child,
    lines: Vec<String>,
}

impl Running {
    /// Starts a process and reads its standard output up to the line that begins with `last`.
    fn start(mut command: Command, last: &str) -> Self {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended after {lines:#?}");
            lines.push(line.trim_end().to_owned());
            if line.trim_start().starts_with(last) {
                break;
            }
        }
        // Further output must not block the process.
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        Self { process, lines }
    }

    /// Returns the URL behind `NAME=` in the first line.
    fn url(&self, side: &str) -> String {
        let first = self.lines.first().unwrap();
        let found = first.split_whitespace().find_map(|word| word.strip_prefix(side)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {side}= in {first}")).to_owned()
    }

    fn text(&self) -> String {
        self.lines.join("\n")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn script(name: &str) -> Command {
    let mut command = Command::new(python());
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name));
    command
}

/// Starts the API of the new user.
fn api() -> Running {
    Running::start(script("fastapi_rooms.py"), "http://")
}

/// A model with a typical mistake: another spelling of the name, and a number as text. It repeats the answer of the
/// tool.
async fn model() -> Server {
    Server::scripted(|_, received: &Received| {
        if received.method == "GET" {
            return Reply::json(200, &json!({"object": "list", "data": []}));
        }
        let last = received.last_message();
        match last["role"].as_str() {
            Some("tool") => text(last["content"].as_str().unwrap()),
            _ => one_call("listRoomsRoomsGet", r#"{"capacity": "6"}"#),
        }
    })
    .await
}

/// Starts `callwright serve` in a folder on free ports.
fn serve(folder: &Folder, arguments: &[&str], last: &str) -> Running {
    let all = [&["serve", "--listen", "127.0.0.1:0", "--operator-listen", "127.0.0.1:0"], arguments].concat();
    let mut command = command(&folder.path(""), &all);
    command.stderr(std::fs::File::create(folder.path("log")).unwrap());
    Running::start(command, last)
}

/// Sends the first request as the new user does.
fn first_call(base_url: &str) -> String {
    let said = script("first_call.py").args([base_url, MODEL, "Which rooms seat 6 people?"]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

fn check_first_call(answer: &str) {
    assert!(answer.starts_with("repaired ") && answer.contains("Fjord") && !answer.contains("Brook"), "{answer}");
}

/// Runs blocking work while servers of this runtime respond.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// API owner: three commands and no file. `uvicorn`, `callwright serve --openapi`, the client.
#[requires(python_clients)]
#[tokio::test]
async fn an_api_is_called_without_any_file() {
    let model = model().await;
    let upstream = model.url("/v1");
    let (answer, summary, files, operator) = blocking(move || {
        let api = api();
        let document = format!("{}/openapi.json", api.text());
        let folder = Folder::with(&[]);
        let arguments = ["--openapi", &document, "--upstream", &upstream, "--model", MODEL];
        let proxy = serve(&folder, &arguments, "`callwright init`");
        let answer = first_call(&format!("{}/v1", proxy.url("client")));
        let files: Vec<String> = std::fs::read_dir(folder.path(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let operator = Client::new(proxy.url("operator"));
        (answer, (proxy.text(), proxy, api), files, operator)
    })
    .await;
    check_first_call(&answer);
    let (summary, _proxy, _api) = summary;
    assert_eq!(files, ["log"], "nothing but the test's own log is written");
    for part in ["/v1", "/console", "toolset   api: 2 of 3 tools callable", "1 not GET or HEAD", "127.0.0.0/8"] {
        assert!(summary.contains(part), "{part} is not in\n{summary}");
    }
    let root = operator.get("/").await;
    let (status, text) = (root.status.as_u16(), root.text());
    assert!(status == 200 && text.contains("<html") || status == 307, "{status} {text}");
}

/// Developer: five commands. `uvicorn`, `callwright init`, `callwright doctor`, `callwright serve`, the client.
#[requires(python_clients)]
#[tokio::test]
async fn five_commands_lead_to_the_first_guarded_call() {
    let model = model().await;
    let upstream = model.url("/v1");
    let (answer, told) = blocking(move || {
        let api = api();
        let document = format!("{}/openapi.json", api.text());
        let folder = Folder::with(&[]);
        let arguments = ["init", "--provider", &upstream, "--model", MODEL, "--openapi", &document];
        let init = folder.run(&arguments, b"");
        assert_eq!(init.status, Some(0), "{}", init.stderr);
        let again = folder.run(&arguments, b"");
        assert!(again.status == Some(1) && again.stderr.contains("--force"), "{}", again.stderr);
        let forced = folder.run(&[&arguments[..], &["--force"]].concat(), b"");
        assert_eq!(forced.status, Some(0), "{}", forced.stderr);
        for verb in [&["config", "check"][..], &["policy", "check"]] {
            let checked = folder.run(verb, b"");
            assert_eq!(checked.status, Some(0), "{}{}", String::from_utf8_lossy(&checked.stdout), checked.stderr);
        }
        let doctor = folder.run(&["doctor", "--format", "json"], b"");
        let failed: Vec<_> = doctor.lines().into_iter().filter(|finding| finding["status"] == "fail").collect();
        assert!(failed.is_empty(), "{failed:#?}");
        let proxy = serve(&folder, &[], "toolset");
        // With the policy that `init` writes, a booking waits for approval: it is callable, too.
        assert!(proxy.text().contains("api: 3 of 3 tools callable"), "{}", proxy.text());
        let answer = first_call(&format!("{}/v1", proxy.url("client")));
        (answer, String::from_utf8(init.stdout).unwrap())
    })
    .await;
    check_first_call(&answer);
    assert!(told.contains("3 tools from ") && told.contains("next:\n") && told.contains("callwright serve"), "{told}");
}

/// Evaluator: `init` without a terminal names the flag that is missing, and writes nothing.
#[test]
fn what_init_lacks_is_named_and_nothing_is_written() {
    let openapi = json!({"openapi": "3.0.3", "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"get": {"operationId": "readA", "responses": {"200": {"description": "d"}}}}}});
    let document = openapi.to_string();
    let usual = ["--provider", "ollama", "--model", "m", "--openapi", "api.json"];
    let run = |files: &[(&str, &[u8])], arguments: &[&str]| -> (Said, bool) {
        let folder = Folder::with(files);
        let said = folder.run(&[&["init", "proxy"], arguments].concat(), b"");
        let wrote =
            folder.path("proxy/callwright.toml").exists() || folder.path("proxy/policies/default.yaml").exists();
        (said, wrote)
    };
    for (arguments, word) in [
        (&[][..], "--provider is missing"),
        (&["--provider", "openia"], "`openia` is neither one of openai"),
        (&["--provider", "openai"], "--model is missing"),
        (&["--provider", "openai", "--model", "m"], "--openapi is missing"),
        (&usual, "--api-url is missing"),
        (&["--provider", "openai", "--model", "m", "--openapi", "absent.json"], "absent.json"),
    ] {
        let (said, wrote) = run(&[("api.json", document.as_bytes())], arguments);
        assert!(said.status == Some(1) && said.stderr.contains(word) && !wrote, "{arguments:?}: {}", said.stderr);
    }
    let (said, wrote) =
        run(&[("api.json", document.as_bytes())], &[&usual[..], &["--api-url", "https://api.example.com"]].concat());
    assert!(said.status == Some(0) && wrote, "{}", said.stderr);
    let empty = json!({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {}}).to_string();
    let (said, wrote) = run(&[("api.json", empty.as_bytes())], &usual);
    assert!(said.status == Some(1) && said.stderr.contains("no operation of") && !wrote, "{}", said.stderr);
}
