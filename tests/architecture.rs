//! The rules that keep the rooms apart, read from the source text itself.
//!
//! [`IMPORTS`] is the table of who may import whom, [`LIBRARIES`] of which room may know which library. Each test lists every line that
//! breaks its rule as `FILE:LINE: what`. The checker is tested on samples at the end, so that a silent checker is noticed.
//!
//! Code under `#[cfg(test)]` (items, inline modules and the files that such a `mod` declares) is free of all of it: a unit test may set its
//! room up with its real neighbours and read the folder that it runs in. It is still code of its room, so the size rule counts it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "architecture/paths.rs"]
mod paths;
#[path = "architecture/samples.rs"]
mod samples;
#[path = "architecture/sources.rs"]
mod sources;

use std::collections::BTreeSet;

use paths::{Scan, Used};
use sources::{Source, exists, rooms, root_file, sources};

/// Who may import whom: a room, and the rooms that it may import besides itself. Written from the lowest level to the highest.
const IMPORTS: &[(&str, &[&str])] = &[
    // Shared nouns.
    ("domain", &[]),
    // Caches bounded in bytes.
    ("cache", &[]),
    // What everything stands on.
    ("openai", &["domain"]),
    ("telemetry", &["domain"]),
    ("store", &["domain"]),
    ("embedding", &["domain", "openai", "store"]),
    ("upstream", &["domain", "openai"]),
    ("watch", &["domain"]),
    // The working rooms; among them an import points one way.
    ("policy", &["domain", "watch"]),
    ("catalog", &["domain"]),
    ("retrieval", &["cache", "domain", "embedding"]),
    ("representation", &["domain", "embedding", "openai", "retrieval", "upstream", "watch"]),
    ("scanner", &["cache", "domain"]),
    ("repair", &["domain", "scanner", "watch"]),
    ("feedback", &["domain", "scanner", "watch"]),
    ("explain", &["domain", "embedding", "retrieval"]),
    ("executor", &["domain", "catalog", "scanner", "store"]),
    ("keys", &["domain", "store"]),
    // A value of a plan is mended as it would be in a call.
    ("planner", &["domain", "openai", "upstream", "catalog", "embedding", "repair", "retrieval", "scanner", "watch"]),
    ("experience", &["domain", "embedding", "openai", "retrieval", "upstream"]),
    ("procedures", &["domain", "embedding", "openai", "retrieval", "upstream"]),
    // Traces → lessons and procedures, beside the turns.
    ("learning", &["domain", "embedding", "experience", "openai", "procedures", "store", "telemetry"]),
    // Work on files instead of requests.
    (
        "offline",
        &[
            "cache",
            "domain",
            "embedding",
            "experience",
            "explain",
            "openai",
            "planner",
            "policy",
            "repair",
            "representation",
            "retrieval",
            "scanner",
            "store",
            "upstream",
        ],
    ),
    // The way of a request.
    (
        "pipeline",
        &[
            "cache",
            "catalog",
            "domain",
            "embedding",
            "executor",
            "experience",
            "explain",
            "feedback",
            "keys",
            "openai",
            "planner",
            "policy",
            "procedures",
            "repair",
            "representation",
            "retrieval",
            "scanner",
            "store",
            "telemetry",
            "upstream",
        ],
    ),
    // `offline` counts what a mode would have done.
    ("http", &["domain", "keys", "offline", "openai", "pipeline", "store", "telemetry", "upstream"]),
    // Settings, and only settings, of every room: see `config_nests_settings_and_nothing_else`.
    (
        "config",
        &[
            "catalog",
            "domain",
            "embedding",
            "executor",
            "experience",
            "explain",
            "feedback",
            "http",
            "keys",
            "learning",
            "pipeline",
            "planner",
            "policy",
            "procedures",
            "repair",
            "representation",
            "scanner",
            "store",
            "telemetry",
            "upstream",
        ],
    ),
    // It talks HTTP like everyone else; `app` hands it a proxy to talk to.
    ("demo", &["domain"]),
    // The composition root.
    (
        "app",
        &[
            "catalog",
            "config",
            "demo",
            "domain",
            "embedding",
            "executor",
            "experience",
            "explain",
            "feedback",
            "http",
            "keys",
            "learning",
            "openai",
            "pipeline",
            "planner",
            "policy",
            "procedures",
            "repair",
            "representation",
            "retrieval",
            "scanner",
            "store",
            "telemetry",
            "upstream",
            "watch",
        ],
    ),
    // Verbs: what serves goes through `app`, what works offline uses the working rooms.
    (
        "cli",
        &[
            "app",
            "catalog",
            "config",
            "demo",
            "domain",
            "embedding",
            "experience",
            "feedback",
            "keys",
            "learning",
            "offline",
            "planner",
            "policy",
            "procedures",
            "repair",
            "representation",
            "store",
            "upstream",
        ],
    ),
];

/// Libraries that only some rooms may know.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("axum", &["http"]),
    ("sqlx", &["store"]),
    ("ring", &["keys", "store"]),
    ("subtle", &["keys"]),
    ("prometheus", &["telemetry"]),
    ("hyper_rustls", &["cli", "upstream"]),
    ("tokio_rustls", &["http"]),
    ("x509_cert", &["http"]),
    ("opentelemetry_proto", &["telemetry"]),
    ("prost", &["telemetry"]),
    ("reqwest", &["executor", "embedding", "telemetry"]),
    ("fastembed", &["embedding"]),
    ("pulp", &["embedding"]),
    ("ort", &["embedding"]),
    ("jsonschema", &["scanner"]),
    ("moka", &["cache"]),
    ("notify", &["watch"]),
    ("minijinja", &["feedback"]),
    // `repair` reads the tables of notations.
    ("toml", &["config", "repair"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("indicatif", &["cli"]),
    ("flate2", &["offline", "upstream"]),
    ("pulldown_cmark", &["explain"]),
    ("html5gum", &["explain"]),
    ("csv", &["explain"]),
];

/// Names of the wire format that nobody but its owner spells, and the scripted model, which is on the other end of the wire.
const WIRE_NAMES: &[&str] = &["\"choices\"", "\"tool_calls\"", "\"tool_call_id\"", "\"finish_reason\"", "\"delta\""];
const WIRE_ROOMS: &[&str] = &["openai", "demo"];
/// What models write into their text imitates the wire format, and is no message of it.
const WIRE_IMITATIONS: &[&str] = &["src/repair/rescue/", "src/repair/wrapper.rs"];

/// Rooms that print for a person.
const PRINTING_ROOMS: &[&str] = &["cli", "demo"];
const PRINTING_MACROS: &[&str] = &["print", "println", "eprint", "eprintln"];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "types", "helper", "helpers", "manager", "misc"];

/// A file is small below this many lines, and nine in ten files are small.
const SMALL_FILE_LINES: usize = 400;

#[test]
fn every_import_is_allowed_by_the_table() {
    let rooms = rooms();
    let found = sources().iter().flat_map(|source| import_breaks(source, &rooms)).collect();
    assert_none(found, "imports that the table IMPORTS does not allow");
}

#[test]
fn the_table_names_every_room_once_and_imports_point_downwards() {
    let named: Vec<&str> = IMPORTS.iter().map(|(room, _)| *room).collect();
    let distinct: BTreeSet<String> = named.iter().map(|room| (*room).to_owned()).collect();
    assert_eq!(distinct.len(), named.len(), "a room stands twice in IMPORTS");
    assert_eq!(distinct, rooms(), "IMPORTS and the folders of src/ differ");
    for (position, (room, imports)) in IMPORTS.iter().enumerate() {
        for import in *imports {
            let lower = named.iter().position(|name| name == import);
            assert!(lower.is_some_and(|lower| lower < position), "`{room}` imports `{import}`, which is not below it");
        }
    }
}

#[test]
fn libraries_stay_in_their_rooms() {
    let mut found = Vec::new();
    for source in sources() {
        for (library, owners) in LIBRARIES {
            if owners.contains(&source.room.as_str()) {
                continue;
            }
            let uses = source.scan.paths.iter().filter(|used| used.external() == Some(library));
            found.extend(uses.map(|used| format!("{}: `{library}` belongs to {owners:?}", source.at(used.line))));
        }
    }
    assert_none(found, "libraries outside their rooms");
}

#[test]
fn only_config_reads_the_environment() {
    let reads = |used: &&Used| used.starts_with(&["std", "env"]) && !used.starts_with(&["std", "env", "args_os"]);
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| source.room != "config") {
        found.extend(source.scan.paths.iter().filter(reads).map(|used| format!("{}: std::env", source.at(used.line))));
    }
    assert_none(found, "environment read outside `config`");
}

#[test]
fn only_openai_spells_the_wire_format() {
    let mut found = Vec::new();
    let imitates = |source: &Source| WIRE_IMITATIONS.iter().any(|folder| source.path.starts_with(folder));
    for source in sources().iter().filter(|source| !WIRE_ROOMS.contains(&source.room.as_str()) && !imitates(source)) {
        let spelled = source.scan.literals.iter().filter(|literal| WIRE_NAMES.contains(&literal.text.as_str()));
        found.extend(spelled.map(|literal| format!("{}: {}", source.at(literal.line), literal.text)));
    }
    assert_none(found, "names of the wire format outside `openai`");
}

#[test]
fn only_cli_and_demo_print() {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !PRINTING_ROOMS.contains(&source.room.as_str())) {
        let printing = source.scan.macros.iter().filter(|name| PRINTING_MACROS.contains(&name.text.as_str()));
        found.extend(printing.map(|name| format!("{}: {}!", source.at(name.line), name.text)));
    }
    assert_none(found, "printing outside `cli` and `demo`");
}

#[test]
fn config_nests_settings_and_nothing_else() {
    let rooms = rooms();
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| source.room == "config") {
        let foreign = source.scan.paths.iter().filter(|used| {
            let item = used.item_of_room(&rooms, &["config", "domain"]);
            item.is_some_and(|item| !item.ends_with("Settings"))
        });
        found.extend(foreign.map(|used| format!("{}: {used}", source.at(used.line))));
    }
    assert_none(found, "`config` uses more of a room than its settings");
}

#[test]
fn names_say_what_is_inside() {
    let is_empty_name = |source: &&Source| source.module.iter().any(|name| EMPTY_NAMES.contains(&name.as_str()));
    let found = sources().iter().filter(is_empty_name).map(|source| source.path.clone()).collect();
    assert_none(found, "rooms or files whose name says nothing");
}

#[test]
fn every_room_says_what_it_owns_and_must_not_know() {
    let mut found = Vec::new();
    for room in rooms() {
        let path = format!("src/{room}/mod.rs");
        let head = module_head(&root_file(&path));
        for word in ["owns", "must not"] {
            if !head.contains(word) {
                found.push(format!("{path}: the `//!` text at its beginning has no \"{word}\""));
            }
        }
    }
    assert_none(found, "rooms that do not introduce themselves");
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
fn the_architecture_document_names_every_room() {
    let document = root_file("ARCHITECTURE.md");
    let absent = rooms().into_iter().filter(|room| !document.contains(&format!("`{room}`")));
    assert_none(absent.collect(), "rooms that ARCHITECTURE.md does not name");
}

#[test]
fn the_tests_that_documents_name_exist() {
    let mut absent = Vec::new();
    for document in ["ARCHITECTURE.md", "docs/security.md"] {
        let text = root_file(document);
        let named = text.split('`').skip(1).step_by(2);
        let named = named.filter(|name| name.starts_with("tests/") || name.starts_with("src/"));
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

/// The imports of one file that the table does not allow.
fn import_breaks(source: &Source, rooms: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for used in &source.scan.paths {
        let Some(target) = used.room(&source.module, source.is_binary()) else { continue };
        if source.is_binary() {
            if target != "cli" {
                found
                    .push(format!("{}: the binary imports `{target}`; it may only import `cli`", source.at(used.line)));
            }
        } else if !rooms.contains(&target) {
            found.push(format!("{}: `{used}` hides the room that it names", source.at(used.line)));
        } else if target != source.room && !may_import(&source.room, &target) {
            found.push(format!("{}: `{}` may not import `{target}` ({used})", source.at(used.line), source.room));
        }
    }
    found
}

fn may_import(room: &str, target: &str) -> bool {
    IMPORTS.iter().any(|(name, imports)| *name == room && imports.contains(&target))
}

/// The `//!` text at the beginning of a file, in lower case and on one line.
fn module_head(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ").to_lowercase()
}

#[track_caller]
fn assert_none(found: Vec<String>, what: &str) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}
