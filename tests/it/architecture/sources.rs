//! Source files of all crates, with their position in the module tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::{Scan, paths};

/// A source file that is not test code.
pub(crate) struct Source {
    /// Path from the repository root, with `/`.
    pub(crate) path: String,
    /// Crate, such as `callwright-judge`.
    pub(crate) package: String,
    /// Module path from the crate root: `["scanner", "faults", "constraint"]`; empty for `lib.rs` and `main.rs`.
    pub(crate) module: Vec<String>,
    pub(crate) text: String,
    /// Names that it uses outside of test code.
    pub(crate) scan: Scan,
}

impl Source {
    /// Creates a file at `path` (from the repository root) with this text.
    pub(crate) fn new(path: &str, text: String) -> Self {
        let (package, inner) = match path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) {
            Some((package, inner)) => (package, inner),
            None => ("callwright", path.trim_start_matches("src/")),
        };
        let scan = paths::scan(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path: path.to_owned(), package: package.to_owned(), module: module_of(inner), text, scan }
    }

    /// Returns `FILE:LINE`, a format that editors recognise.
    pub(crate) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }

    /// Returns the first module below the crate root, or an empty string for the root.
    pub(crate) fn part(&self) -> &str {
        self.module.first().map_or("", String::as_str)
    }
}

/// Returns all source files except test-only ones.
pub(crate) fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(read_sources);
    &SOURCES
}

fn read_sources() -> Vec<Source> {
    let mut paths = Vec::new();
    collect(&root().join("src"), &mut paths);
    for package in packages() {
        collect(&root().join("crates").join(package).join("src"), &mut paths);
    }
    let all: BTreeMap<String, Source> =
        paths.into_iter().map(|path| (path.clone(), Source::new(&path, root_file(&path)))).collect();
    let tests: BTreeSet<String> = all.values().flat_map(test_files).collect();
    all.into_values().filter(|source| !tests.iter().any(|test| is_below(&source.path, test))).collect()
}

/// Returns the crates below `crates/`.
pub(crate) fn packages() -> BTreeSet<String> {
    let entries = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// Returns the text of a file of the repository.
pub(crate) fn root_file(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the paths of the files in a folder of the repository, and in its subfolders if `is_deep`.
pub(crate) fn files_below(folder: &str, is_deep: bool) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = Path::new(folder).join(entry.file_name()).to_str().unwrap().trim_start_matches("./").to_owned();
        match entry.file_type().unwrap() {
            kind if kind.is_file() => found.push(path),
            kind if kind.is_dir() && is_deep => found.extend(files_below(&path, true)),
            _ => {}
        }
    }
    found.sort();
    found
}

/// Whether the repository has this file.
pub(crate) fn exists(path: &str) -> bool {
    root().join(path).exists()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn collect(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative: Vec<_> =
                path.strip_prefix(root()).unwrap().iter().map(|part| part.to_str().unwrap().to_owned()).collect();
            found.push(relative.join("/"));
        }
    }
}

/// Maps `a/b.rs` and `a/b/mod.rs` below a crate's `src/` to `crate::a::b`.
fn module_of(inner: &str) -> Vec<String> {
    let inner = inner.trim_end_matches(".rs");
    let mut module: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| last == "mod" || (module.len() == 1 && (last == "lib" || last == "main"))) {
        module.pop();
    }
    module
}

/// Returns the files that `#[cfg(test)] mod NAME;` in `source` declares, without `.rs`, so that folders match as well.
fn test_files(source: &Source) -> Vec<String> {
    let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let own = source.path.trim_end_matches(".rs");
    let children = match own.rsplit_once('/').map_or(own, |(_, name)| name) {
        "mod" | "lib" | "main" => folder,
        _ => own,
    };
    let declared = source.scan.test_modules.iter();
    declared
        .map(|module| match &module.file {
            Some(file) => format!("{folder}/{}", file.trim_end_matches(".rs")),
            None => format!("{children}/{}", module.name),
        })
        .collect()
}

/// Whether `path` is the module `test` or a file in its folder.
fn is_below(path: &str, test: &str) -> bool {
    path.strip_prefix(test).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}
