//! The hostile suite: what a document, a model or an API could do to make the proxy send where it must not, send what it must not, give
//! away what it must not, or wait and read without an end. Every case is a test of its own; docs/hostile-suite.md has the themes.
//!
//! Most cases drive the executor alone, by the way that every call takes: document, scan, execution. What models read is tested through the
//! proxy itself. Loopback stands for what is private; it is allowed where the API of the test is there.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod addresses;
mod bodies;
mod credentials;
mod fields;
mod heads;
mod names;
mod paths;
mod redirects;
mod shop;
mod spellings;
mod tokens;
mod told;

/// The files with cases, and what they hold.
const FILES: [(&str, &str); 11] = [
    ("addresses.rs", include_str!("addresses.rs")),
    ("bodies.rs", include_str!("bodies.rs")),
    ("credentials.rs", include_str!("credentials.rs")),
    ("fields.rs", include_str!("fields.rs")),
    ("heads.rs", include_str!("heads.rs")),
    ("names.rs", include_str!("names.rs")),
    ("paths.rs", include_str!("paths.rs")),
    ("redirects.rs", include_str!("redirects.rs")),
    ("spellings.rs", include_str!("spellings.rs")),
    ("told.rs", include_str!("told.rs")),
    ("tokens.rs", include_str!("tokens.rs")),
];

#[test]
fn the_table_of_the_suite_counts_the_cases() {
    let table = include_str!("../../docs/hostile-suite.md");
    for (file, source) in FILES {
        let cases = source.matches("#[tokio::test]").count();
        assert!(table.contains(&format!("| `{file}` | {cases} |")), "docs/hostile-suite.md: {file} has {cases} cases");
    }
}
