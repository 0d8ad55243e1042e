//! The hostile suite: attempts of a document, a model or an API to make the proxy send requests to forbidden
//! destinations, send forbidden data, leak secrets, or wait and read without limit. Every case is a separate test;
//! docs/hostile-suite.md lists the topics.
//!
//! Most cases test the executor alone, with the steps of every call: document, scan, execution. Model input is tested
//! through the proxy. Loopback addresses represent private ones; they are allowed where the test's API uses them.

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

/// Files with cases, and their contents.
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
    let table = include_str!("../../../docs/hostile-suite.md");
    for (file, source) in FILES {
        let cases = source.matches("#[tokio::test]").count();
        assert!(table.contains(&format!("| `{file}` | {cases} |")), "docs/hostile-suite.md: {file} has {cases} cases");
    }
}
