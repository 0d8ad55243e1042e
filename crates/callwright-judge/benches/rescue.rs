//! Measures the search for calls in a text: `cargo bench --bench rescue`.
#![allow(clippy::panic, reason = "a benchmark with an unexpected result must stop")]

mod support;

use callwright_allocator::Allocator;
use std::hint::black_box;

use callwright_judge::repair::rescue::{Reading, Situation, rescue};
use callwright_judge::scanner::ToolSet;
use callwright_types::rules::Evidence;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use support::{repeated, usual_tools};

/// Same allocator as the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

criterion_group!(benches, dismissed, rescued);
criterion_main!(benches);

fn read(text: &str, book: &ToolSet) -> Reading {
    rescue(text, book, &Situation::with(Evidence::Amid))
}

const DISMISSED_BYTES: usize = 20_000;

/// Measures texts with brackets, fences and names of offered tools, but without a call.
fn dismissed(criterion: &mut Criterion) {
    let book = usual_tools();
    let mixed = [PROSE, CODE, PROSE, MARKDOWN].concat();
    let mut group = criterion.benchmark_group("dismissed, 20 kB");
    for (name, paragraph) in [
        ("prose", PROSE),
        ("answer with code", CODE),
        ("json document", DOCUMENT),
        ("markdown", MARKDOWN),
        ("all of these", &mixed),
    ] {
        let text = repeated(paragraph, DISMISSED_BYTES);
        assert!(matches!(read(&text, &book), Reading::Text), "{name}: {:?}", read(&text, &book));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| read(black_box(&text), &book)));
    }
    group.finish();
}

const PROSE: &str = "The forecast (see the note below) says that it will rain [1] in Oslo, and get_weather is the tool that knows. \
    Orders < 100 are shipped at once; an order {as the shop calls it} can be cancelled with cancel_order, which takes an id. \
    What search_documents finds is a list, e.g. [a, b, c], and `limit` bounds it (10 if nothing is said).\n\n";

const CODE: &str = "This function sums a list:\n\n```python\ndef total(items: list[int]) -> int:\n    result = 0\n    \
    for item in items:\n        result += weight(item, {\"unit\": 1})[0]\n    return result\n```\n\nThe loop visits each item once, \
    so `total([1, 2, 3])` takes three steps.\n\n";

const DOCUMENT: &str = "{\"orders\": [{\"id\": 5, \"lines\": [{\"sku\": \"a-1\", \"count\": 2}, {\"sku\": \"b-2\", \"count\": 1}], \
    \"note\": \"call get_weather before\"}], \"next\": null}\n";

const MARKDOWN: &str = "## What the tools do\n\n| tool | takes |\n|---|---|\n| `get_weather` | `city`, `days` (1 to 14) |\n\
    | `cancel_order` | `order_id` |\n\n- [x] read the *documentation*\n- [ ] ask <b>somebody</b>\n\n> a quotation (of nobody)\n\n";

/// Length in bytes of an answer that is a call.
const RESCUED_BYTES: usize = 1000;

/// Measures answers of 1 kB that are a single call, in the main notations.
fn rescued(criterion: &mut Criterion) {
    let book = usual_tools();
    let query = repeated("where the nearest tram stop is, ", RESCUED_BYTES - 90);
    let arguments = format!("{{\"query\": \"{query}\", \"limit\": 3}}");
    let object = format!("{{\"name\": \"search_documents\", \"arguments\": {arguments}}}");
    let mut group = criterion.benchmark_group("rescued, 1 kB");
    for (name, text) in [
        ("bare json", object.clone()),
        ("json in a fence", format!("```json\n{object}\n```")),
        ("json amid prose", format!("I will look that up.\n\n{object}\n\nOne moment.")),
        ("tool_call element", format!("<tool_call>\n{object}\n</tool_call>")),
        ("TOOL_CALLS list", format!("[TOOL_CALLS][{object}]")),
        ("function element", format!("<function=search_documents>{arguments}</function>")),
        ("python call", format!("[search_documents(query='{query}', limit=3)]")),
        ("tool_code fence", format!("```tool_code\nprint(search_documents(query=\"{query}\", limit=3))\n```")),
        (
            "invoke element",
            format!(
                "<function_calls>\n<invoke name=\"search_documents\">\n<parameter name=\"query\">{query}</parameter>\n\
                 <parameter name=\"limit\">3</parameter>\n</invoke>\n</function_calls>"
            ),
        ),
    ] {
        let reading = read(&text, &book);
        assert!(matches!(&reading, Reading::Calls(found) if found.calls.len() == 1), "{name}: {reading:?}");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| read(black_box(&text), &book)));
    }
    group.finish();
}
