//! Measures the time to explain one outcome against 10,000 passages without an embedder: `cargo bench --bench explain`.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a benchmark that does not measure its case must abort")]

use callwright_allocator::Allocator;
use std::hint::black_box;

use callwright_explain::{Explainer, OperationDocs, Settings};
use callwright_types::outcome::{ApiAnswer, Paging};
use callwright_types::{DocText, OperationRef, Outcome};
use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::FutureExt;
use serde_json::{Map, Value, json};

/// Same allocator as the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

criterion_group!(benches, one_outcome);
criterion_main!(benches);

/// Number of passages, and of the operations that they belong to.
const PASSAGES: usize = 10_000;
const OPERATIONS: usize = 100;

const THINGS: [&str; 12] = [
    "account", "booking", "channel", "device", "event", "invoice", "mailbox", "number", "order", "payment", "route",
    "ticket",
];
const FAULTS: [&str; 8] = [
    "was not found in this region", "is locked by another request", "has a name that is too long",
    "belongs to another customer", "exceeds the limit of the plan", "is missing a required field",
    "has expired and must be renewed", "was rejected by the carrier",
];

/// Builds a catalogue entry of about 150 characters, the size of real ones.
fn entry(number: usize) -> String {
    let thing = THINGS[number % THINGS.len()];
    let fault = FAULTS[number / THINGS.len() % FAULTS.len()];
    let place = number / (THINGS.len() * FAULTS.len());
    format!(
        "`{}`: The {thing} of step {place} {fault}. Ask for the list of every {thing} first, then send the request again.",
        20_000 + number
    )
}

fn explainer() -> Explainer {
    let of = |operation: usize| -> Vec<DocText> {
        let numbers = (operation..PASSAGES).step_by(OPERATIONS);
        numbers.map(|number| DocText { text: entry(number), source: format!("api.yaml#/{number}") }).collect()
    };
    let docs = (0..OPERATIONS).map(|operation| OperationDocs {
        toolset: "api".to_owned(),
        tool: format!("operation_{operation}"),
        texts: of(operation),
    });
    let explainer = Explainer::build(docs.collect(), Vec::new(), &Settings::default());
    assert_eq!(explainer.passages(), PASSAGES);
    explainer
}

fn answered(body: &Value) -> Outcome {
    Outcome::Answered(ApiAnswer {
        status: 400,
        headers: Vec::new(),
        body: body.to_string().into(),
        truncated: false,
        paging: Paging::default(),
    })
}

fn one_outcome(criterion: &mut Criterion) {
    let explainer = explainer();
    let operation = OperationRef { toolset: "api".to_owned(), tool: "operation_17".to_owned() };
    let message = "The payment of step 3 exceeds the limit of the plan";
    let cases = [
        ("a code of the operation", json!({"code": 20_017}), true),
        ("a code of another operation, with a message", json!({"code": 24_711, "message": message}), true),
        ("a message without a code", json!({"message": message}), false),
        (
            "words that every passage has",
            json!({"message": "The request failed, send the request of the list again"}),
            false,
        ),
    ];
    for (name, body, explained) in cases {
        let outcome = answered(&body);
        let explain = || explainer.explain(&operation, black_box(&outcome), &Map::new()).now_or_never().unwrap();
        assert!(!explained || explain().is_hit(), "{name}");
        criterion.bench_function(name, |bencher| bencher.iter(explain));
    }
}
