//! The JSON Schemas of the configuration file and of policy files: the checked-in files are what `callwright config
//! schema` prints, every file of the repository is valid, and common mistakes are not, as for the program itself.

use std::path::{Path, PathBuf};

use crate::support::verb::Folder;
use jsonschema::Validator;
use serde_json::Value;

/// Folders with a configuration file.
const CONFIGURATIONS: [&str; 7] = [
    "config", "docker", "docker/compose", "examples/local-model", "examples/openapi-tools", "examples/team-gateway",
    "packaging/deb",
];

/// Folders with policies.
const POLICIES: [&str; 2] = ["policies", "examples/openapi-tools/policies"];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema(path: &str) -> Value {
    serde_json::from_str(&text(&repository(path))).unwrap()
}

fn config_validator() -> Validator {
    jsonschema::draft7::new(&schema("config/callwright.schema.json")).unwrap()
}

fn policy_validator() -> Validator {
    jsonschema::draft7::new(&schema("policies/policy.schema.json")).unwrap()
}

fn errors(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn config_errors(text: &str) -> Vec<String> {
    errors(&config_validator(), &toml::from_str(text).unwrap())
}

/// Reads the text by YAML 1.2, as editors do: `off` is a text.
fn policy_errors(text: &str) -> Vec<String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    errors(&policy_validator(), &serde_saphyr::from_str_with_options(text, options).unwrap())
}

#[test]
fn the_checked_in_schemas_are_the_generated_ones() {
    for (arguments, path) in [
        (&["config", "schema"][..], "config/callwright.schema.json"),
        (&["config", "schema", "--policy"], "policies/policy.schema.json"),
    ] {
        let printed = Folder::with(&[]).run(arguments, b"");
        assert_eq!(printed.status, Some(0), "{}", printed.stderr);
        let command = arguments.join(" ");
        assert!(
            printed.stdout == std::fs::read(repository(path)).unwrap(),
            "the settings changed: run `cargo run -- {command} > {path}`"
        );
    }
}

#[test]
fn the_schemas_are_valid_and_explain_every_key() {
    for path in ["config/callwright.schema.json", "policies/policy.schema.json"] {
        let schema = schema(path);
        assert!(jsonschema::meta::is_valid(&schema), "{path}");
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#", "{path}");
        let mut keys = 0;
        explained(&schema, path, &mut keys);
        assert!(keys > 80, "{path}: {keys}");
    }
}

/// Checks that each property has a description in plain text, and counts the properties.
fn explained(schema: &Value, place: &str, keys: &mut usize) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        *keys += 1;
        let place = format!("{place}/{name}");
        let description = property["description"].as_str().unwrap_or_default();
        let is_plain = !description.is_empty() && !["[`", "`None`", "\n "].iter().any(|it| description.contains(it));
        assert!(is_plain, "{place}: {description:?}");
        explained(property, &place, keys);
    }
    for keyword in ["anyOf", "oneOf"] {
        schema[keyword].as_array().into_iter().flatten().for_each(|variant| explained(variant, place, keys));
    }
    for keyword in ["additionalProperties", "items"].into_iter().filter(|keyword| schema[keyword].is_object()) {
        explained(&schema[keyword], &format!("{place}/{keyword}"), keys);
    }
}

#[test]
fn every_file_of_the_repository_is_valid() {
    for folder in CONFIGURATIONS {
        let errors = config_errors(&text(&repository(folder).join("callwright.toml")));
        assert!(errors.is_empty(), "{folder}: {errors:?}");
    }
    for folder in POLICIES {
        let files = std::fs::read_dir(repository(folder)).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect();
        assert!(!files.is_empty(), "{folder}");
        for file in files {
            let errors = policy_errors(&text(&file));
            assert!(errors.is_empty(), "{}: {errors:?}", file.display());
        }
    }
}

#[test]
fn every_form_of_a_value_is_valid() {
    for valid in [
        "[telemetry]\nformat = '${LOG_FORMAT:-json}'\n",
        "[server]\nlisten = '${LISTEN:-127.0.0.1:0}'\noperator_listen = '[::1]:8788'\n",
        "[upstreams.a]\nprotocols = ['chat', '${PROTOCOL:-messages}']\nforward_headers = []\nheaders = {x-a = 'b'}\n",
        "[aliases.a]\ntargets = [{upstream = 'default', weight = 0}]\n",
        "[keys.groups.a]\nbudget = {amount = 1.5, period = 'day'}\n",
        "[prices.'gpt-5-mini']\nprompt = 1\ncompletion = 2.5\n",
        "[toolsets.a]\ndocument = 'a.yaml'\ndocs = [{path = 'docs', tags = ['a*']}]\n[toolsets.a.credentials]\n\
         key = '${KEY:-k}'\nother = {file = 'secret'}\n\
         client = {client_id = 'a', client_secret = {file = 'b'}, scopes = [], parameters = {resource = 'c'}}\n",
    ] {
        assert_eq!(config_errors(valid), [""; 0], "{valid}");
    }
    for valid in [
        "match: {models: 'gpt-*', aliases: [a, b], headers: {x-team: a}}\n",
        "scan: {faults: {E3.1: advise, E4.3: off}, similarity: 1}\n",
        "execute: {rules: [{permission: approve}], approval: {mode: notice}}\n",
        "explain:\n  failures:\n  - {at: /status, values: [1, null, a], outcome: failed}\n  - {range: {from: 1}, outcome: fine}\n",
        "limits: {message: {texts: {de: 'Leider nicht.'}}}\noffer: {never: ['*/delete_*']}\n",
    ] {
        assert_eq!(policy_errors(valid), [""; 0], "{valid}");
    }
}

/// Checks that an error of the schema is at this place of a file, and that the program refuses the file too.
fn both_refuse(errors: &[String], place: &str, (name, wrong): (&str, &str), check: &[&str]) {
    assert!(errors.iter().any(|error| error.starts_with(&format!("{place}: "))), "{wrong}: {errors:?}");
    let checked = Folder::with(&[(name, wrong.as_bytes())]).run(check, b"");
    assert_eq!(checked.status, Some(1), "{wrong}: {}", checked.stderr);
}

#[test]
fn a_configuration_mistake_is_invalid_in_editors_and_program() {
    for (place, wrong) in [
        ("", "[serve]\nlisten = '127.0.0.1:0'\n"),
        ("/server", "[server]\nbody_limit = 1\n"),
        ("/server/listen", "[server]\nlisten = '127.0.0.1'\n"),
        ("/server/allow_public", "[server]\nallow_public = 'yes'\n"),
        ("/server/body_limit_bytes", "[server]\nbody_limit_bytes = -1\n"),
        ("/server/body_limit_bytes", "[server]\nbody_limit_bytes = '${LIMIT:-5}'\n"),
        ("/scanner/max_diagnoses", "[scanner]\nmax_diagnoses = 0\n"),
        ("/telemetry/format", "[telemetry]\nformat = 'jason'\n"),
        ("/telemetry/otlp_sample_ratio", "[telemetry]\notlp_sample_ratio = '1'\n"),
        ("/upstreams/a", "[upstreams.a]\nbase = 'http://127.0.0.1:1/v1'\n"),
        ("/upstreams/a/protocols/1", "[upstreams.a]\nprotocols = ['chat', 'completions']\n"),
        ("/upstreams/a/max_tools", "[upstreams.a]\nmax_tools = -1\n"),
        ("/upstreams/a/headers/x-a", "[upstreams.a]\nheaders = {x-a = 1}\n"),
        ("/aliases/a/targets", "[aliases.a]\ntargets = 'default'\n"),
        ("/keys/mode", "[keys]\nmode = 'on'\n"),
        ("/keys/groups/a/budget/period", "[keys.groups.a]\nbudget = {amount = 1, period = 'week'}\n"),
        ("/toolsets/a/docs/0", "[toolsets.a]\ndocument = 'a.yaml'\ndocs = [{tags = []}]\n"),
        ("/toolsets/a/credentials/k", "[toolsets.a]\ndocument = 'a.yaml'\ncredentials = {k = {client_id = 'a'}}\n"),
        ("/toolsets/a/credentials/k", "[toolsets.a]\ndocument = 'a.yaml'\ncredentials = {k = {files = 'a'}}\n"),
    ] {
        both_refuse(&config_errors(wrong), place, ("callwright.toml", wrong), &["config", "check"]);
    }
}

#[test]
fn a_policy_mistake_is_invalid_in_editors_and_program() {
    for (place, wrong) in [
        ("", "limit: {}\n"),
        ("/mode", "mode: gaurd\n"),
        ("/limits/seconds", "limits: {seconds: '3'}\n"),
        ("/limits/seconds", "limits: {seconds: 1.5}\n"),
        ("/limits", "limits: {static_feedbak: 1}\n"),
        ("/scan/faults", "scan: {faults: {E4.9: off}}\n"),
        ("/scan/faults/E4.3", "scan: {faults: {E4.3: on}}\n"),
        ("/match/aliases", "match: {aliases: {a: b}}\n"),
        ("/offer/always", "offer: {always: {a: b}}\n"),
        ("/execute/rules/0", "execute: {rules: [{methods: [POST]}]}\n"),
        ("/execute/rules/0/permission", "execute: {rules: [{permission: ask}]}\n"),
        ("/explain/failures/0/at", "explain: {failures: [{at: 5, outcome: failed}]}\n"),
        ("/record/bodies", "record: {bodies: 'yes'}\n"),
    ] {
        both_refuse(&policy_errors(wrong), place, ("team.yaml", wrong), &["policy", "check", "."]);
    }
}
