//! Measures producer inference: `cargo bench --bench producers` prints a table with one row per number of operations.
//!
//! The operations come from the documents in `data/specs` of `CALLWRIGHT_SHARED_DATA` (default `../shared`), loaded
//! through the catalog, up to the requested number. `generated` has synthetic operations in four toolsets, in vendors'
//! style: four operations per path, schemas that refer to their neighbours, and descriptions that differ in a number.
//! `alike` is the worst case for inference: one synthetic toolset whose operations all have the same arguments and
//! response fields. Without the data folder, only synthetic rows are printed. Each row runs in its own process to
//! measure its memory separately.
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

use callwright_openapi::{Catalog, Offline, Toolset, ToolsetSettings};
use callwright_plan::producers::{Http, Producers, Request, Segment, ToolShape, output_fields, segment_of};
use callwright_search::embedding::{Embedder, Settings, Vector, built_in};
use callwright_types::OutputField;
use futures_util::FutureExt;
use serde_json::{Value, json};

/// Same allocator as the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const ROWS: [(&str, usize); 4] =
    [("documents", 1_000), ("documents", 10_000), ("alike", 10_000), ("generated", 100_000)];

/// Number of generated toolsets.
const GENERATED_TOOLSETS: usize = 4;

/// Number of texts that the built-in embedder embeds at once.
const EMBEDDED_AT_ONCE: usize = 16;

/// Number of offered tools per thing that a request names.
const OFFERED: usize = 6;

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
        "| operations | toolsets | arguments | build s | largest again ms | kept MB | peak MB | request p50 ms | p99 ms | with vectors p50 ms | p99 ms | argument p50 µs | p99 µs | max µs |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (kind, operations) in ROWS.iter().filter(|(kind, _)| *kind != "documents" || specs().is_some()) {
        let row = [(*kind).to_owned(), operations.to_string()];
        assert!(Command::new(std::env::current_exe().unwrap()).args(row).status().unwrap().success());
    }
}

fn measure(kind: &str, operations: usize) {
    let tools = match kind {
        "alike" => alike(operations),
        "generated" => generated(operations),
        _ => documented(operations),
    };
    let names = &tools.names;
    let (before, start) = (memory("VmRSS:"), Instant::now());
    let segments: Vec<Arc<Segment>> = (0..tools.toolsets).map(|at| Arc::new((tools.build)(at))).collect();
    let producers = Producers::new(segments.clone());
    let took = start.elapsed();
    let (kept, peak) = (memory("VmRSS:").saturating_sub(before), memory("VmHWM:").saturating_sub(before));

    let largest = (0..segments.len()).max_by_key(|at| segments[*at].len()).unwrap();
    let start = Instant::now();
    black_box((tools.build)(largest));
    let again = start.elapsed();

    let arguments: Vec<(usize, String)> = (0..producers.len())
        .flat_map(|tool| producers.arguments(tool).map(move |argument| (tool, argument.to_owned())).collect::<Vec<_>>())
        .collect();
    let mut random = fastrand::Rng::with_seed(7);
    let mut asked_for = || {
        let things: Vec<usize> = (0..3).map(|_| random.usize(0..names.len())).collect();
        let [first, second, third] = [0, 1, 2].map(|at| &names[things[at]].0);
        let text = format!("Find {first}, then get the {second} of that and finally update its {third}.");
        let offered = things.iter().flat_map(|thing| names[*thing].1..names[*thing].1 + OFFERED);
        (Request::parse(&text), offered.filter(|tool| *tool < producers.len()).collect::<Vec<_>>())
    };
    let requests: Vec<(Request, Vec<usize>)> = (0..REQUESTS).map(|_| asked_for()).collect();
    let asked_times = times(&requests, |(request, offered)| producers.score_with_offered(request, &[], offered));
    let asked: Vec<_> =
        requests.iter().map(|(request, offered)| producers.score_with_offered(request, &[], offered)).collect();
    let lookups: Vec<(usize, usize)> =
        (0..LOOKUPS).map(|_| (random.usize(0..arguments.len()), random.usize(0..asked.len()))).collect();
    let lookup_times = times(&lookups, |(argument, request)| {
        let (tool, argument) = &arguments[*argument];
        producers.candidates(*tool, argument, &asked[*request], AT_MOST)
    });
    let embedder = built_in(&Settings::default()).unwrap();
    for (at, segment) in segments.iter().enumerate() {
        segment.take_vectors(&embed(embedder.as_ref(), &(tools.texts)(at)).into());
    }
    let embedded: Vec<_> = requests
        .iter()
        .map(|(request, offered)| (request, embed(embedder.as_ref(), &request.texts()), offered))
        .collect();
    let embedded_times =
        times(&embedded, |(request, vectors, offered)| producers.score_with_offered(request, vectors, offered));
    println!(
        "| {} {kind} | {} | {} | {:.2} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} |",
        producers.len(),
        tools.toolsets,
        arguments.len(),
        took.as_secs_f64(),
        1e3 * again.as_secs_f64(),
        kept as f64 / 1e6,
        peak as f64 / 1e6,
        1e3 * asked_times[REQUESTS / 2].as_secs_f64(),
        1e3 * asked_times[REQUESTS * 99 / 100].as_secs_f64(),
        1e3 * embedded_times[REQUESTS / 2].as_secs_f64(),
        1e3 * embedded_times[REQUESTS * 99 / 100].as_secs_f64(),
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

/// Tools of a row.
struct BenchTools {
    toolsets: usize,
    /// Things that requests name, with the position of their first tool.
    names: Vec<(String, usize)>,
    /// Builds the segment of a toolset.
    build: Box<dyn Fn(usize) -> Segment>,
    /// Returns the texts of its tools to embed.
    texts: Box<dyn Fn(usize) -> Vec<String>>,
}

/// Embeds texts, few at a time, because more would need a runtime.
fn embed(embedder: &dyn Embedder, texts: &[String]) -> Vec<Vector> {
    let chunks = texts.chunks(EMBEDDED_AT_ONCE);
    chunks.flat_map(|texts| embedder.embed(texts.to_vec()).now_or_never().unwrap().unwrap()).collect()
}

/// Returns the toolsets of the documents, up to the number of operations.
fn documented(operations: usize) -> BenchTools {
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
    let (mut names, mut first) = (Vec::new(), 0);
    for toolset in &toolsets {
        names.push((toolset.operations[0].tool.name.replace('_', " "), first));
        first += toolset.operations.len();
    }
    let toolsets = Arc::new(toolsets);
    let embedded = Arc::clone(&toolsets);
    BenchTools {
        toolsets: toolsets.len(),
        names,
        build: Box::new(move |at| segment_of(&toolsets[at])),
        texts: Box::new(move |at| {
            let tools = embedded[at].operations.iter().map(|operation| &operation.tool);
            tools.map(|tool| embedded_text(&tool.name, &tool.description)).collect()
        }),
    }
}

fn embedded_text(name: &str, description: &str) -> String {
    let (parameters, outputs, links) = (&Value::Null, &[][..], &[][..]);
    ToolShape { name, description, parameters, outputs, http: None, links }.embedded()
}

/// Tool of a synthetic toolset.
struct Synthetic {
    name: String,
    description: String,
    path: String,
    method: &'static str,
    parameters: Arc<Value>,
    outputs: Arc<Vec<OutputField>>,
}

impl Synthetic {
    fn shape(&self) -> ToolShape<'_> {
        ToolShape {
            name: &self.name,
            description: &self.description,
            parameters: &self.parameters,
            outputs: &self.outputs,
            http: Some(Http { method: self.method, path: &self.path }),
            links: &[],
        }
    }
}

fn synthetic(names: Vec<(String, usize)>, toolsets: Vec<Vec<Synthetic>>) -> BenchTools {
    let toolsets = Arc::new(toolsets);
    let built = Arc::clone(&toolsets);
    BenchTools {
        toolsets: toolsets.len(),
        names,
        build: Box::new(move |at| Segment::build(&built[at].iter().map(Synthetic::shape).collect::<Vec<_>>())),
        texts: Box::new(move |at| toolsets[at].iter().map(|tool| tool.shape().embedded()).collect()),
    }
}

/// Returns one toolset in which every operation has the same arguments and response fields: hundreds of equal
/// candidates.
fn alike(operations: usize) -> BenchTools {
    let fields: Value = (0..100).map(|at| (format!("item_{at}"), json!({"type": "string"}))).collect();
    let outputs = Arc::new(output_fields(&json!({"type": "object", "properties": fields})));
    let parameters = Arc::new(json!({"type": "object", "required": ["id"], "properties": {
        "id": {"type": "string"}, "item_id": {"type": "string"}, "item_7": {"type": "string"}, "name": {}}}));
    let tool = |at: usize| Synthetic {
        name: format!("get_item_{at}"),
        description: "Gets an item by its id.".to_owned(),
        path: "/items/{id}".to_owned(),
        method: "GET",
        parameters: Arc::clone(&parameters),
        outputs: Arc::clone(&outputs),
    };
    let names = (0..operations).map(|at| (format!("get_item_{at}"), at)).collect();
    synthetic(names, vec![(0..operations).map(tool).collect()])
}

/// Returns toolsets in vendors' style, like the documents that the benchmark `catalog` of `callwright-openapi`
/// generates.
fn generated(operations: usize) -> BenchTools {
    const METHODS: [(&str, &str); 4] = [("GET", "get"), ("POST", "post"), ("PUT", "put"), ("DELETE", "delete")];
    const OPERATIONS_PER_SCHEMA: usize = 10;
    let each = operations / GENERATED_TOOLSETS;
    let mut names = Vec::new();
    let toolset = |toolset: usize| {
        let mut tools: Vec<Synthetic> = Vec::with_capacity(each);
        for number in 0..each {
            let (method, verb) = METHODS[number % METHODS.len()];
            if number % OPERATIONS_PER_SCHEMA == 0 {
                names.push((format!("thing {number}"), toolset * each + number));
            }
            // The operations of a schema share it.
            let schema = tools.last().filter(|_| number % OPERATIONS_PER_SCHEMA > 0);
            let outputs = schema.map(|tool| Arc::clone(&tool.outputs));
            let outputs = outputs.unwrap_or_else(|| Arc::new(output_fields(&thing(number / OPERATIONS_PER_SCHEMA, 0))));
            let mut parameters = json!({"type": "object", "required": ["account_id"], "properties": {
                "account_id": {"type": "string", "description": "The account's id, as the console shows it."},
                "limit": {"type": "integer", "description": "At most so many, from 1 to 100."},
                "state": {"type": "string", "enum": ["open", "locked", "gone"],
                    "description": "Only things in this state."}}});
            if number % 4 == 1 || number % 4 == 2 {
                let body = thing(number / OPERATIONS_PER_SCHEMA, 0)["properties"].take();
                let members = parameters["properties"].as_object_mut().unwrap();
                members.extend(body.as_object().unwrap().clone());
            }
            tools.push(Synthetic {
                name: format!("{verb}Thing{number}"),
                description: format!(
                    "Does something with thing {number}\n\nWhat it does depends on the account. Things that are locked \
                     cannot be changed before they are unlocked."
                ),
                path: format!("/v1/accounts/{{account_id}}/things{}", number / METHODS.len()),
                method,
                parameters: Arc::new(parameters),
                outputs,
            });
        }
        tools
    };
    let toolsets = (0..GENERATED_TOOLSETS).map(toolset).collect();
    synthetic(names, toolsets)
}

/// Returns a schema whose last two properties refer to neighbours of a group of eight.
fn thing(number: usize, depth: usize) -> Value {
    let mut properties = serde_json::Map::new();
    for property in 0..8 {
        let description = format!("Property {property} of thing {number}, which says more than its name.");
        properties.insert(format!("property{property}"), json!({"type": "string", "description": description}));
    }
    for next in 1..=2 {
        if depth < 3 {
            properties.insert(format!("next{next}"), thing((number & !7) + ((number + next) & 7), depth + 1));
        }
    }
    json!({"type": "object", "title": "Thing", "description": "A thing.", "properties": properties})
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
