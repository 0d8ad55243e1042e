//! Architecture rules that the compiler does not check, verified on the source text.
//!
//! The compiler enforces the borders between crates. Inside crates with several parts, [`PARTS`] defines which part may
//! import which, [`LIBRARIES`] which part may use which library, and [`CYCLES`] the size of module cycles. Each test
//! lists every violation as `FILE:LINE: what`. Samples test the checker itself, so that a checker without results is
//! noticed.
//!
//! Code under `#[cfg(test)]` (items, inline modules and the files that such a `mod` declares) is exempt. It still
//! counts as code of its crate for the size rule.

mod cycles;
mod paths;
mod samples;
mod size;
pub(crate) mod sources;

use std::collections::BTreeSet;

use cycles::ModuleGraph;
use paths::{Scan, Used};
use sources::{Source, exists, packages, root_file, sources};

/// Parts (top-level modules) of a crate, from the lowest to the highest, with the parts that each of them may import.
type Parts = &'static [(&'static str, &'static [&'static str])];

/// Crates with parts.
const PARTS: &[(&str, Parts)] = &[
    ("callwright-judge", &[("repair", &[]), ("feedback", &[])]),
    ("callwright-search", &[("embedding", &[]), ("retrieval", &["embedding"])]),
    (
        "callwright-memory",
        &[
            ("memory", &[]),
            ("experience", &["memory"]),
            ("procedures", &["memory"]),
            ("representation", &[]),
            ("learning", &["experience", "memory", "procedures"]),
        ],
    ),
    (
        "callwright",
        &[
            ("keys", &[]),
            ("webhook", &[]),
            ("pipeline", &["keys", "webhook"]),
            ("http", &["keys", "pipeline"]),
            ("config", &["http", "keys", "pipeline", "webhook"]),
            // Composition root.
            ("app", &["config", "http", "keys", "pipeline", "webhook"]),
            ("cli", &["app", "config", "keys"]),
        ],
    ),
];

/// Libraries that only some parts of a crate may use.
const LIBRARIES: &[(&str, &str, &[&str])] = &[
    ("callwright", "axum", &["http"]),
    ("callwright", "callwright_lab", &["cli", "http"]),
    ("callwright", "clap", &["cli"]),
    ("callwright", "reqwest", &["cli", "webhook"]),
    ("callwright", "ring", &["keys", "webhook"]),
    ("callwright", "subtle", &["keys"]),
    ("callwright", "tokio_rustls", &["http"]),
    ("callwright", "toml", &["config"]),
    ("callwright", "x509_cert", &["http"]),
    ("callwright-common", "html5gum", &["html"]),
    ("callwright-judge", "minijinja", &["feedback"]),
    ("callwright-explain", "csv", &["documents"]),
    ("callwright-explain", "pulldown_cmark", &["documents"]),
    ("callwright-memory", "pulldown_cmark", &["procedures"]),
    ("callwright-search", "fastembed", &["embedding"]),
    ("callwright-search", "ort", &["embedding"]),
    ("callwright-search", "pulp", &["embedding"]),
    ("callwright-search", "reqwest", &["embedding"]),
];

/// Maximum size of a module cycle per crate; two for crates without an entry.
const CYCLES: &[(&str, usize)] = &[];

/// Names of the wire format, which only its owner and the scripted model at the other end may spell out.
const WIRE_NAMES: &[&str] = &["\"choices\"", "\"tool_calls\"", "\"tool_call_id\"", "\"finish_reason\"", "\"delta\""];
const WIRE_PACKAGES: &[&str] = &["callwright-wire", "callwright-demo"];
/// Model text that imitates the wire format and is not a message of it.
const WIRE_IMITATIONS: &[&str] = &[
    "crates/callwright-judge/src/repair/rescue/",
    "crates/callwright-judge/src/repair/wrapper.rs",
    "crates/callwright-scanner/src/swallowed/marks.rs",
];

/// Code that prints for people: a crate and its part.
const PRINTING_PARTS: &[(&str, &str)] = &[("callwright", "cli"), ("callwright-demo", "")];
const PRINTING_MACROS: &[&str] = &["print", "println", "eprint", "eprintln"];

/// Names that do not describe the contents of a module.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "manager", "misc"];

/// Items that configuration imports from other modules besides their settings.
const CONFIGURATION_ITEMS: &[&str] = &["Secret"];

/// Maximum number of lines of a small file; nine in ten files are small.
const SMALL_FILE_LINES: usize = 400;

#[test]
fn every_import_of_a_part_is_allowed_by_the_table() {
    assert_none(sources().iter().flat_map(import_breaks).collect(), "imports that the table PARTS does not allow");
}

#[test]
fn the_table_names_every_part_once_and_imports_point_downwards() {
    for (package, parts) in PARTS {
        let named: Vec<&str> = parts.iter().map(|(part, _)| *part).collect();
        let distinct: BTreeSet<&str> = named.iter().copied().collect();
        assert_eq!(distinct.len(), named.len(), "{package}: a part is named twice");
        let found = sources().iter().filter(|source| source.package == *package);
        let found: BTreeSet<&str> = found.map(Source::part).filter(|part| !part.is_empty()).collect();
        assert_eq!(distinct, found, "{package}: the table and the folder differ");
        for (position, (part, imports)) in parts.iter().enumerate() {
            for import in *imports {
                let lower = named.iter().position(|name| name == import);
                assert!(
                    lower.is_some_and(|lower| lower < position),
                    "`{part}` imports `{import}`, which is not below it"
                );
            }
        }
    }
}

#[test]
fn libraries_stay_in_their_parts() {
    let mut found = Vec::new();
    for source in sources() {
        for (package, library, parts) in LIBRARIES {
            if source.package != *package || parts.contains(&source.part()) {
                continue;
            }
            let uses = source.scan.paths.iter().filter(|used| used.external() == Some(library));
            found.extend(uses.map(|used| format!("{}: `{library}` belongs to {parts:?}", source.at(used.line))));
        }
    }
    assert_none(found, "libraries outside their parts");
}

#[test]
fn modules_do_not_need_one_another_in_a_circle() {
    let mut found = Vec::new();
    for package in packages().into_iter().chain(["callwright".to_owned()]) {
        let most = CYCLES.iter().find(|(name, _)| *name == package).map_or(2, |(_, most)| *most);
        let graph = ModuleGraph::of_package(sources().iter().filter(|source| source.package == package));
        let cycles = graph.cycles();
        let largest = cycles.iter().map(Vec::len).max().unwrap_or(0);
        let large = cycles.into_iter().filter(|cycle| cycle.len() > most);
        found.extend(large.map(|cycle| format!("{package}: {} modules: {}", cycle.len(), cycle.join(", "))));
        // A ceiling above the largest cycle would allow it to grow again.
        if most > 2 && largest < most {
            found.push(format!("{package}: the largest cycle has {largest} modules; lower the ceiling of {most}"));
        }
    }
    assert_none(found, "modules that need one another");
}

#[test]
fn only_config_reads_the_environment() {
    let reads = |used: &&Used| used.starts_with(&["std", "env"]) && !used.starts_with(&["std", "env", "args_os"]);
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| source.package != "callwright" || source.part() != "config") {
        found.extend(source.scan.paths.iter().filter(reads).map(|used| format!("{}: std::env", source.at(used.line))));
    }
    assert_none(found, "environment read outside `config`");
}

#[test]
fn only_the_wire_crate_spells_the_wire_format() {
    let mut found = Vec::new();
    let imitates = |source: &Source| WIRE_IMITATIONS.iter().any(|folder| source.path.starts_with(folder));
    for source in
        sources().iter().filter(|source| !WIRE_PACKAGES.contains(&source.package.as_str()) && !imitates(source))
    {
        let spelled = source.scan.literals.iter().filter(|literal| WIRE_NAMES.contains(&literal.text.as_str()));
        found.extend(spelled.map(|literal| format!("{}: {}", source.at(literal.line), literal.text)));
    }
    assert_none(found, "names of the wire format outside `callwright-wire`");
}

#[test]
fn only_cli_and_demo_print() {
    let mut found = Vec::new();
    let prints = |source: &Source| {
        PRINTING_PARTS
            .iter()
            .any(|(package, part)| source.package == *package && (part.is_empty() || source.part() == *part))
    };
    for source in sources().iter().filter(|source| !prints(source)) {
        let printing = source.scan.macros.iter().filter(|name| PRINTING_MACROS.contains(&name.text.as_str()));
        found.extend(printing.map(|name| format!("{}: {}!", source.at(name.line), name.text)));
    }
    assert_none(found, "printing outside `cli` and `demo`");
}

#[test]
fn config_nests_settings_and_nothing_else() {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| source.package == "callwright" && source.part() == "config") {
        let foreign = source.scan.paths.iter().filter(|used| used.is_foreign_item_besides(CONFIGURATION_ITEMS));
        found.extend(foreign.map(|used| format!("{}: {used}", source.at(used.line))));
    }
    assert_none(found, "`config` uses more of another module than its settings");
}

#[test]
fn names_say_what_is_inside() {
    let is_empty_name = |source: &&Source| source.module.iter().any(|name| EMPTY_NAMES.contains(&name.as_str()));
    let found = sources().iter().filter(is_empty_name).map(|source| source.path.clone()).collect();
    assert_none(found, "rooms or files whose name says nothing");
}

#[test]
fn every_crate_and_part_says_what_it_owns_and_must_not_know() {
    let mut found = Vec::new();
    let of_package = |package: &String| format!("crates/{package}/src/lib.rs");
    let with_parts: BTreeSet<&str> = PARTS.iter().map(|(package, _)| *package).collect();
    let mut heads: Vec<String> =
        packages().iter().filter(|name| !with_parts.contains(name.as_str())).map(of_package).collect();
    for (package, parts) in PARTS {
        let folder = if *package == "callwright" { "src".to_owned() } else { format!("crates/{package}/src") };
        for (part, _) in *parts {
            let file = format!("{folder}/{part}.rs");
            heads.push(if exists(&file) { file } else { format!("{folder}/{part}/mod.rs") });
        }
    }
    for path in heads {
        let head = module_head(&root_file(&path));
        for word in ["owns", "must not"] {
            if !head.contains(word) {
                found.push(format!("{path}: the `//!` text at its beginning has no \"{word}\""));
            }
        }
    }
    assert_none(found, "crates and parts that do not introduce themselves");
}

#[test]
fn every_file_says_what_it_is() {
    let silent = sources().iter().filter(|source| !source.text.starts_with("//! "));
    assert_none(silent.map(|source| source.path.clone()).collect(), "files that do not begin with `//!`");
}

#[test]
fn nine_in_ten_files_are_small() {
    let sources = sources();
    let large: Vec<String> = sources
        .iter()
        .filter(|source| source.text.lines().count() >= SMALL_FILE_LINES)
        .map(|source| format!("{}: {} lines", source.path, source.text.lines().count()))
        .collect();
    assert!(
        large.len() * 10 <= sources.len(),
        "{} of {} files are large:\n{}",
        large.len(),
        sources.len(),
        large.join("\n")
    );
}

#[test]
fn the_architecture_document_names_every_crate_and_part() {
    let document = root_file("ARCHITECTURE.md");
    let parts = PARTS.iter().flat_map(|(_, parts)| parts.iter().map(|(part, _)| (*part).to_owned()));
    let absent = packages().into_iter().chain(parts).filter(|name| !document.contains(&format!("`{name}`")));
    assert_none(absent.collect(), "crates and parts that ARCHITECTURE.md does not name");
}

#[test]
fn the_tests_that_documents_name_exist() {
    let mut absent = Vec::new();
    for document in ["ARCHITECTURE.md", "docs/internals/invariants.md", "docs/security.md"] {
        let text = root_file(document);
        let named = text.split('`').skip(1).step_by(2);
        let named =
            named.filter(|name| name.starts_with("tests/") || name.starts_with("src/") || name.starts_with("crates/"));
        for name in named {
            let (file, test) = name.split_once("::").unwrap_or((name, ""));
            if !exists(file) {
                absent.push(format!("{document}: {name}"));
            } else if !test.is_empty() && !root_file(file).contains(&format!("fn {test}(")) {
                absent.push(format!("{document}: {file} has no test {test}"));
            }
        }
    }
    assert_none(absent, "tests that documents name and that are not there");
}

/// Returns the forbidden imports of one file.
fn import_breaks(source: &Source) -> Vec<String> {
    let Some((_, parts)) = PARTS.iter().find(|(package, _)| *package == source.package) else { return Vec::new() };
    let Some((_, allowed)) = parts.iter().find(|(part, _)| *part == source.part()) else { return Vec::new() };
    let mut found = Vec::new();
    for used in &source.scan.paths {
        let Some(target) = used.part(&source.module) else { continue };
        if !parts.iter().any(|(part, _)| *part == target) {
            found.push(format!("{}: `{used}` hides the part that it names", source.at(used.line)));
        } else if target != source.part() && !allowed.contains(&target.as_str()) {
            found.push(format!("{}: `{}` may not import `{target}` ({used})", source.at(used.line), source.part()));
        }
    }
    found
}

/// Returns the `//!` text at the beginning of a file, in lower case and on one line.
fn module_head(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ").to_lowercase()
}

#[track_caller]
fn assert_none(found: Vec<String>, what: &str) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}
