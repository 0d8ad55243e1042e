//! Learning of procedures from turns with positive verdicts.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::proxy::{Proxy, Stopped};

/// Stops the proxy, and learns the only procedure of all its turns from their traces, as the operator.
pub(crate) async fn one_procedure(proxy: Proxy) -> Stopped {
    // All traces are on disk after it has stopped.
    let proxy = proxy.stop().await.start_again().await;
    let traces = proxy.traces().await;
    let stopped = proxy.stop().await;
    let lines: Vec<String> = traces.iter().map(Value::to_string).collect();
    std::fs::write(stopped.directory().join("traces.jsonl"), lines.join("\n")).unwrap();
    let arguments = ["learn", "procedures", "--vouched", "--traces", "traces.jsonl"];
    let (_, told) = run(stopped.directory(), &arguments);
    assert!(told.contains("1 new procedures"), "{told}");
    stopped
}

/// Returns the procedures with this status in the store of a stopped proxy.
pub(crate) fn listed(directory: &Path, status: &str) -> Vec<Value> {
    let (listed, _) = run(directory, &["procedures", "list", "--status", status, "--format", "json"]);
    listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a verb. Returns its standard output and standard error.
fn run(directory: &Path, arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
    let output = command.args(arguments).current_dir(directory).env_clear().output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    (String::from_utf8(output.stdout).unwrap(), told)
}
