//! The binary as called by a person or a script: its output and its exit status.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs the binary in `folder` with only `variables` in the environment.
fn run(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
    command.args(arguments).current_dir(folder).env_clear().envs(variables.iter().copied());
    command.output().unwrap()
}

fn folder_with(file: &str, text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), text).unwrap();
    folder
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn without_a_file_the_configuration_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["config", "check"], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "built-in defaults: OK\n");
}

#[test]
fn a_mistake_is_named_with_its_place_and_the_status_is_one() {
    let folder = folder_with("mine.toml", "[server]\nbody_limit = 1\n");
    let output = run(folder.path(), &["config", "check", "--config", "mine.toml"], &[]);
    assert_eq!(output.status.code(), Some(1));
    let expected = "callwright: mine.toml:2:1: unknown key `server.body_limit`; did you mean `body_limit_bytes`?\n";
    assert_eq!(text(&output.stderr), expected, "no colours where there is no terminal");
    assert!(output.stdout.is_empty());
}

#[test]
fn the_working_directorys_and_the_variables_file_are_found() {
    let folder = folder_with("callwright.toml", "[server]\nlisten = '127.0.0.1:0'\n");
    let output = run(folder.path(), &["config", "check"], &[]);
    assert_eq!(text(&output.stdout), "callwright.toml: OK\n");
    std::fs::write(folder.path().join("other.toml"), "").unwrap();
    let output = run(folder.path(), &["config", "check"], &[("CALLWRIGHT_CONFIG", "other.toml")]);
    assert_eq!(text(&output.stdout), "other.toml: OK\n");
}

#[test]
fn variables_of_the_environment_are_filled_in_and_never_shown() {
    let folder = folder_with("callwright.toml", "[server]\nlisten = '${ADDRESS}'\n");
    let good = run(folder.path(), &["config", "check"], &[("ADDRESS", "127.0.0.1:0")]);
    assert!(good.status.success());
    let bad = run(folder.path(), &["config", "check"], &[("ADDRESS", "sk-canary")]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(text(&bad.stderr).contains("`server.listen`") && !text(&bad.stderr).contains("canary"));
    let unset = run(folder.path(), &["config", "check"], &[]);
    assert!(text(&unset.stderr).contains("callwright.toml:2:10: `server.listen`: environment variable `ADDRESS`"));
}

#[test]
fn arguments_that_are_no_command_have_status_two() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["srve"][..], &["config"], &["config", "check", "--confg", "x"], &[]] {
        let output = run(folder.path(), arguments, &[]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && text(&output.stderr).contains("Usage"), "{arguments:?}");
    }
}

#[test]
fn help_and_version_are_answers_and_not_errors() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(folder.path(), &["--help"], &[]);
    assert!(help.status.success() && text(&help.stdout).contains("config"));
    let version = run(folder.path(), &["--version"], &[]);
    assert_eq!(text(&version.stdout), concat!("callwright ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn check_reports_on_documents_one_line_each() {
    let folder = folder_with("broken.json", "{\"openapi\": \"3.0.0\", ");
    let output = run(folder.path(), &["check", "--format", "json", "."], &[]);
    assert_eq!(output.status.code(), Some(1), "a document that cannot be loaded at all");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["file"], "broken.json");
    assert!(report["error"].is_string());
}

#[test]
fn the_built_in_policies_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["policy", "check"], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for name in ["default", "strict", "shadow"] {
        assert!(text(&output.stdout).contains(&format!("{name}: OK")), "{}", text(&output.stdout));
    }
}

#[test]
fn a_mistake_in_a_policy_is_named_with_its_place() {
    let folder = folder_with("default.yaml", "name: default\nmodus: guard\n");
    let output = run(folder.path(), &["policy", "check", "."], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("default.yaml:2:1: "), "{}", text(&output.stderr));
}

#[test]
fn checking_the_configuration_checks_what_it_names() {
    let configuration = "[policies]\ndirectory = 'absent'\n\
        [toolsets.rooms]\ndocument = 'rooms.yaml'\n[aliases.a]\ntoolsets = ['rooms']\n";
    let folder = folder_with("callwright.toml", configuration);
    let output = run(folder.path(), &["config", "check"], &[]);
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr);
    assert!(errors.contains("absent") && errors.contains("rooms.yaml"), "{errors}");
}

#[test]
fn an_alias_with_an_unknown_policy_is_a_configuration_error() {
    let folder = folder_with("callwright.toml", "[aliases.a]\npolicy = 'strct'\n");
    for verb in ["config", "policy"] {
        let output = run(folder.path(), &[verb, "check"], &[]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("did you mean `strict`?"), "{}", text(&output.stderr));
    }
}
