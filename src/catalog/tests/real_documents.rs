//! Real documents, where they are at hand: none may panic, lose an operation silently, or give a tool that cannot be used.
#![allow(clippy::print_stdout, reason = "the test says what it found, or that it passed by")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::{ToolsetSettings, load_document};
use crate::scanner::{self, Toolbook, Validators};

/// A line of the index: what was counted in the raw document.
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
    shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared")).join("data/specs")
}

#[test]
fn no_operation_of_a_real_document_is_lost_without_a_word() {
    let folder = folder();
    let Ok(index) = std::fs::read_to_string(folder.join("specs.index.jsonl")) else {
        println!("passed by: no documents in {}", folder.display());
        return;
    };
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    for line in index.lines() {
        let entry: Entry = serde_json::from_str(line).unwrap();
        let version = entry.version.get(..3).unwrap_or(&entry.version).to_owned();
        if !["2.0", "3", "3.0", "3.1"].contains(&version.as_str()) {
            continue;
        }
        let share = shares.entry(version).or_default();
        check(&folder, &entry, share);
    }
    for (version, share) in &shares {
        let Share { documents, whole, counted, loaded } = share;
        println!("OpenAPI {version}: {whole} of {documents} documents whole, {loaded} of {counted} operations loaded");
        assert!(loaded * 100 >= counted * 99, "OpenAPI {version}: {loaded} of {counted}");
    }
}

fn check(folder: &Path, entry: &Entry, share: &mut Share) {
    let toolset = load_document("real", &folder.join(&entry.file), &ToolsetSettings::default()).unwrap();
    let report = &toolset.report;
    let refers_elsewhere = report.operations_skipped.iter().any(|skipped| skipped.reason.contains("another file"));
    let told = report.operations_loaded + report.operations_skipped.len();
    assert!(told >= entry.operations || refers_elsewhere, "{}: {told} of {}", entry.file, entry.operations);
    share.documents += 1;
    share.whole += usize::from(report.operations_loaded >= entry.operations);
    share.counted += entry.operations;
    share.loaded += report.operations_loaded.min(entry.operations);
    let validators = Validators::new(&scanner::Settings::default());
    for operation in &toolset.operations {
        let tool = &operation.tool;
        assert!(tool.parameters.to_string().len() <= ToolsetSettings::default().limits.schema_bytes);
        // A pattern that the scanner cannot run is still worth showing to a model.
        let toolbook = Toolbook::compile(vec![tool.clone()], &validators);
        let problems = toolbook.tools().iter().flat_map(|tool| tool.problems());
        let problems: Vec<&String> = problems.filter(|problem| !problem.contains("/pattern")).collect();
        assert!(problems.is_empty(), "{}: {}: {problems:?}", entry.file, operation.label());
    }
}
