//! Benchmark of tool retrieval with 100 to 100,000 tools: `cargo bench --bench retrieval` prints a table with a row for
//! each number of tools and of patterns per tool.
//!
//! The tools are the operations of the documents in data/specs of `CALLWRIGHT_SHARED_DATA` (../shared), as the catalog
//! loads them. They are repeated under new names up to the required number. Without that folder, tools are generated.
//! Patterns and requests are composed of words of a tool's texts. The vectors are the built-in ones, projected to 384
//! dimensions by a random matrix, which preserves angles. With `CALLWRIGHT_EMBEDDING_MODEL`, the folder of a local
//! model, the embedding time of a request by that model is reported too.
//!
//! With arguments (`cargo bench --bench retrieval -- 16464 12`) it measures one row: tools, and patterns per tool. Each
//! row is measured in a separate process, so that its memory can be measured.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the table is what it is run for, and a fault ends the run"
)]

use callwright_allocator::Allocator;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callwright_openapi::{Catalog, Offline, ToolsetSettings};
use callwright_search::embedding::{Embedder, Settings, Vector, built_in, open_folder};
use callwright_search::retrieval::{
    FieldWeights, Fusion, ToolIndex, ToolQuery, ToolSegment, ToolText, ToolVectors, embed_tools, parameters_text,
};
use callwright_types::representation::Pattern;
use futures_util::FutureExt;

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Number of tools, and of patterns per tool.
const ROWS: [(usize, usize); 7] =
    [(100, 0), (1_000, 0), (10_000, 0), (16_464, 0), (100_000, 0), (1_000, 12), (16_464, 12)];

/// Dimensions of the vectors, as in MiniLM.
const DIMENSIONS: usize = 384;

/// Number of measured requests.
const REQUESTS: usize = 1_000;

/// Number of tools per result.
const K: usize = 10;

/// Number of tools per segment if there are no documents.
const INVENTED: usize = 60;

type Toolset = Vec<ToolText>;

fn main() {
    // Cargo adds its own options.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if let [tools, patterns] = arguments.as_slice() {
        return measure(tools.parse().unwrap(), patterns.parse().unwrap());
    }
    println!(
        "| tools | patterns each | p50 ms | p99 ms | exact p99 ms | recall@10 of exact | words p99 ms | with embedding p50 / p99 ms | index MB | build s | rebuild ms |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (tools, patterns) in ROWS {
        let row = [tools.to_string(), patterns.to_string()];
        assert!(Command::new(std::env::current_exe().unwrap()).args(row).status().unwrap().success());
    }
}

fn measure(tools: usize, patterns: usize) {
    let toolsets = toolsets(tools, patterns);
    let matrix = Matrix::random();
    let embedder = built_in(&Settings::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let embedded = |toolset: &Toolset| runtime.block_on(embed_tools(&*embedder, toolset)).unwrap();
    let vectors: Vec<Vec<ToolVectors>> = toolsets.iter().map(|toolset| matrix.turn_all(&embedded(toolset))).collect();
    let requests = requests(&toolsets, &*embedder, &matrix);

    let segment = |(toolset, vectors): (&Toolset, &Vec<ToolVectors>)| {
        Arc::new(ToolSegment::build(toolset, Some(vectors), &FieldWeights::default()))
    };
    let (before, start) = (resident(), Instant::now());
    let segments: Vec<Arc<ToolSegment>> = toolsets.iter().zip(&vectors).map(segment).collect();
    let index = ToolIndex::new(segments.clone(), Fusion::default());
    let (build, megabytes) = (start.elapsed(), resident().saturating_sub(before) as f64 / 1e6);
    assert_eq!(index.len(), tools);

    // Rebuilds the index after a change of the largest document.
    let changed = (0..toolsets.len()).max_by_key(|at| toolsets[*at].len()).unwrap();
    let start = Instant::now();
    let mut again = segments;
    again[changed] = segment((&toolsets[changed], &vectors[changed]));
    black_box(ToolIndex::new(again, Fusion::default()));
    let rebuild = start.elapsed();

    let query = |(text, vector): &'_ (String, Vector)| index.search(&ToolQuery { text, vector: Some(vector) }, K);
    let exactly =
        |(text, vector): &'_ (String, Vector)| index.search_exactly(&ToolQuery { text, vector: Some(vector) }, K);
    let words = |(text, _): &'_ (String, Vector)| index.search(&ToolQuery { text, vector: None }, K);
    let recall: f64 = requests.iter().map(|request| shared(&query(request), &exactly(request))).sum();
    let (usual, exact, by_words) = (times(&requests, query), times(&requests, exactly), times(&requests, words));
    println!(
        "| {tools} | {patterns} | {:.2} | {:.2} | {:.2} | {:.1} % | {:.2} | {} | {megabytes:.0} | {:.2} | {:.0} |",
        milliseconds(usual[REQUESTS / 2]),
        milliseconds(usual[REQUESTS * 99 / 100]),
        milliseconds(exact[REQUESTS * 99 / 100]),
        100.0 * recall / REQUESTS as f64,
        milliseconds(by_words[REQUESTS * 99 / 100]),
        with_embedding(&index, &requests).unwrap_or_else(|| "-".to_owned()),
        build.as_secs_f64(),
        milliseconds(rebuild),
    );
}

/// Returns the median and the 99th percentile including the embedding of the request by the model in
/// `CALLWRIGHT_EMBEDDING_MODEL`.
fn with_embedding(index: &ToolIndex, requests: &[(String, Vector)]) -> Option<String> {
    let folder = std::env::var_os("CALLWRIGHT_EMBEDDING_MODEL")?;
    let library = std::env::var("ORT_DYLIB_PATH").unwrap_or_default();
    let model = open_folder(Path::new(&folder), &library).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let times = times(requests, |(text, _)| {
        let vectors = runtime.block_on(model.embed(vec![text.clone()])).unwrap();
        index.search(&ToolQuery { text, vector: vectors.first() }, K)
    });
    let [usual, worst] = [REQUESTS / 2, REQUESTS * 99 / 100].map(|at| milliseconds(times[at]));
    Some(format!("{usual:.2} / {worst:.2}"))
}

/// Returns the times in ascending order.
fn times<T>(requests: &[(String, Vector)], work: impl Fn(&(String, Vector)) -> T) -> Vec<Duration> {
    requests.iter().take(REQUESTS / 10).for_each(|request| drop(black_box(work(request))));
    let time = |request| {
        let start = Instant::now();
        black_box(work(black_box(request)));
        start.elapsed()
    };
    let mut times: Vec<Duration> = requests.iter().map(time).collect();
    times.sort();
    times
}

fn milliseconds(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

/// Returns the share of the exact result that was found.
fn shared(
    found: &[callwright_search::retrieval::RankedTool],
    exact: &[callwright_search::retrieval::RankedTool],
) -> f64 {
    let is_found = |position| found.iter().any(|found| found.position == position);
    exact.iter().filter(|exact| is_found(exact.position)).count() as f64 / exact.len().max(1) as f64
}

/// Returns the operations of all documents, repeated until there are enough.
fn toolsets(tools: usize, patterns: usize) -> Vec<Toolset> {
    let documented = documented().unwrap_or_else(invented);
    let mut random = fastrand::Rng::with_seed(6);
    let (mut toolsets, mut left) = (Vec::new(), tools);
    for (round, toolset) in (0_usize..).flat_map(|round| documented.iter().map(move |toolset| (round, toolset))) {
        if left == 0 {
            break;
        }
        let taken = toolset.iter().take(left).map(|tool| variant(tool, round, patterns, &mut random));
        toolsets.push(taken.collect::<Toolset>());
        left -= toolset.len().min(left);
    }
    toolsets
}

/// Returns a variant of a tool: in later rounds some of its words are removed.
fn variant(tool: &ToolText, round: usize, patterns: usize, random: &mut fastrand::Rng) -> ToolText {
    let mut tool = tool.clone();
    if round > 0 {
        tool.name = format!("{}_{round}", tool.name);
        tool.description = phrase(&tool.description, 0.7, random);
    }
    let text = tool.embedded();
    tool.patterns = (0..patterns)
        .map(|_| Pattern {
            description: phrase(&text, 0.5, random),
            cases: (0..3).map(|_| phrase(&text, 0.3, random)).collect(),
            weight: 1.0,
        })
        .collect();
    tool
}

/// Returns a random selection of the first words of a text, in order.
fn phrase(text: &str, share: f64, random: &mut fastrand::Rng) -> String {
    let words = text.split_whitespace().take(24).filter(|_| random.f64() < share);
    words.collect::<Vec<_>>().join(" ")
}

fn documented() -> Option<Vec<Toolset>> {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("../shared"));
    let specs = shared.join("data/specs");
    if !specs.is_dir() {
        return None;
    }
    let settings = ToolsetSettings { document: specs.display().to_string(), ..ToolsetSettings::default() };
    let catalog = Catalog::load(&[("specs".to_owned(), settings)].into(), Path::new("."), &Offline).unwrap().0;
    let text = |tool: &callwright_types::Tool| ToolText {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: parameters_text(&tool.parameters),
        ..ToolText::default()
    };
    Some(
        catalog
            .toolsets()
            .map(|toolset| toolset.operations.iter().map(|operation| text(&operation.tool)).collect())
            .collect(),
    )
}

fn invented() -> Vec<Toolset> {
    const VERBS: [&str; 8] = ["get", "list", "create", "delete", "update", "search", "export", "archive"];
    const THINGS: [&str; 12] = [
        "account", "booking", "channel", "device", "event", "invoice", "mailbox", "number", "order", "payment",
        "route", "ticket",
    ];
    let tool = |number: usize| {
        let (verb, thing) = (VERBS[number % VERBS.len()], THINGS[number / VERBS.len() % THINGS.len()]);
        let of = THINGS[number / 7 % THINGS.len()];
        ToolText {
            name: format!("{verb}_{thing}_{number}"),
            description: format!("Use it to {verb} the {thing} of a customer by its {of}, in region {number}."),
            ..ToolText::default()
        }
    };
    (0..256).map(|toolset| (0..INVENTED).map(|at| tool(toolset * INVENTED + at)).collect()).collect()
}

/// Returns requests for random tools.
fn requests(toolsets: &[Toolset], embedder: &dyn Embedder, matrix: &Matrix) -> Vec<(String, Vector)> {
    let mut random = fastrand::Rng::with_seed(7);
    let tools: Vec<&ToolText> = toolsets.iter().flatten().collect();
    let texts = (0..REQUESTS).map(|_| {
        let tool = tools[random.usize(0..tools.len())];
        format!("Please help me, I want to {}", phrase(&tool.embedded(), 0.5, &mut random))
    });
    let texts: Vec<String> = texts.collect();
    let vectors =
        texts.iter().map(|text| embedder.embed(vec![text.clone()]).now_or_never().unwrap().unwrap().remove(0));
    let vectors: Vec<Vector> = vectors.map(|vector| matrix.turn(&vector)).collect();
    texts.into_iter().zip(vectors).collect()
}

/// A random projection from the built-in vectors' space to one with [`DIMENSIONS`].
struct Matrix(Vec<Vec<f32>>);

impl Matrix {
    fn random() -> Self {
        let dimensions = built_in(&Settings::default()).unwrap().dimensions();
        let mut random = fastrand::Rng::with_seed(5);
        // The sum of uniform numbers approximates a normal distribution.
        let mut normal = || (0..4).map(|_| random.f32() - 0.5).sum::<f32>();
        Self((0..DIMENSIONS).map(|_| (0..dimensions).map(|_| normal()).collect()).collect())
    }

    fn turn(&self, vector: &Vector) -> Vector {
        let along = |row: &Vec<f32>| row.iter().zip(vector.components()).map(|(left, right)| left * right).sum();
        Vector::new(self.0.iter().map(along).collect()).unwrap()
    }

    fn turn_all(&self, tools: &[ToolVectors]) -> Vec<ToolVectors> {
        let turn = |tool: &ToolVectors| ToolVectors {
            description: self.turn(&tool.description),
            patterns: tool.patterns.iter().map(|vector| self.turn(vector)).collect(),
        };
        tools.iter().map(turn).collect()
    }
}

/// Returns the resident memory of this process on Linux; 0 on other systems.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) * 1024
}
