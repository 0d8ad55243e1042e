//! Measures lesson recall for 100 to 100,000 lessons in one scope. `cargo bench --bench lesson_store` prints a table with
//! one row per number of lessons and kind of request.
//!
//! Lessons and requests are generated from a fixed seed. Words in keys follow Zipf's law, and every key contains one
//! common word. The kinds of requests are:
//!
//! - a sentence;
//! - the common word alone, which every key has;
//! - the 200 most frequent words;
//! - a text of 100,000 characters;
//! - a sentence with 1,000 tools in play;
//! - a sentence with tools that no lesson is about.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the benchmark prints a table, and an error ends the benchmark"
)]

use callwright_allocator::Allocator;
use std::hint::black_box;
use std::time::{Duration, Instant};

use callwright_memory::MemoryChange;
use callwright_memory::experience::{AvailableTool, LessonStore, RecallQuery, Settings, StoredLesson};
use callwright_types::memory::Author;
use callwright_types::{Lesson, Polarity, Scope, UsageCounter};
use jiff::Timestamp;

/// Same allocator as the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Number of lessons in the scope, per measurement.
const ROWS: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// Number of tools that lessons are about.
const TOOLS: usize = 1_000;

/// Size of the vocabulary.
const WORDS: usize = 20_000;

/// Number of timed requests per row.
const REQUESTS: usize = 2_000;

/// Number of lessons in one batch of changes.
const CHANGED: usize = 10;

fn main() {
    println!("| lessons | request | p50 ms | p99 ms | max ms | build ms | change of {CHANGED} ms |");
    println!("|---:|---|---:|---:|---:|---:|---:|");
    for lessons in ROWS {
        measure(lessons);
    }
}

fn measure(count: usize) {
    let mut random = fastrand::Rng::with_seed(1);
    let lessons: Vec<StoredLesson> = (0..count).map(|number| lesson(number, &mut random).into()).collect();
    let start = Instant::now();
    let lesson_store = LessonStore::new(lessons, Settings::default());
    let build = start.elapsed();
    let changes: Vec<MemoryChange<StoredLesson>> =
        (0..CHANGED).map(|number| MemoryChange::Stored(lesson(number * count / CHANGED, &mut random).into())).collect();
    let start = Instant::now();
    let lesson_store = black_box(lesson_store.with(changes));
    let change = start.elapsed();
    let names: Vec<String> = (0..TOOLS).map(|number| format!("tool{number}")).collect();
    let all: Vec<AvailableTool<'_>> = names
        .iter()
        .map(|name| AvailableTool { toolset: Some("bench"), name, fingerprint: None, purpose: "" })
        .collect();
    let others = [AvailableTool { toolset: Some("other"), name: "tool1", fingerprint: None, purpose: "" }];
    let sentence = |random: &mut fastrand::Rng| words(12, random);
    let common = |_: &mut fastrand::Rng| "common".to_owned();
    let commonest = |_: &mut fastrand::Rng| (0..200).map(|number| format!("word{number} ")).collect();
    let long = |random: &mut fastrand::Rng| words(12_000, random);
    type Make<'a> = &'a dyn Fn(&mut fastrand::Rng) -> String;
    let sorts: [(&str, Make<'_>, &[AvailableTool<'_>]); 6] = [
        ("a sentence, 50 tools", &sentence, &all[..50]),
        ("a sentence, 1,000 tools", &sentence, &all),
        ("a sentence, other tools", &sentence, &others),
        ("the word of all keys, 1,000 tools", &common, &all),
        ("200 commonest words, 1,000 tools", &commonest, &all),
        ("100,000 characters, 1,000 tools", &long, &all),
    ];
    for (name, make, tools) in sorts {
        let times = timed(&lesson_store, make, tools, &mut random);
        let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
        println!(
            "| {count} | {name} | {:.3} | {:.3} | {:.3} | {:.1} | {:.2} |",
            at(50),
            at(99),
            at(100),
            build.as_secs_f64() * 1e3,
            change.as_secs_f64() * 1e3
        );
    }
}

/// Returns the duration of each recall, in ascending order.
fn timed(
    lesson_store: &LessonStore,
    make: &dyn Fn(&mut fastrand::Rng) -> String,
    tools: &[AvailableTool<'_>],
    random: &mut fastrand::Rng,
) -> Vec<Duration> {
    let scope = Scope::of_group("bench");
    let mut times: Vec<Duration> = (0..REQUESTS)
        .map(|_| {
            let text = make(random);
            let query = RecallQuery { scope: &scope, text: &text, tools, limit: 3, vector: None };
            let start = Instant::now();
            black_box(lesson_store.recall(black_box(&query)));
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

fn lesson(number: usize, random: &mut fastrand::Rng) -> Lesson {
    let tools = if number.is_multiple_of(10) { Vec::new() } else { vec![format!("tool{}", number % TOOLS)] };
    let length = random.usize(3..15);
    Lesson {
        id: format!("les_{number:032}"),
        scope: Scope::of_group("bench"),
        toolset: (!tools.is_empty()).then(|| "bench".to_owned()),
        tools,
        polarity: Polarity::Negative,
        key: format!("common {}", words(length, random)),
        value: "What is said is not searched.".to_owned(),
        author: Author::Composed,
        composed: None,
        client: None,
        evidence: Vec::new(),
        tally: UsageCounter::default(),
        retired: None,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

/// Returns random words by Zipf's law: the probability of the n-th word is about 1/n.
fn words(count: usize, random: &mut fastrand::Rng) -> String {
    let word = |_| {
        let rank = (WORDS as f64).powf(random.f64()) as usize - 1;
        format!("word{rank}")
    };
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}
