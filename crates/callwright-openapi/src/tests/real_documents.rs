//! Tests with real documents, if they are available: no panic, no silently lost operation, no unusable tool.
#![allow(clippy::print_stdout, reason = "the test prints its result, or that it was skipped")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callwright_test_macros::requires;
use serde::Deserialize;
use serde_json::Value;

use super::soundness;
use crate::document::ApiDocument;
use crate::load::toolset_of;
use crate::{Offline, Operation, Origin, SecurityScheme, Toolset, ToolsetSettings, load_document};
use callwright_judge::scanner::{self, ToolSet, Validators};

/// Number of operations of each document whose schemas are checked: enough to cover every kind, few enough for every
/// build.
const OPERATIONS_OF_EACH: usize = 8;

/// Step width for the documents that are loaded with half of their operations.
const DOCUMENTS_BETWEEN: usize = 5;

/// Length of the beginning that a name keeps if another operation had the same name.
const SHARED_CHARS: usize = 12;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// A line of the index, with numbers counted in the raw document.
#[derive(Deserialize)]
struct Entry {
    file: String,
    version: String,
    operations: usize,
}

#[derive(Default)]
struct Share {
    documents: usize,
    whole: usize,
    counted: usize,
    loaded: usize,
}

fn folder() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared
        .unwrap_or_else(|| Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"))
        .join("data/specs")
}

#[requires("data/specs/specs.index.jsonl")]
#[test]
fn no_operation_of_a_real_document_is_lost_without_a_report() {
    let folder = folder();
    let index = std::fs::read_to_string(folder.join("specs.index.jsonl")).unwrap();
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    for line in index.lines() {
        let entry: Entry = serde_json::from_str(line).unwrap();
        let version = entry.version.get(..3).unwrap_or(&entry.version).to_owned();
        if !["2.0", "3", "3.0", "3.1"].contains(&version.as_str()) {
            continue;
        }
        let share = shares.entry(version).or_default();
        let toolset = load_document("real", &folder.join(&entry.file), &ToolsetSettings::default()).unwrap();
        check_report(&toolset, &entry, share);
        soundness::check_names(&toolset);
        check_some_operations(&toolset, &entry.file);
    }
    for (version, share) in &shares {
        let Share { documents, whole, counted, loaded } = share;
        println!("OpenAPI {version}: {whole} of {documents} documents whole, {loaded} of {counted} operations loaded");
        assert!(loaded * 100 >= counted * 99, "OpenAPI {version}: {loaded} of {counted}");
    }
}

fn check_report(toolset: &Toolset, entry: &Entry, share: &mut Share) {
    let report = &toolset.report;
    let reported = report.operations_loaded + report.operations_skipped.len();
    assert!(reported >= entry.operations, "{}: {reported} of {}", entry.file, entry.operations);
    share.documents += 1;
    share.whole += usize::from(report.operations_loaded >= entry.operations);
    share.counted += entry.operations;
    share.loaded += report.operations_loaded.min(entry.operations);
}

/// Checks operations distributed evenly over the document.
fn check_some_operations(toolset: &Toolset, file: &str) {
    let validators = Validators::new(&scanner::Settings::default());
    let step = (toolset.operations.len() / OPERATIONS_OF_EACH).max(1);
    for operation in toolset.operations.iter().step_by(step) {
        soundness::check_schema(operation);
        // A pattern that the validator cannot run is still useful to a model.
        let tool_set = ToolSet::compile(vec![operation.tool.clone()], &validators);
        let problems = tool_set.tools().iter().flat_map(|tool| tool.problems());
        let problems: Vec<&String> = problems.filter(|problem| !problem.contains("/pattern")).collect();
        assert!(problems.is_empty(), "{file}: {}: {problems:?}", operation.label());
    }
}

#[requires("data/specs/specs.index.jsonl")]
#[test]
fn names_in_real_documents_stay_when_other_operations_go() {
    let folder = folder();
    let index = std::fs::read_to_string(folder.join("specs.index.jsonl")).unwrap();
    let mut compared = 0;
    for line in index.lines().step_by(DOCUMENTS_BETWEEN) {
        let entry: Entry = serde_json::from_str(line).unwrap();
        let path = folder.join(&entry.file);
        let settings = ToolsetSettings::default();
        let Ok(document) = ApiDocument::load(Origin::Path(&path), &settings, &Offline) else { continue };
        let whole = names(&toolset_of(document.root().value.clone(), "real", &path, &settings).unwrap());
        let mut half = document.root().value.clone();
        let mut number = 0;
        for item in half["paths"].as_object_mut().into_iter().flatten().filter_map(|(_, item)| item.as_object_mut()) {
            item.retain(|key, _| {
                number += usize::from(METHODS.contains(&key.as_str()));
                !METHODS.contains(&key.as_str()) || number % 2 == 0
            });
        }
        for (operation, name) in names(&toolset_of(half, "real", &path, &settings).unwrap()) {
            let before = &whole[&operation];
            // Operations with the same name get method and path; if only one of them remains, it has none. Long names
            // that only differ in shortened words keep their hashes.
            let is_shared = before.starts_with(name.get(..SHARED_CHARS.min(name.len())).unwrap_or_default());
            assert!(*before == name || is_shared, "{}: {operation}: {before} became {name}", entry.file);
            compared += 1;
        }
    }
    println!("{compared} names compared");
    assert!(compared > 0);
}

fn names(toolset: &Toolset) -> BTreeMap<String, String> {
    toolset.operations.iter().map(|operation| (operation.label(), operation.tool.name.clone())).collect()
}

/// Number of documents drawn for the count of parameters that a model should not fill.
const DRAWN: usize = 200;

/// Seed of the draw.
const SEED: u64 = 12;

/// Parameters that no model should fill, whatever the document: names of signatures, of Google's system parameters, and
/// of fields that the HTTP client sets. The list is independent of the reader's table.
const NEVER_OFFERED: [&str; 14] = [
    "$.xgafv", "accept-encoding", "connection", "content-length", "host", "oauth_signature", "prettyprint",
    "quotauser", "upload_protocol", "x-amz-credential", "x-amz-date", "x-amz-security-token", "x-amz-signature",
    "x-api-key",
];

#[requires("data/specs/specs.index.jsonl")]
#[test]
fn tools_of_drawn_documents_have_no_credential_or_single_value() {
    let folder = folder();
    let index = std::fs::read_to_string(folder.join("specs.index.jsonl")).unwrap();
    let mut files: Vec<String> = index.lines().map(|line| serde_json::from_str::<Entry>(line).unwrap().file).collect();
    let (mut offered, mut hidden, mut tools) = (Vec::new(), 0, 0);
    for file in drawn(&mut files, DRAWN) {
        let toolset = load_document("real", &folder.join(&file), &ToolsetSettings::default()).unwrap();
        hidden += toolset.report.hidden.iter().map(|hidden| hidden.operations.len()).sum::<usize>();
        tools += toolset.operations.len();
        for operation in &toolset.operations {
            offered.extend(unwanted(&toolset, operation).map(|name| format!("{file} {}: {name}", operation.label())));
        }
    }
    println!("{tools} tools of {DRAWN} documents, {hidden} parameters hidden");
    assert!(hidden > 0 && offered.is_empty(), "{offered:?}");
}

/// Draws `count` files without replacement (a linear congruential generator, Knuth's MMIX constants).
fn drawn(files: &mut Vec<String>, count: usize) -> Vec<String> {
    let mut state = SEED;
    let mut drawn = Vec::new();
    while drawn.len() < count && !files.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let index = usize::try_from(state >> 33).unwrap() % files.len();
        drawn.push(files.swap_remove(index));
    }
    drawn
}

/// Returns the offered arguments that are credentials, belong to the transport, or have a single value.
fn unwanted<'a>(toolset: &'a Toolset, operation: &'a Operation) -> impl Iterator<Item = &'a str> {
    let schema = &operation.tool.parameters;
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    // A property that selects a variant is offered, even where the document has only one.
    let selects = |name: &str| schema["dependentSchemas"].get(name).is_some();
    let single = required.filter(move |name| !selects(name)).filter(|name| {
        let property = &schema["properties"][*name];
        property.get("const").is_some() || property["enum"].as_array().is_some_and(|values| values.len() == 1)
    });
    let credentials = operation.bindings.iter().filter(|binding| {
        let is_scheme = toolset.security_schemes.values().any(|scheme| {
            matches!(scheme, SecurityScheme::ApiKey { location, name }
                if *location == binding.location && name.eq_ignore_ascii_case(&binding.name))
        });
        let is_never = NEVER_OFFERED.contains(&binding.name.to_lowercase().as_str());
        schema["properties"].get(&binding.argument).is_some() && (is_scheme || is_never)
    });
    single.chain(credentials.map(|binding| binding.name.as_str()))
}
