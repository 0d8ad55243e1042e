//! Samples for the checker: code that it must report, and code that it must accept.

use super::cycles::ModuleGraph;
use super::import_breaks;
use super::sources::{Source, sources};

const EMBEDDING: &str = "crates/callwright-search/src/embedding/table/sample.rs";

fn breaks(path: &str, text: &str) -> Vec<String> {
    import_breaks(&Source::new(path, text.to_owned()))
}

#[track_caller]
fn assert_found(path: &str, text: &str, line: usize, what: &str) {
    let found = breaks(path, text);
    let expected = format!("{path}:{line}: {what}");
    assert!(found.len() == 1 && found[0].starts_with(&expected), "{text}\nexpected {expected}\nfound {found:?}");
}

#[track_caller]
fn assert_allowed(path: &str, text: &str) {
    let found = breaks(path, text);
    assert!(found.is_empty(), "{text}\nfound {found:?}");
}

#[test]
fn an_import_against_the_table_is_found_in_every_notation() {
    for text in [
        "use crate::retrieval::Spoken;",
        "use crate::retrieval;",
        "use crate::{retrieval::ToolSummary, retrieval::Spoken};",
        "use crate::{embedding, retrieval};",
        "use super::super::super::retrieval::Spoken;",
        "pub(crate) fn f() { crate::retrieval::judge() }",
        "fn f() { vec![crate::retrieval::judge()] }",
        "fn f(x: &dyn crate::retrieval::Judge) {}",
        "fn f() -> Vec<crate::retrieval::Spoken> {}",
        "mod inner { use super::super::super::super::retrieval::Spoken; }",
        "macro_rules! m { () => { $crate::retrieval::judge() } }",
        "#[derive(crate::retrieval::Row)] struct S;",
        "use crate::r#retrieval::Spoken;",
        "#[cfg(not(test))] use crate::retrieval::Spoken;",
    ] {
        let found = breaks(EMBEDDING, text);
        let at = format!("{EMBEDDING}:1: `embedding` may not import ");
        assert!(!found.is_empty() && found.iter().all(|found| found.starts_with(&at)), "{text}\nfound {found:?}");
    }
}

#[test]
fn the_line_and_both_parts_are_named() {
    let text = "//! Doc.\n\nuse callwright_types::Call;\nuse crate::{\n    keys::KeyMode,\n    http::Settings,\n};\n";
    assert_found("src/pipeline/sample.rs", text, 6, "`pipeline` may not import `http`");
}

#[test]
fn allowed_imports_and_own_modules_are_no_break() {
    assert_allowed(EMBEDDING, "use callwright_types::{Call, Tool};\nuse super::{rules, table::Table};");
    assert_allowed(
        "crates/callwright-search/src/embedding/mod.rs",
        "mod faults; use self::faults::x; use crate::embedding::faults::y;",
    );
    assert_allowed(
        "crates/callwright-search/src/retrieval/mod.rs",
        "use super::embedding::Toolset; use crate::embedding::Call;",
    );
    assert_allowed(
        "crates/callwright-executor/src/sample.rs",
        "use crate::request::Request; use callwright_store::Store;",
    );
}

#[test]
fn libraries_and_visibility_are_no_imports_of_parts() {
    // The library `http` has the same name as a part.
    assert_allowed("src/pipeline/sample.rs", "use http::HeaderMap; fn f(h: ::http::Method) {}");
    assert_allowed("src/keys/sample.rs", "pub(crate) struct S { pub(super) a: u8, pub(in crate::keys) b: u8 }");
}

#[test]
fn comments_and_strings_are_no_code() {
    assert_allowed(
        EMBEDDING,
        "//! [`crate::retrieval::Spoken`]\n/// See [`crate::retrieval`].\nfn f() { /* crate::retrieval::x */ g(\"crate::retrieval::x\", r#\"crate::retrieval\"#) }",
    );
}

#[test]
fn test_code_is_free() {
    assert_allowed(
        EMBEDDING,
        "#[cfg(test)]\nmod tests { use crate::retrieval::Spoken; }\n#[cfg(test)] use crate::retrieval::Spoken;\n\
         #[cfg(test)]\n#[allow(dead_code)]\nfn f() -> crate::retrieval::Spoken { todo() }",
    );
    assert_found(
        EMBEDDING,
        "#[cfg(test)]\nmod tests { use crate::retrieval::Spoken; }\nuse crate::retrieval::Spoken;",
        3,
        "`embedding` may not import `retrieval`",
    );
}

#[test]
fn files_of_test_modules_are_known() {
    let source = Source::new("src/config/load.rs", "#[cfg(test)]\n#[path = \"load_tests.rs\"]\nmod tests;".to_owned());
    let module = &source.scan.test_modules[0];
    assert_eq!((module.name.as_str(), module.file.as_deref()), ("tests", Some("load_tests.rs")));
    assert!(sources().iter().any(|source| source.path == "src/config/load.rs"));
    assert!(!sources().iter().any(|source| source.path == "src/config/load_tests.rs"));
}

#[test]
fn imports_that_hide_their_part_are_found() {
    assert_found("src/pipeline/sample.rs", "use crate::*;", 1, "`crate::*` hides");
    assert_found("src/pipeline/mod.rs", "use super::*;", 1, "`super::*` hides");
    assert_found("src/pipeline/sample.rs", "use crate::{self as root};", 1, "`crate::self` hides");
}

#[test]
fn macros_literals_and_library_paths_are_seen() {
    let text = "fn f() { anstream::println!(\"choices\"); let _ = std::env::var(\"x\"); use std::{env, fs}; }";
    let scan = Source::new("src/http/sample.rs", text.to_owned()).scan;
    assert_eq!(scan.macros.iter().map(|word| word.text.as_str()).collect::<Vec<_>>(), ["println"]);
    assert_eq!(scan.literals.iter().map(|word| word.text.as_str()).collect::<Vec<_>>(), ["\"choices\"", "\"x\""]);
    assert_eq!(scan.paths.iter().filter(|used| used.starts_with(&["std", "env"])).count(), 2);
    assert!(scan.paths.iter().any(|used| used.external() == Some("anstream")));
}

fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, (*text).to_owned())).collect();
    ModuleGraph::of_package(sources.iter()).cycles()
}

#[test]
fn a_cycle_is_found_through_other_modules_and_re_exports() {
    let files = [
        ("src/a/mod.rs", "mod one; mod two; mod three; pub use two::Two;"),
        ("src/a/one.rs", "use super::Two;"),
        ("src/a/two.rs", "use super::three::Three;"),
        ("src/a/three.rs", "fn f() { super::one::f() }"),
    ];
    assert_eq!(cycles(&files), [["a::one", "a::three", "a::two"]], "the module that only re-exports is no part of it");
}

#[test]
fn modules_that_use_one_another_in_one_direction_are_no_cycle() {
    let files = [
        ("src/a/mod.rs", "mod one; mod two; pub use one::{One, Other as Renamed}; fn f() { one::f() }"),
        ("src/a/one.rs", "pub struct One;"),
        ("src/a/two.rs", "use super::{One, Renamed};\n#[cfg(test)] mod tests { use super::super::f; }"),
    ];
    assert!(cycles(&files).is_empty(), "{:?}", cycles(&files));
    let two_ways = [("src/a.rs", "use crate::b::B;"), ("src/b.rs", "use crate::a::A;")];
    assert_eq!(cycles(&two_ways), [["a", "b"]]);
}
