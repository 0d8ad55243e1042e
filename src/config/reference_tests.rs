//! Tests that the reference of all keys, `config/callwright.toml`, is complete and correct.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::variables;
use super::{ConfigRequest, Settings, config_schema, load};

fn reference() -> String {
    std::fs::read_to_string(path()).unwrap()
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("config/callwright.toml")
}

/// Returns the text with its examples (`#key`, `#[table]`; prose has a space after the `#`) as valid lines.
fn with_examples(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(example) if example.starts_with(|first: char| first.is_alphanumeric() || first == '[') => {
            example.to_owned()
        }
        _ => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Collects the paths of everything that is not a table; an empty table counts as a value.
fn leaves(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                leaves(member, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, found);
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

fn keys_of(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    leaves(value, "", &mut found);
    found
}

fn keys_of_text(text: &str) -> BTreeSet<String> {
    keys_of(&toml::from_str::<Value>(text).unwrap())
}

/// Returns the keys of the defaults, with one alias, toolset, key group and price, so that their keys are included.
fn all_keys() -> BTreeSet<String> {
    let settings = Settings {
        aliases: BTreeMap::from([("assistant".to_owned(), Default::default())]),
        toolsets: BTreeMap::from([("rooms".to_owned(), Default::default())]),
        keys: crate::keys::Settings {
            groups: BTreeMap::from([("search-team".to_owned(), Default::default())]),
            ..Default::default()
        },
        prices: BTreeMap::from([("gpt-5-mini".to_owned(), Default::default())]),
        ..Settings::default()
    };
    keys_of(&serde_json::to_value(settings).unwrap())
}

#[test]
fn the_reference_equals_the_built_in_defaults() {
    let request = ConfigRequest { file: Some(path()), ..ConfigRequest::default() };
    assert_eq!(load(&request, &variables(&[])).unwrap().settings, Settings::default());
}

#[test]
fn the_reference_reads_the_variables_that_hold_without_a_file() {
    let environment = [("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_API_KEY", "key")];
    let request = ConfigRequest { file: Some(path()), ..ConfigRequest::default() };
    let with_file = load(&request, &variables(&environment)).unwrap().settings;
    let upstream = &with_file.upstreams["default"];
    assert_eq!((upstream.base_url.as_str(), upstream.api_key.expose()), ("http://127.0.0.1:9/v1", "key"));
}

#[test]
fn the_providers_address_precedes_the_one_that_clients_read() {
    let variables_with = |first| {
        let environment = [("OPENAI_BASE_URL", "http://127.0.0.1:8787/v1"), ("CALLWRIGHT_UPSTREAM_URL", first)];
        let without_file = load(&ConfigRequest::default(), &variables(&environment)).unwrap().settings;
        let request = ConfigRequest { file: Some(path()), ..ConfigRequest::default() };
        let with_file = load(&request, &variables(&environment)).unwrap().settings;
        [without_file, with_file].map(|settings| settings.upstreams["default"].base_url.clone())
    };
    assert_eq!(variables_with("https://provider.example/v1"), ["https://provider.example/v1"; 2]);
    assert_eq!(variables_with(""), ["http://127.0.0.1:8787/v1"; 2], "an empty variable is as good as none");
}

#[test]
fn the_reference_mentions_every_key_and_no_other() {
    let shown = keys_of_text(&with_examples(&reference()));
    // Members of maps with free names are examples.
    let shown: BTreeSet<String> = shown
        .into_iter()
        .map(|key| {
            let is_free = [".credentials.", ".server_variables."].iter().any(|map| key.contains(map));
            if is_free { key.rsplit_once('.').unwrap().0.into() } else { key }
        })
        .collect();
    assert_eq!(shown, all_keys());
}

#[test]
fn the_examples_of_the_reference_are_valid() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("callwright.toml");
    std::fs::write(&file, with_examples(&reference())).unwrap();
    let loaded = load(&ConfigRequest { file: Some(file), ..ConfigRequest::default() }, &variables(&[])).unwrap();
    assert_eq!(loaded.settings.aliases["assistant"].toolsets, ["rooms"]);
}

#[test]
fn reference_examples_and_defaults_are_valid_by_the_schema() {
    let config = jsonschema::draft7::new(&config_schema()).unwrap();
    for value in [
        toml::from_str(&with_examples(&reference())).unwrap(),
        toml::from_str(&toml::to_string(&Settings::default()).unwrap()).unwrap(),
    ] {
        let errors: Vec<String> = config.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0]);
    }
}

#[test]
fn every_key_of_the_reference_is_explained_on_the_line_above() {
    let text = reference();
    let lines: Vec<&str> = text.lines().collect();
    let is_key = |line: &str| !line.starts_with("# ") && line.trim_start_matches('#').contains(" = ");
    let unexplained: Vec<&&str> =
        lines.windows(2).filter(|pair| is_key(pair[1]) && !pair[0].starts_with("# ")).map(|pair| &pair[1]).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
    assert!(lines.iter().filter(|line| is_key(line)).count() >= all_keys().len());
}
