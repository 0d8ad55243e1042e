//! Measures producer inference: `cargo bench --bench producers` prints a table with one row per number of operations.
//!
//! The operations come from the documents in `data/specs` of `CALLWRIGHT_SHARED_DATA` (default `../shared`), loaded
//! through the catalog, up to the requested number. The last row is the worst case for inference: one synthetic toolset
//! of the same size whose operations all have the same arguments and response fields. Without the data folder, only
//! this row is printed. Each row runs in its own process to measure its memory separately.
//!
//! With arguments, it measures a single row: `cargo bench --bench producers -- documents 10000`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the benchmark prints a table, and an error ends the benchmark"
)]

use callwright_allocator::Allocator;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callwright_knowledge::planner::producers::{
    Http, Producers, Request, Segment, ToolShape, output_fields, segment_of,
};
use callwright_openapi::{Catalog, Offline, Toolset, ToolsetSettings};
use serde_json::{Value, json};

/// Same allocator as the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const ROWS: [(&str, usize); 3] = [("documents", 1_000), ("documents", 10_000), ("alike", 10_000)];

/// Number of timed argument lookups, and of timed requests.
const LOOKUPS: usize = 20_000;
const REQUESTS: usize = 200;

/// Maximum number of candidates per argument.
const AT_MOST: usize = 5;

fn main() {
    // Cargo adds its own options.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if let [kind, operations] = arguments.as_slice() {
        return measure(kind, operations.parse().unwrap());
    }
    println!(
        "| operations | toolsets | arguments | build s | largest again ms | kept MB | peak MB | request p99 ms | argument p50 µs | p99 µs | max µs |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (kind, operations) in ROWS.iter().filter(|(kind, _)| *kind == "alike" || specs().is_some()) {
        let row = [(*kind).to_owned(), operations.to_string()];
        assert!(Command::new(std::env::current_exe().unwrap()).args(row).status().unwrap().success());
    }
}

fn measure(kind: &str, operations: usize) {
    let (names, build): (Vec<String>, Box<dyn Fn(usize) -> Segment>) = match kind {
        "alike" => alike(operations),
        _ => documented(operations),
    };
    let (before, start) = (memory("VmRSS:"), Instant::now());
    let toolsets = if kind == "alike" { 1 } else { names.len() };
    let segments: Vec<Arc<Segment>> = (0..toolsets).map(|at| Arc::new(build(at))).collect();
    let producers = Producers::new(segments.clone());
    let took = start.elapsed();
    let (kept, peak) = (memory("VmRSS:").saturating_sub(before), memory("VmHWM:").saturating_sub(before));

    let largest = (0..segments.len()).max_by_key(|at| segments[*at].len()).unwrap();
    let start = Instant::now();
    black_box(build(largest));
    let again = start.elapsed();

    let arguments: Vec<(usize, String)> = (0..producers.len())
        .flat_map(|tool| producers.arguments(tool).map(move |argument| (tool, argument.to_owned())).collect::<Vec<_>>())
        .collect();
    let mut random = fastrand::Rng::with_seed(7);
    let mut text = || {
        let things: Vec<&str> = (0..3).map(|_| names[random.usize(0..names.len())].as_str()).collect();
        format!("Find {}, then get the {} of that and finally update its {}.", things[0], things[1], things[2])
    };
    let requests: Vec<Request> = (0..REQUESTS).map(|_| Request::parse(&text())).collect();
    let asked_times = times(&requests, |request| producers.score(request, &[]));
    let asked: Vec<_> = requests.iter().map(|request| producers.score(request, &[])).collect();
    let lookups: Vec<(usize, usize)> =
        (0..LOOKUPS).map(|_| (random.usize(0..arguments.len()), random.usize(0..asked.len()))).collect();
    let lookup_times = times(&lookups, |(argument, request)| {
        let (tool, argument) = &arguments[*argument];
        producers.candidates(*tool, argument, &asked[*request], AT_MOST)
    });
    println!(
        "| {} {kind} | {toolsets} | {} | {:.2} | {:.0} | {:.0} | {:.0} | {:.2} | {:.0} | {:.0} | {:.0} |",
        producers.len(),
        arguments.len(),
        took.as_secs_f64(),
        1e3 * again.as_secs_f64(),
        kept as f64 / 1e6,
        peak as f64 / 1e6,
        1e3 * asked_times[REQUESTS * 99 / 100].as_secs_f64(),
        1e6 * lookup_times[LOOKUPS / 2].as_secs_f64(),
        1e6 * lookup_times[LOOKUPS * 99 / 100].as_secs_f64(),
        1e6 * lookup_times[LOOKUPS - 1].as_secs_f64(),
    );
}

/// Returns the duration of each call of `work`, in ascending order, after warming up with a tenth of the inputs.
fn times<I, T>(inputs: &[I], work: impl Fn(&I) -> T) -> Vec<Duration> {
    inputs.iter().take(inputs.len() / 10).for_each(|input| drop(black_box(work(input))));
    let time = |input| {
        let start = Instant::now();
        black_box(work(black_box(input)));
        start.elapsed()
    };
    let mut times: Vec<Duration> = inputs.iter().map(time).collect();
    times.sort();
    times
}

type Built = (Vec<String>, Box<dyn Fn(usize) -> Segment>);

/// Returns the toolsets of the documents, up to the number of operations, and the names of their first tools.
fn documented(operations: usize) -> Built {
    let settings = ToolsetSettings { document: specs().unwrap().display().to_string(), ..ToolsetSettings::default() };
    let catalog = Catalog::load(&[("specs".to_owned(), settings)].into(), Path::new("."), &Offline).unwrap().0;
    let (mut toolsets, mut left): (Vec<Toolset>, usize) = (Vec::new(), operations);
    for toolset in catalog.toolsets().filter(|toolset| !toolset.operations.is_empty()) {
        let mut toolset = Toolset::clone(toolset);
        toolset.operations.truncate(left);
        left -= toolset.operations.len();
        toolsets.push(toolset);
        if left == 0 {
            break;
        }
    }
    drop(catalog);
    let names = toolsets.iter().map(|toolset| toolset.operations[0].tool.name.replace('_', " ")).collect();
    (names, Box::new(move |at| segment_of(&toolsets[at])))
}

/// Returns one toolset in which every operation has the same arguments and response fields: hundreds of equal
/// candidates.
fn alike(operations: usize) -> Built {
    let names: Vec<String> = (0..operations).map(|at| format!("get_item_{at}")).collect();
    let fields: Value = (0..100).map(|at| (format!("item_{at}"), json!({"type": "string"}))).collect();
    let outputs = output_fields(&json!({"type": "object", "properties": fields}));
    let parameters = json!({"type": "object", "required": ["id"], "properties": {
        "id": {"type": "string"}, "item_id": {"type": "string"}, "item_7": {"type": "string"}, "name": {}}});
    let shapes_of = names.clone();
    let build = move |_| {
        let shape = |name| ToolShape {
            name,
            description: "Gets an item by its id.",
            parameters: &parameters,
            outputs: &outputs,
            http: Some(Http { method: "GET", path: "/items/{id}" }),
            links: &[],
        };
        Segment::build(&shapes_of.iter().map(|name| shape(name.as_str())).collect::<Vec<_>>())
    };
    (names, Box::new(build))
}

fn specs() -> Option<PathBuf> {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"));
    Some(shared.join("data/specs")).filter(|specs| specs.is_dir())
}

/// Returns a memory field of `/proc/self/status` in bytes; 0 on systems without that file.
fn memory(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|found| found.strip_prefix(line));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}
