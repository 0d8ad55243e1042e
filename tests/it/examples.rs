//! The configurations in `examples/`, as checked by the real binary.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Output;

use crate::support::verb;

/// Folders of `examples/`.
const EXAMPLES: [&str; 3] = ["local-model", "openapi-tools", "team-gateway"];

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn read(example: &str, file: &str) -> String {
    std::fs::read_to_string(examples().join(example).join(file)).unwrap()
}

/// Returns the variables that a configuration requires: `${NAME}` without a default.
fn required(configuration: &str) -> Vec<&str> {
    let references = configuration.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
    references.map(|(name, _)| name).filter(|name| !name.contains(":-")).collect()
}

/// Runs a verb in the folder of an example, with a placeholder for each of these variables.
fn run(example: &str, arguments: &[&str], variables: &[&str]) -> Output {
    let mut command = verb::command(&examples().join(example), arguments);
    command.envs(variables.iter().map(|name| (name, "placeholder"))).output().unwrap()
}

/// Runs a verb that must succeed with all required variables, and returns its standard output.
fn succeed(example: &str, arguments: &[&str]) -> String {
    let output = run(example, arguments, &required(&read(example, "callwright.toml")));
    assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_example_is_tested() {
    let entries = std::fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap());
    assert_eq!(folders.collect::<BTreeSet<_>>(), BTreeSet::from(EXAMPLES.map(str::to_owned)));
}

#[test]
fn configurations_are_valid_without_a_network() {
    for example in EXAMPLES {
        let configuration = read(example, "callwright.toml");
        let is_remote = configuration.contains("document = \"http") || configuration.contains("allow_remote_refs");
        assert!(!is_remote, "{example}: the check would fetch a document");
        let printed = succeed(example, &["config", "check"]);
        assert!(printed.ends_with("callwright.toml: OK\n"), "{example}: {printed}");
    }
}

#[test]
fn policies_are_valid() {
    for example in EXAMPLES {
        let printed = succeed(example, &["policy", "check"]);
        let expected = if examples().join(example).join("policies").is_dir() { "approve-writes" } else { "default" };
        assert!(printed.starts_with(&format!("{expected}: OK")), "{example}: {printed}");
    }
}

#[test]
fn the_openapi_document_has_no_finding() {
    let findings = "skipped,renamed,simplified,advice";
    let printed = succeed("openapi-tools", &["check", "--advice", "all", "--deny", findings, "orders.yaml"]);
    assert!(printed.contains("orders.yaml"), "{printed}");
}

#[test]
fn a_missing_variable_is_named_and_the_readme_sets_it() {
    let mut checked = 0;
    for example in EXAMPLES {
        let (configuration, readme) = (read(example, "callwright.toml"), read(example, "README.md"));
        let names = required(&configuration);
        let output = run(example, &["config", "check"], &[]);
        assert_eq!(output.status.success(), names.is_empty(), "{example}");
        for name in names {
            assert!(readme.contains(&format!("{name}=")), "{example}: {name} is not in README.md");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(errors.contains(&format!("environment variable `{name}` is not set")), "{example}: {errors}");
            checked += 1;
        }
    }
    assert!(checked > 0);
}
