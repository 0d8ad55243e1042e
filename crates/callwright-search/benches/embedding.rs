//! Benchmarks of built-in embeddings and of quantised vectors: `cargo bench --bench embedding`.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a benchmark that does not measure what it says must stop")]

use callwright_allocator::Allocator;
use std::hint::black_box;

use callwright_search::embedding::{Embedder, QuantisedQuery, QuantisedVectors, Settings, Vector, built_in};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::FutureExt;

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

criterion_group!(benches, texts, cosines);
criterion_main!(benches);

/// Texts with the lengths of typical requests and descriptions.
const TEXTS: [&str; 4] = [
    "Cancel order 4711",
    "What will the weather be like in Oslo on the first weekend of next month?",
    "Retrieves the list of invoices of a customer, newest first; with `status` only those that are open, paid or overdue.",
    "My card has not arrived yet although it was sent two weeks ago, and I need it for a trip on Monday. Can you find out where it is, \
     and if it is lost have another one sent to my hotel?",
];

fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Vec<Vector> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    embedder.embed(texts).now_or_never().unwrap().unwrap()
}

fn texts(criterion: &mut Criterion) {
    let embedder = built_in(&Settings::default()).unwrap();
    let mut group = criterion.benchmark_group("built-in vector");
    for text in TEXTS {
        group.bench_function(format!("{} characters", text.len()), |bencher| {
            bencher.iter(|| embed(&*embedder, black_box(&[text])));
        });
    }
}

/// Number of tools in a large collection.
const MANY: usize = 16_464;
const DIMENSIONS: usize = 384;

fn cosines(criterion: &mut Criterion) {
    let mut random = fastrand::Rng::with_seed(1);
    let mut vector = || Vector::new((0..DIMENSIONS).map(|_| random.f32() - 0.5).collect()).unwrap();
    let mut vectors = QuantisedVectors::with_capacity(DIMENSIONS, MANY);
    (0..MANY).for_each(|_| vectors.push(&vector()));
    let query = QuantisedQuery::new(&vector());
    let mut group = criterion.benchmark_group("cosines");
    group.throughput(Throughput::Elements(MANY as u64));
    group.bench_function("of 16,464 with 384 components", |bencher| {
        bencher.iter(|| vectors.cosines_within(black_box(&query), 0..MANY));
    });
}
