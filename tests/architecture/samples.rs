//! The checker on samples: what it must find, and what it must not.

use super::sources::Source;
use super::{import_breaks, rooms};

fn breaks(path: &str, text: &str) -> Vec<String> {
    import_breaks(&Source::new(path, text.to_owned()), &rooms())
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
fn an_import_against_the_table_is_found_in_every_way_to_write_it() {
    let what = "`scanner` may not import `store`";
    for text in [
        "use crate::store::Store;",
        "use crate::store;",
        "use crate::{domain::Call, store::Store};",
        "use crate::{domain, store};",
        "use crate::{domain::{Call, Tool}, store::{self, Store}};",
        "use super::super::super::store::Store;",
        "pub(crate) use crate::store::*;",
        "fn f() { crate::store::open() }",
        "fn f() { vec![crate::store::open()] }",
        "fn f(x: &dyn crate::store::Traces) {}",
        "fn f() -> Vec<crate::store::Store> {}",
        "mod inner { use super::super::super::super::store::Store; }",
        "macro_rules! m { () => { $crate::store::open() } }",
        "#[derive(crate::store::Row)] struct S;",
        "use crate::r#store::Store;",
        "#[cfg(not(test))] use crate::store::Store;",
    ] {
        let found = breaks("src/scanner/faults/sample.rs", text);
        let at = format!("src/scanner/faults/sample.rs:1: {what}");
        assert!(!found.is_empty() && found.iter().all(|found| found.starts_with(&at)), "{text}\nfound {found:?}");
    }
}

#[test]
fn the_line_and_both_rooms_are_named() {
    let text = "//! Doc.\n\nuse crate::domain::Call;\nuse crate::{\n    domain::Tool,\n    http::Settings,\n};\n";
    assert_found("src/policy/sample.rs", text, 6, "`policy` may not import `http`");
}

#[test]
fn allowed_imports_and_own_modules_are_no_break() {
    assert_allowed(
        "src/scanner/faults/sample.rs",
        "use crate::domain::{Call, Tool};\nuse super::{rules, table::Table};",
    );
    assert_allowed("src/scanner/mod.rs", "mod faults; use self::faults::x; use crate::scanner::faults::y;");
    assert_allowed("src/executor/mod.rs", "use super::catalog::Operation; use crate::scanner::CheckedCall;");
    assert_allowed("src/scanner/sample.rs", "mod inner { use super::super::rules; use super::Table; }");
}

#[test]
fn libraries_and_visibility_are_no_imports_of_rooms() {
    // The library `http` has the name of a room.
    assert_allowed("src/policy/sample.rs", "use http::HeaderMap; fn f(h: ::http::Method) {}");
    assert_allowed("src/policy/sample.rs", "pub(crate) struct S { pub(super) a: u8, pub(in crate::policy) b: u8 }");
}

#[test]
fn comments_and_strings_are_no_code() {
    assert_allowed(
        "src/scanner/sample.rs",
        "//! [`crate::store::Store`]\n/// See [`crate::store`].\nfn f() { /* crate::store::x */ g(\"crate::store::x\", r#\"crate::store\"#) }",
    );
}

#[test]
fn test_code_is_free() {
    assert_allowed(
        "src/scanner/sample.rs",
        "#[cfg(test)]\nmod tests { use crate::store::Store; }\n#[cfg(test)] use crate::store::Store;\n\
         #[cfg(test)]\n#[allow(dead_code)]\nfn f() -> crate::store::Store { todo() }",
    );
    assert_found(
        "src/scanner/sample.rs",
        "#[cfg(test)]\nmod tests { use crate::store::Store; }\nuse crate::store::Store;",
        3,
        "`scanner` may not import `store`",
    );
}

#[test]
fn files_of_test_modules_are_known() {
    let source = Source::new("src/config/load.rs", "#[cfg(test)]\n#[path = \"load_tests.rs\"]\nmod tests;".to_owned());
    let module = &source.scan.test_modules[0];
    assert_eq!((module.name.as_str(), module.file.as_deref()), ("tests", Some("load_tests.rs")));
    let found = super::sources::sources();
    assert!(found.iter().any(|source| source.path == "src/config/load.rs"));
    assert!(!found.iter().any(|source| source.path == "src/config/load_tests.rs"));
}

#[test]
fn imports_that_hide_their_room_are_found() {
    assert_found("src/pipeline/sample.rs", "use crate::*;", 1, "`crate::*` hides");
    assert_found("src/pipeline/mod.rs", "use super::*;", 1, "`super::*` hides");
    assert_found("src/pipeline/sample.rs", "use crate::{self as root};", 1, "`crate::self` hides");
}

#[test]
fn the_binary_sees_the_command_line_alone() {
    assert_found("src/main.rs", "fn main() { callwright::app::run() }", 1, "the binary imports `app`");
    assert_allowed("src/main.rs", "fn main() { callwright::cli::run(std::env::args_os()); }");
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
