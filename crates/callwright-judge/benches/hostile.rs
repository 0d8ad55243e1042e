//! Measures the CPU time of reading hostile texts, and how it grows: `cargo bench --bench hostile`.
//!
//! For each notation, pieces of a call are repeated up to a size: its whole text, its beginnings, its ends and parts of
//! it behind a beginning, drawn with a fixed seed. Time must grow in proportion to the size. Prints the slowest patterns
//! and fails above the limits.
//!
//! `-- --patterns 85 --megabytes 8` draws more patterns and reads longer texts; `--only NAME` selects one notation.
#![allow(clippy::panic, reason = "a benchmark with a wrong argument must stop")]
#![allow(clippy::print_stdout, reason = "the table is the output")]

mod support;

use std::process::ExitCode;
use std::time::Duration;

use callwright_allocator::Allocator;
use callwright_judge::repair::rescue::{Situation, rescue};
use callwright_judge::scanner::{BudgetLimits, JudgementBudget, ToolSet};
use callwright_types::rules::Evidence;
use rustix::time::{ClockId, clock_gettime};
use support::usual_tools;

/// Same allocator as the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// A call in each notation.
const CALLS: [(&str, &str); 24] = [
    ("hermes", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"),
    ("function elements", "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>"),
    ("invoke", "<invoke name=\"get_weather\"><parameter name=\"city\">Oslo</parameter></invoke>"),
    (
        "nested elements",
        "<tool_call><tool_name>get_weather</tool_name><parameters><city>Oslo</city></parameters></tool_call>",
    ),
    ("element of the tool", "<get_weather>\n<city>Oslo</city>\n</get_weather>"),
    ("glm", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>"),
    ("mistral", "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}]"),
    ("mistral args", "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Oslo\"}"),
    ("llama", "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo\"}}<|eom_id|>"),
    ("granite", "<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}]"),
    ("lfm", "<|tool_call_start|>[get_weather(city=\"Oslo\")]<|tool_call_end|>"),
    (
        "deepseek",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Oslo\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "deepseek dsml",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    (
        "kimi",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Oslo\"}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "harmony",
        "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Oslo\"}<|call|>",
    ),
    ("gemma", "<|tool_call>call:get_weather{city:<|\"|>Oslo<|\"|>}<tool_call|>"),
    ("ReAct", "Thought: I look.\nAction: get_weather\nAction Input: {\"city\": \"Oslo\"}\nObservation:"),
    ("labels", "Tool: get_weather\nArguments: {\"city\": \"Oslo\"}\n"),
    ("name and object", "get_weather {\n\"city\": \"Oslo\"\n}\n"),
    ("JSON", "[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}]"),
    ("JSON in a fence", "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```"),
    ("JSON in a string", "{\"name\": \"get_weather\", \"arguments\": \"{\\\"city\\\": \\\"Oslo\\\"}\"}"),
    ("Python", "result = get_weather(city='Oslo', days=3)\n"),
    ("Python in a fence", "```tool_code\nprint(get_weather(city=\"\"\"Oslo\"\"\"))\n```"),
];

/// Parts of calls that models in a loop repeat.
const LOOPS: [(&str, &str); 6] = [
    ("<tool_call>\n<function=get_weather>\n", "<parameter=city>\n"),
    ("<function=get_weather>", "<parameter=city>Oslo"),
    ("", "<invoke>"),
    ("<tool_call>get_weather\n", "<arg_key>city</arg_key>\n"),
    ("", "get_weather {\n"),
    ("", "```get_weather {\n```\n"),
];

/// Limits: CPU seconds for each megabyte, and the exponent of the growth. A text that takes less time than `NOISE` has
/// no meaningful exponent.
const MOST_PER_MEGABYTE: f64 = 0.5;
const MOST_EXPONENT: f64 = 1.3;
const NOISE: Duration = Duration::from_millis(50);

/// The default time for judging one answer (`max_judgement_milliseconds`), which ends the work early.
const BUDGET: Duration = Duration::from_secs(2);

/// Number of patterns that are printed.
const SHOWN: usize = 15;

/// A text of any size: `head`, and then `unit` for each `tail`.
struct Pattern {
    name: &'static str,
    head: String,
    unit: String,
    tail: String,
}

impl Pattern {
    fn text(&self, bytes: usize) -> String {
        let count = bytes / (self.unit.len() + self.tail.len()).max(1);
        [self.head.clone(), self.unit.repeat(count), self.tail.repeat(count)].concat()
    }
}

/// Splits a call before each marker, quote, bracket and line break.
fn pieces(call: &str) -> Vec<&str> {
    let mut cuts: Vec<usize> = vec![0];
    let mut before = ' ';
    for (at, letter) in call.char_indices() {
        let begins = |letter: char| "<[{(\"\n`'".contains(letter);
        if at > 0 && (begins(letter) && !begins(before) || before == '>' || before == '\n') {
            cuts.push(at);
        }
        before = letter;
    }
    cuts.dedup();
    let ends = cuts.iter().skip(1).copied().chain([call.len()]);
    cuts.iter().zip(ends).filter_map(|(start, end)| call.get(*start..end)).collect()
}

/// Draws patterns of one notation.
fn patterns(name: &'static str, call: &str, count: usize) -> Vec<Pattern> {
    let pieces = pieces(call);
    let mut random = fastrand::Rng::with_seed(18);
    let pattern = |head: &[&str], unit: &[&str], tail: &[&str]| Pattern {
        name,
        head: head.concat(),
        unit: unit.concat(),
        tail: tail.concat(),
    };
    let mut out = vec![pattern(&[], &pieces, &[]), pattern(&[], &pieces[..1], &pieces[pieces.len() - 1..])];
    while out.len() < count {
        let mut range = || {
            let start = random.usize(..pieces.len());
            start..random.usize(start..pieces.len()) + 1
        };
        let (unit, tail) = (range(), range());
        let head = if random.bool() { 0..unit.start } else { 0..0 };
        let tail = if random.bool() { tail } else { 0..0 };
        let mut found = pattern(&pieces[head], &pieces[unit], &pieces[tail]);
        if random.u8(..4) == 0 {
            found.unit.push('\n');
        }
        out.push(found);
    }
    out.truncate(count);
    out
}

/// Number of measurements of a pattern above a limit. Other programs and a changing clock rate only add time.
const MEASUREMENTS: usize = 4;

/// Returns the CPU seconds per megabyte of reading a pattern, and the exponent of their growth.
fn growth(pattern: &Pattern, megabytes: usize, tools: &ToolSet) -> (f64, f64) {
    let texts = [pattern.text(megabytes << 19), pattern.text(megabytes << 20)];
    let mut least = [Duration::MAX; 2];
    let mut result = (0.0, 0.0);
    for _ in 0..MEASUREMENTS {
        for (text, least) in texts.iter().zip(&mut least) {
            *least = cost(text, tools).min(*least);
        }
        let [small, large] = least;
        let exponent = if large < NOISE { 0.0 } else { (large.as_secs_f64() / small.as_secs_f64()).log2() };
        result = (large.as_secs_f64() / megabytes as f64, exponent);
        if !is_over(result) {
            break;
        }
    }
    result
}

fn is_over((seconds, exponent): (f64, f64)) -> bool {
    seconds > MOST_PER_MEGABYTE || exponent > MOST_EXPONENT
}

/// Returns the CPU time of reading a text.
fn cost(text: &str, tool_set: &ToolSet) -> Duration {
    let budget = JudgementBudget::start(BudgetLimits { diagnoses: 100, time: Some(BUDGET) });
    let situation = Situation { budget: Some(&budget), ..Situation::with(Evidence::Amid) };
    let start = now();
    std::hint::black_box(rescue(text, tool_set, &situation));
    now().saturating_sub(start)
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}

fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}

fn number(name: &str, default: usize) -> usize {
    argument(name).map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name} {value}: not a number")))
}

fn main() -> ExitCode {
    let (patterns_of_each, megabytes) = (number("--patterns", 10), number("--megabytes", 2));
    let only = argument("--only");
    let tools = usual_tools();
    let mut found: Vec<(f64, f64, Pattern)> = Vec::new();
    let of_loop = |(head, unit): (&str, &str)| Pattern {
        name: "loop",
        head: head.to_owned(),
        unit: unit.to_owned(),
        tail: String::new(),
    };
    let drawn = CALLS.into_iter().flat_map(|(name, call)| patterns(name, call, patterns_of_each));
    let is_wanted = |pattern: &Pattern| only.as_ref().is_none_or(|name| name == pattern.name);
    for pattern in LOOPS.into_iter().map(of_loop).chain(drawn).filter(is_wanted) {
        let (seconds, exponent) = growth(&pattern, megabytes, &tools);
        found.push((seconds, exponent, pattern));
    }
    println!("{} patterns of {megabytes} MB; CPU seconds per MB, exponent", found.len());
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (seconds, exponent, pattern) in found.iter().take(SHOWN) {
        println!(
            "{seconds:.3} {exponent:.2} {}: {:?} {:?} {:?}",
            pattern.name, pattern.head, pattern.unit, pattern.tail
        );
    }
    let over: Vec<_> = found.iter().filter(|(seconds, exponent, _)| is_over((*seconds, *exponent))).collect();
    for (seconds, exponent, pattern) in &over {
        println!(
            "over: {seconds:.3} {exponent:.2} {}: {:?} {:?} {:?}",
            pattern.name, pattern.head, pattern.unit, pattern.tail
        );
    }
    if over.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
