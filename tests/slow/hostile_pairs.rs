//! Schemas and arguments that multiply each other's work, under a limit of memory: none ends the process, and each gets a
//! verdict.
//!
//! `CALLWRIGHT_TEST_CASES` sets the number of random pairs.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::process::{Child, Command, Stdio};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::support::POLL;

/// Default number of random pairs.
const PAIRS: usize = 100;

const SEED: u64 = 41;

/// Address space beyond that of an idle process, in KiB.
const BEYOND_IDLE_KIB: u64 = 512 * 1024;

/// Largest number of branches of a schema, and of items of an argument, of a random pair.
const BRANCHES: usize = 300;
const ITEMS: usize = 2_000;

/// Number of polls for which the address space of an idle process must stay the same.
const STABLE_POLLS: usize = 50;

/// Schema of the argument `list`, and the argument.
type Pair = (Value, Value);

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// A list of `items`, each of which violates each of `branches`.
fn product(branches: usize, items: usize, random: &mut Rng) -> Pair {
    let keyword = ["anyOf", "oneOf", "allOf"][random.usize(..3)];
    let branch = |number: usize| object(json!({"kind": {"const": number}, "size": {"minimum": number}}));
    let branches: Vec<Value> = (0..branches).map(branch).collect();
    let items: Vec<Value> = (0..items).map(|number| json!({"kind": "none", "size": number % 7})).collect();
    (json!({"type": "array", "items": {keyword: branches}}), json!(items))
}

/// Combinators within combinators, so that the branches of all levels multiply.
fn nested(random: &mut Rng) -> Pair {
    let mut schema = json!({"type": "string", "pattern": "^a+$"});
    for _ in 0..random.usize(1..12) {
        let keyword = ["anyOf", "oneOf", "allOf", "not", "if"][random.usize(..5)];
        schema = match keyword {
            "not" => json!({"not": schema}),
            "if" => json!({"if": schema.clone(), "then": schema.clone(), "else": schema}),
            _ => json!({keyword: vec![schema; random.usize(1..4)]}),
        };
    }
    let items: Vec<String> = (0..random.usize(1..200)).map(|number| "a".repeat(number % 9) + "b").collect();
    (json!({"type": "array", "items": schema}), json!(items))
}

/// Definitions of which each refers to the next one several times.
fn fan(random: &mut Rng) -> Pair {
    let (levels, width) = (random.usize(2..40), random.usize(1..4));
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({"$ref": format!("#/properties/list/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"anyOf": vec![next; width]}));
    }
    definitions.insert(format!("d{levels}"), json!({"type": "integer"}));
    (json!({"$defs": definitions, "$ref": "#/properties/list/$defs/d0"}), json!(["text", "text", "text"]))
}

/// Patterns with many ways to match, and long texts that they do not match.
fn patterns(random: &mut Rng) -> Pair {
    let pattern =
        ["^(a+)+$", "^(a|aa)+$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$", "^(.*?,){40}P"][random.usize(..5)];
    let text = "a".repeat(random.usize(1..20_000)) + "!";
    let named: serde_json::Map<String, Value> =
        (0..random.usize(1..200)).map(|number| (format!("{text:.40}{number}"), json!(number))).collect();
    let schema = json!({"anyOf": [
        {"type": "string", "pattern": pattern},
        {"type": "object", "patternProperties": {pattern: {"type": "string"}}, "propertyNames": {"pattern": pattern}},
    ]});
    (schema, if random.bool() { json!(text) } else { Value::Object(named) })
}

/// Items that are compared with each other, or with a long list of values.
fn comparisons(random: &mut Rng) -> Pair {
    let items: Vec<Value> =
        (0..random.usize(1..ITEMS)).map(|number| json!({"id": number / 2, "a": [number]})).collect();
    let values: Vec<Value> = (0..random.usize(1..BRANCHES)).map(|number| json!({"id": number})).collect();
    (
        json!({"type": "array", "uniqueItems": true, "items": {"enum": values}, "contains": {"enum": values}}),
        json!(items),
    )
}

fn pair(random: &mut Rng) -> Pair {
    match random.usize(..5) {
        0 => product(random.usize(1..BRANCHES), random.usize(1..ITEMS), random),
        1 => nested(random),
        2 => fan(random),
        3 => patterns(random),
        _ => comparisons(random),
    }
}

fn line(number: usize, (schema, argument): &Pair) -> String {
    let function = json!({"name": "f", "parameters": object(json!({"list": schema}))});
    let arguments = json!({"list": argument}).to_string();
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}});
    json!({
        "id": number.to_string(),
        "tools": [{"type": "function", "function": function}],
        "message": {"role": "assistant", "content": null, "tool_calls": [call]},
    })
    .to_string()
}

/// Starts `callwright scan` within this address space.
fn scan(limit_kib: Option<u64>) -> Child {
    let limit = limit_kib.map_or_else(String::new, |kib| format!("ulimit -v {kib} && "));
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limit}exec \"$0\" scan"), env!("CARGO_BIN_EXE_callwright")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the address space of a process that has judged nothing yet, in KiB.
fn idle_kib() -> u64 {
    let mut child = scan(None);
    let status = format!("/proc/{}/status", child.id());
    let mut seen = Vec::new();
    loop {
        let status = std::fs::read_to_string(&status).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
        seen.push(peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap());
        if seen.len() > STABLE_POLLS && seen[seen.len() - STABLE_POLLS..].iter().all(|peak| Some(peak) == seen.last()) {
            break;
        }
        std::thread::sleep(POLL);
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    seen.pop().unwrap()
}

#[test]
fn no_pair_of_schema_and_arguments_needs_more_than_its_memory() {
    let pairs = std::env::var("CALLWRIGHT_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(PAIRS);
    let mut random = Rng::with_seed(SEED);
    let mut lines = String::new();
    // The largest one first: what it leaves behind counts for the others.
    for number in 0..=pairs {
        let pair = if number == 0 { product(2_000, 20_000, &mut random) } else { pair(&mut random) };
        writeln!(lines, "{}", line(number, &pair)).unwrap();
    }
    let mut child = scan(Some(idle_kib() + BEYOND_IDLE_KIB));
    let mut stdin = child.stdin.take().unwrap();
    // In another thread, because writing blocks while the output is not read.
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}: {}", ended.status, String::from_utf8_lossy(&ended.stderr));
    writer.join().unwrap().unwrap();
    assert_eq!(output.lines().count(), pairs + 1);
}
