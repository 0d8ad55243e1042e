//! Real coding agents with MCP servers, through `callwright run`: the servers' own logs decide
//! (`tests/clients/agents`).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use callwright_test_macros::requires;

use crate::support::request::with_tools;
use crate::support::{Proxy, Server, answer, config};

/// Runs the cases whose names contain `part`, and expects that all are right.
fn cases(part: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = Command::new("python3");
    command.arg(root.join("tests/clients/agents/run")).arg("--node").arg(root.join("target/node"));
    command.args(["--callwright", env!("CARGO_BIN_EXE_callwright"), part]).current_dir(folder.path());
    let output = command.output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("\"problem\": null"), "{text}{errors}");
    assert!(!text.contains("skipped"), "{text}");
}

#[requires(node_clients)]
#[test]
fn codex_makes_the_same_calls_with_and_without_the_proxy() {
    cases("codex-");
}

#[requires(node_clients)]
#[test]
fn claude_code_makes_the_same_calls_as_without_the_proxy() {
    cases("claude-");
}

/// Runs a shell's command line through `callwright run` with these options.
fn run(options: &[&str], line: &str) -> std::process::Output {
    let folder = tempfile::TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
    command.arg("run").args(options).args(["--", "sh", "-c", line]).current_dir(folder.path());
    for name in ["CALLWRIGHT_CONFIG", "CALLWRIGHT_UPSTREAM_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a file is left behind");
    output
}

#[test]
fn any_command_gets_the_addresses_and_its_exit_status_is_kept() {
    let line = "echo $OPENAI_BASE_URL $ANTHROPIC_BASE_URL $OPENAI_API_KEY $OPENAI_MODEL; exit 3";
    let output = run(&["--upstream", "http://127.0.0.1:1/v1", "--model", "m"], line);
    let text = String::from_utf8_lossy(&output.stdout);
    let [openai, anthropic, key, model] = text.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!(openai, format!("{anthropic}/v1"));
    assert!(anthropic.starts_with("http://127.0.0.1:") && key == "callwright" && model == "m", "{text}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), errors.as_ref()), (Some(3), "callwright: no turn reached the proxy\n"));
}

#[test]
fn a_client_that_a_signal_ends_has_the_status_of_a_shell() {
    let output = run(&["--upstream", "http://127.0.0.1:1/v1"], "kill -TERM $$");
    assert_eq!(output.status.code(), Some(128 + 15));
}

#[test]
fn unusable_commands_and_addresses_are_named() {
    let folder = tempfile::TempDir::new().unwrap();
    for (arguments, expected) in [
        (&["--upstream", "http://127.0.0.1:1/v1", "--", "no-such-client"][..], "no-such-client: "),
        (&["--upstream", "no url", "--", "true"][..], "not a URL"),
        (&["--config", "missing.toml", "--", "true"][..], "missing.toml"),
        (&["--model", "m"][..], "COMMAND"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
        let output = command.arg("run").args(arguments).current_dir(folder.path()).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(expected), "{arguments:?}: {errors}");
    }
}

/// Returns an address that was free a moment ago.
fn free_address() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Returns the number of files and folders in a folder.
fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[tokio::test]
async fn a_proxy_that_already_runs_is_used() {
    let upstream = Server::always(answer::one_call("getWeather", r#"{"city":"Paris"}"#)).await;
    let listeners = config(&upstream.url("/v1")).replacen("127.0.0.1:0", &free_address(), 1).replacen(
        "127.0.0.1:0",
        &free_address(),
        1,
    );
    let proxy = Proxy::start(listeners).await;
    let turn = async || {
        let answer = proxy.client().chat(&with_tools("Weather?")).await;
        answer.header("x-callwright-trace").unwrap().to_owned()
    };
    let before = turn().await;
    proxy.metrics().await;
    let (home, folder) = (tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap());
    // The client prints its address and waits for a line. Meanwhile, this test makes the client's turn.
    let mut child = Command::new(env!("CARGO_BIN_EXE_callwright"))
        .args(["run", "--config"])
        .arg(proxy.directory().join("callwright.toml"))
        .args(["--", "sh", "-c", "echo $OPENAI_BASE_URL; read -r line"])
        .current_dir(folder.path())
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    assert_eq!(address.trim(), proxy.client().url("/v1"), "the address of the running proxy");
    let within = turn().await;
    writeln!(child.stdin.take().unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("1 turn: 1 repaired") && errors.contains(&within), "{errors}");
    assert!(!errors.contains(&before), "a turn before the session: {errors}");
    assert_eq!((entries(home.path()), entries(folder.path())), (0, 0), "a file is left behind");
    turn().await;
    assert_eq!(proxy.traces_after_stop().await.len(), 3, "the proxy continues");
}
