//! Measures whether the validation time of a hostile answer grows linearly with its length. `cargo bench --bench curve`
//! prints a table with microseconds per kilobyte for each length. It has one row per text that is searched for calls
//! and per form of native calls. In a row with linear time, the numbers stay about the same. There is no budget, so the
//! table shows the full work.
//!
//! An argument (`cargo bench --bench curve -- fence`) selects the rows with that word in their name.
#![allow(clippy::print_stdout, reason = "the table is its output")]

mod support;

use callwright_allocator::Allocator;
use std::hint::black_box;
use std::time::{Duration, Instant};

use callwright_judge::repair::rescue::{Situation, rescue};
use callwright_judge::repair::{Spoken, judge_message};
use callwright_judge::scanner::{Context, ToolSet};
use callwright_types::Call;
use callwright_types::rules::{Evidence, RepairRules, ScanRules};
use support::{repeated, usual_tools};

/// Same allocator as the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Lengths of the texts in bytes.
const SIZES: [usize; 7] = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22];

/// Time after which the rest of a row is skipped.
const HANGS: Duration = Duration::from_secs(3);

/// Measuring time per cell. The fastest run counts, because noise only adds time.
const MEASURED: Duration = Duration::from_millis(100);

/// Names of the hostile texts and the pieces that they repeat.
const HOSTILE: [(&str, &str); 43] = [
    ("nested arrays", "["),
    ("nested objects", "{\"a\":"),
    ("nested parentheses", "("),
    ("nested calls", "get_weather("),
    ("calls of a letter", "f("),
    ("calls of a letter, a line each", "f(\n"),
    ("open call, a line each", "get_weather(city=\"Oslo\", \n"),
    ("open call in json, a line each", "{\"name\": \"get_weather\", \"arguments\": {\n"),
    ("arrays, a line each", "[\n"),
    ("whole json, a line each", "{\"a\": 1}\n"),
    ("whole calls, a line each", "get_weather(city=\"Oslo\", days=1)\n"),
    ("names", "get_weather "),
    ("names, a line each", "get_weather\n"),
    ("labels", "call: "),
    ("bullets", "- "),
    ("tool_call", "<tool_call>"),
    ("tool_call, a line each", "<tool_call>\n"),
    ("tool_call with an open object", "<tool_call>{"),
    ("tool_call with an open string", "<tool_call>{\"name\": \""),
    ("TOOL_CALLS", "[TOOL_CALLS]["),
    ("TOOL_CALLS with a name", "[TOOL_CALLS]get_weather{"),
    ("function elements", "<function=get_weather>"),
    ("function elements with an object", "<function=get_weather>{"),
    ("parameter elements", "<function=get_weather><parameter=city>"),
    ("invoke elements", "<invoke name=\"get_weather\"><parameter name=\"city\">"),
    ("special tokens", "<|python_tag|>get_weather("),
    ("token marks", "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"),
    ("token marks with wide letters", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"),
    ("arrows", ">>>get_weather\n{"),
    ("channels", "<|channel|>commentary to=functions.get_weather <|message|>{"),
    ("actions", "Action: get_weather\nAction Input: {\n"),
    ("tool_code fences", "```tool_code\nprint(get_weather(\n"),
    ("halves of special tokens", "<|"),
    ("halves of marks", "[a"),
    ("fences", "```\n"),
    ("fences with an open object", "```json\n{\n"),
    ("reasoning, opened", "<think>"),
    ("reasoning, closed", "</think>"),
    ("reasoning, a block each", "<think>a</think>"),
    ("open strings", "{\"name\": \"\n"),
    ("quotes", "\"'"),
    ("escapes", "{\"a\": \"\\\\\\\""),
    ("backticks", "`f("),
];

/// Creates native calls of an answer with about this many bytes.
type MakeCalls = fn(usize) -> Vec<Call>;

/// Hostile native calls.
const HOSTILE_CALLS: [(&str, MakeCalls); 7] = [
    ("calls: one with unknown parameters", |bytes| {
        vec![call(object(bytes, |index| format!("\"unheard_of_{index}\":1")))]
    }),
    ("calls: one with near names", |bytes| vec![call(object(bytes, |index| format!("\"citty_{index}\":\"x\"")))]),
    ("calls: many with unknown parameters", |bytes| {
        several(bytes, object(256, |index| format!("\"unheard_of_{index}\":1")))
    }),
    ("calls: one with a list of wrong values", |bytes| {
        vec![call(format!("{{\"city\":\"Oslo\",\"days\":[{}]}}", vec!["\"x\""; bytes / 4].join(",")))]
    }),
    ("calls: many with wrong values", |bytes| several(bytes, r#"{"city":1,"days":"x"}"#.to_owned())),
    ("calls: many that are right", |bytes| several(bytes, r#"{"city":"Oslo","days":1}"#.to_owned())),
    ("calls: nested objects", |bytes| several(bytes, format!("{}1{}", "{\"city\":".repeat(100), "}".repeat(100)))),
];

fn call(arguments: String) -> Call {
    Call { id: "call_1".to_owned(), name: "get_weather".to_owned(), arguments }
}

/// Returns as many copies of the call as fit in about this many bytes.
fn several(bytes: usize, arguments: String) -> Vec<Call> {
    vec![call(arguments.clone()); (bytes / arguments.len()).max(1)]
}

/// Returns a JSON object of about this many bytes.
fn object(bytes: usize, member: impl Fn(usize) -> String) -> String {
    let mut text = String::from("{");
    for index in 0.. {
        text.push_str(&member(index));
        if text.len() >= bytes {
            break;
        }
        text.push(',');
    }
    text + "}"
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let book = usual_tools();
    let heads: Vec<String> = SIZES.iter().map(|size| format!("{} kB", size >> 10)).collect();
    println!("| text | {} |\n|---|{}", heads.join(" | "), "---:|".repeat(SIZES.len()));
    for (name, piece) in HOSTILE.iter().filter(|(name, _)| name.contains(&wanted)) {
        let reading = |size| {
            let text = repeated(piece, size);
            fastest(|| drop(black_box(rescue(black_box(&text), &book, &Situation::with(Evidence::Amid)))))
        };
        println!("| {name} | {} |", row(reading).join(" | "));
    }
    for (name, made) in HOSTILE_CALLS.iter().filter(|(name, _)| name.contains(&wanted)) {
        let judging = |size| {
            let calls = made(size);
            fastest(|| judge(&calls, &book))
        };
        println!("| {name} | {} |", row(judging).join(" | "));
    }
}

fn judge(calls: &[Call], book: &ToolSet) {
    let spoken = Spoken { text: None, calls: black_box(calls), situation: Situation::with(Evidence::Amid) };
    black_box(judge_message(&spoken, book, &ScanRules::default(), &RepairRules::default(), &Context::default()));
}

/// Returns microseconds per kilobyte for each length; `measured` measures one length.
fn row(measured: impl Fn(usize) -> Duration) -> Vec<String> {
    let mut cells = Vec::new();
    let mut hangs = false;
    for size in SIZES {
        let fastest = if hangs { HANGS } else { measured(size) };
        hangs |= fastest >= HANGS;
        let per_kilobyte = fastest.as_secs_f64() * 1e6 / (size >> 10) as f64;
        cells.push(if hangs { format!("> {} s", HANGS.as_secs()) } else { format!("{per_kilobyte:.1}") });
    }
    cells
}

fn fastest(mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    let mut fastest = Duration::MAX;
    while start.elapsed() < MEASURED {
        let begun = Instant::now();
        work();
        fastest = fastest.min(begun.elapsed());
    }
    fastest
}
