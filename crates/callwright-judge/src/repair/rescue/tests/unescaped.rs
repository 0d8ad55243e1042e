//! Tests with lines of code that are written without escapes into every notation with strings. They are parsed exactly
//! or not at all, never as another value.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::Value;

use crate::repair::rescue::{Reading, Situation, rescue};
use crate::repair::{JudgedMessage, Spoken, judge_message};
use callwright_scanner::testing::{call, tool_set};
use callwright_scanner::{Context, ToolSet};
use callwright_types::rules::{Evidence, RepairRules, ScanRules};
use callwright_types::{RepairKind, Verdict};

/// Tools with a code parameter: alone, beside a required string, or beside optional parameters of several types.
const TOOLS: &str = r#"[
  {"name": "bash", "parameters": {"type": "object", "required": ["command"],
    "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}}}},
  {"name": "write_file", "parameters": {"type": "object", "required": ["path", "content"],
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}},
  {"name": "edit", "parameters": {"type": "object", "required": ["new"],
    "properties": {"new": {"type": "string"}, "old": {"type": "string"}, "file": {"type": "string"}}}},
  {"name": "ping", "parameters": {"type": "object", "properties": {}}}
]"#;

const LINES: &[&str] = &[
    r#"grep "foo" log.txt"#,
    r#"python -c 'print("x")'"#,
    r#"echo "a b" > out.txt"#,
    r#"echo "}" >> style.css"#,
    r#"echo "{" && echo "}""#,
    r#"awk '{print $1}' data.tsv"#,
    r#"awk -F"," '{print $2, "x"}' data.csv"#,
    r#"sed -i 's/"old"/"new"/g' conf.ini"#,
    r#"git commit -m "fix: don't fail on empty input""#,
    r#"curl -H "Content-Type: application/json" -d '{"a": "b", "n": [1, "2"]}' http://localhost:80"#,
    r#"find . -name "*.rs" -exec grep -l "fn main" {} \;"#,
    r#"ssh host "cd /srv && ls -la""#,
    r#"if [ "$a" = "b" ]; then echo "yes"; fi"#,
    r#"for f in "$@"; do echo "$f"; done"#,
    r#"docker run -e "KEY=value" img:latest sh -c "exit 0""#,
    r#"jq '.items[] | select(.name == "x")' in.json"#,
    r#"ps aux | grep '[p]ython'"#,
    r#"export PATH="$HOME/bin:$PATH""#,
    r#"printf "%s\n" "$line""#,
    r#"print("hello")"#,
    r#"print(", ".join(["a", "b"]))"#,
    r#"x = {"a": 1, "b": "two"}"#,
    r#"d["key"] = d.get("other", "none")"#,
    r#"if name == "main": run("x", mode="fast")"#,
    r#"raise ValueError(f"bad {value!r}: {{}}")"#,
    r#""""Returns the "best" value.""""#,
    r#"re.sub(r"\s+", " ", text)"#,
    r#"assert s.split('"') == ["a", "b"]"#,
    r#"s = 'it''s' + "x""#,
    r#"return '"' + value + '"'"#,
    r#"lines = [l for l in open("a.txt") if l != "\n"]"#,
    r#"console.log("a", 'b', `c ${d["e"]}`);"#,
    r#"const o = {"name": "bash", "arguments": {"command": "ls"}};"#,
    r#"import { a } from "./a.js";"#,
    r#"el.innerHTML = "<b class='x'>" + t + "</b>";"#,
    r#"if (a["b"] === "}") { return "]"; }"#,
    r#"fetch("/api?x=1&y=2").then(r => r.json())"#,
    r#"JSON.stringify({"path": "a", "content": "b"})"#,
    r#"<a href="/x" title="say 'hi'">link</a>"#,
    r#"<div class="a b" style="color: red"></div>"#,
    r#"<Foo bar={{baz: "q"}}>{"text"}</Foo>"#,
    r#"<input value="" disabled>"#,
    r#"SELECT "id", 'a''b' FROM "t" WHERE n = 'x';"#,
    r#"INSERT INTO t (a, b) VALUES ("x", 'y');"#,
    r#"{"name": "left-pad", "version": "1.0.0", "private": true}"#,
    r#"{"command": "ls", "timeout": "5"}"#,
    r#"[{"path": "a", "content": ""}, {"path": "b", "content": "c"}]"#,
    r#""key": "value","#,
    r#"key = "value" # "comment""#,
    r#"version: "3.9""#,
    r#"let s = format!("{a} \"{b}\"");"#,
    r#"fn main() { println!("{:?}", vec!["a", "b"]); }"#,
    r#"#include "a.h""#,
    r#"char *s = "a" "b"; // "c""#,
    r#"C:\dir\"x y"\file.txt"#,
    r#"echo "path\\to" 'C:\new'"#,
    r#"he said "yes", she said "no""#,
    r#"a 5" disk"#,
    r#"""#,
    r#"""""#,
    r#"x"}"#,
    r#"x"})"#,
    r#"a", "b": "c"#,
    r#"say "hi" a", "file": "b"#,
    r#"x="y", file="z"#,
    r#"}"#,
    "if (x) {\n  y = \"a\"\n}",
    "\"\"\"Doc.\n\nA \"word\".\n\"\"\"",
    "cat <<EOF\n{\"a\": \"b\"}\nEOF",
    "plain words, no quotes",
    "héllo \"wörld\" 東京",
];

/// A function that writes a call of `tool` with these arguments, with strings verbatim between quotes.
type Write = fn(tool: &str, arguments: &[(&str, &str)]) -> String;

fn object(arguments: &[(&str, &str)]) -> String {
    let members: Vec<String> = arguments.iter().map(|(key, value)| format!("\"{key}\": \"{value}\"")).collect();
    format!("{{{}}}", members.join(", "))
}

fn envelope(tool: &str, arguments: &[(&str, &str)]) -> String {
    format!("{{\"name\": \"{tool}\", \"arguments\": {}}}", object(arguments))
}

fn code(tool: &str, arguments: &[(&str, &str)], quote: &str) -> String {
    let arguments: Vec<String> = arguments.iter().map(|(key, value)| format!("{key}={quote}{value}{quote}")).collect();
    format!("{tool}({})", arguments.join(", "))
}

/// Notations with the quote that each puts around strings.
const NOTATIONS: &[(&str, &str, Write)] = &[
    ("json", "\"", |tool, arguments| envelope(tool, arguments)),
    ("json, then prose", "\"", |tool, arguments| format!("{}\n\nThat's it.", envelope(tool, arguments))),
    ("json list", "\"", |tool, arguments| format!("[{}]", envelope(tool, arguments))),
    ("json fence", "\"", |tool, arguments| format!("```json\n{}\n```", envelope(tool, arguments))),
    ("json, name last", "\"", |tool, arguments| {
        format!("{{\"arguments\": {}, \"name\": \"{tool}\"}}", object(arguments))
    }),
    ("tool_call", "\"", |tool, arguments| format!("<tool_call>\n{}\n</tool_call>", envelope(tool, arguments))),
    ("tool_call twice", "\"", |tool, arguments| {
        let call = format!("<tool_call>\n{}\n</tool_call>", envelope(tool, arguments));
        format!("{call}\n<tool_call>\n{{\"name\": \"ping\", \"arguments\": {{}}}}\n</tool_call>")
    }),
    ("function tag", "\"", |tool, arguments| format!("<function={tool}>{}</function>", object(arguments))),
    ("mistral", "\"", |tool, arguments| format!("[TOOL_CALLS] [{}]", envelope(tool, arguments))),
    ("mistral, name first", "\"", |tool, arguments| format!("[TOOL_CALLS]{tool}[ARGS]{}", object(arguments))),
    ("llama", "\"", |tool, arguments| format!("<|python_tag|>{}<|eom_id|>", envelope(tool, arguments))),
    ("name and object", "\"", |tool, arguments| format!("{tool}\n{}", object(arguments))),
    ("python", "\"", |tool, arguments| code(tool, arguments, "\"")),
    ("python, single quotes", "'", |tool, arguments| code(tool, arguments, "'")),
    ("python, triple quotes", "\"\"\"", |tool, arguments| code(tool, arguments, "\"\"\"")),
    ("python list", "\"", |tool, arguments| format!("[{}]", code(tool, arguments, "\""))),
    ("python list of two", "\"", |tool, arguments| format!("[{}, ping()]", code(tool, arguments, "\""))),
    ("lfm", "'", |tool, arguments| format!("<|tool_call_start|>[{}]<|tool_call_end|>", code(tool, arguments, "'"))),
    ("python dict", "'", |tool, arguments| {
        let members: Vec<String> = arguments.iter().map(|(key, value)| format!("'{key}': '{value}'")).collect();
        format!("{{'name': '{tool}', 'arguments': {{{}}}}}", members.join(", "))
    }),
];

/// Returns the number of cases of each property, which the environment can reduce.
fn cases() -> u32 {
    std::env::var("CALLWRIGHT_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(10_000)
}

fn config() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(11),
        cases: cases(),
        failure_persistence: None,
        max_global_rejects: 1_000_000,
        ..ProptestConfig::default()
    }
}

/// Generates lines, alone and joined.
fn code_text() -> impl Strategy<Value = String> {
    let separator = select(vec!["\n", " && ", "; ", " | ", ", ", "", " "]);
    (vec(select(LINES), 1..4), separator).prop_map(|(lines, separator)| lines.join(separator))
}

/// Generates a tool with its arguments in order. Strings beside the code are plain.
fn arguments() -> impl Strategy<Value = (&'static str, Vec<(&'static str, String)>)> {
    let plain = || select(vec!["a.txt", "src/main.rs", "x y", ""]).prop_map(str::to_owned);
    prop_oneof![
        code_text().prop_map(|code| ("bash", vec![("command", code)])),
        (plain(), code_text()).prop_map(|(path, code)| ("write_file", vec![("path", path), ("content", code)])),
        (code_text(), plain()).prop_map(|(code, path)| ("write_file", vec![("content", code), ("path", path)])),
        (code_text(), code_text()).prop_map(|(old, new)| ("edit", vec![("old", old), ("new", new)])),
        (code_text(), plain()).prop_map(|(new, file)| ("edit", vec![("new", new), ("file", file)])),
    ]
}

/// Whether a string is written correctly in these quotes, which makes its escapes significant.
fn is_right(value: &str, quote: &str) -> bool {
    let mut letters = value.chars();
    let mut bare = String::new();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            if letters.next().is_none() {
                return false;
            }
        } else {
            bare.push(letter);
        }
    }
    !bare.contains(quote)
}

/// Whether the arguments of a call are those that were written. A string without inner quotes has the value of its
/// escapes.
fn is_exact(read: &str, arguments: &[(&str, String)], quote: &str) -> bool {
    let read: serde_json::Map<String, Value> =
        serde_json::from_str(read).unwrap_or_else(|error| panic!("{error}: {read}"));
    let is_same = |(key, value): &(&str, String)| {
        value.contains('\\') && is_right(value, quote) || read.get(*key).and_then(Value::as_str) == Some(value)
    };
    // If all strings are well-formed, any result is correct, because the text is unambiguous.
    arguments.iter().all(|(_, value)| is_right(value, quote))
        || read.len() == arguments.len() && arguments.iter().all(is_same)
}

fn tools() -> &'static ToolSet {
    static BOOK: std::sync::LazyLock<ToolSet> = std::sync::LazyLock::new(|| tool_set(TOOLS));
    &BOOK
}

/// Judges the message by the default policy. A faulty call is not forwarded.
fn judged(spoken: &Spoken<'_>) -> JudgedMessage {
    judge_message(spoken, tools(), &ScanRules::default(), &RepairRules::default(), &Context::default())
}

fn borrowed<'a>(arguments: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    arguments.iter().map(|(key, value)| (*key, value.as_str())).collect()
}

/// Returns the problems of the requested number of generated cases.
fn problems<T: std::fmt::Debug>(
    cases_of: impl Strategy<Value = T>,
    check: impl Fn(&T) -> Option<String>,
) -> Vec<String> {
    let mut runner = TestRunner::new(config());
    let cases = (0..cases()).map(|_| cases_of.new_tree(&mut runner).unwrap().current());
    cases.filter_map(|case| check(&case)).take(20).collect()
}

#[test]
fn code_in_text_is_read_exactly_or_not_at_all() {
    let cases = (select(NOTATIONS), arguments());
    let problems = problems(cases, |((name, quote, write), (tool, arguments))| {
        let text = write(tool, &borrowed(arguments));
        // Valid JSON is parsed as JSON.
        if *quote == "\"" && serde_json::from_str::<Value>(&object(&borrowed(arguments))).is_ok() {
            return None;
        }
        let spoken = Spoken { text: Some(&text), calls: &[], situation: Situation::with(Evidence::Amid) };
        let judged = judged(&spoken);
        let first = judged.calls.first().filter(|_| judged.verdict() != Verdict::Faulty)?;
        // A string that ends like another parameter of the tool is taken apart, whatever the notation.
        if first.repairs.iter().any(|repair| repair.kind == RepairKind::ParameterSeparated) {
            return None;
        }
        let first = &first.repaired;
        let is_right = first.name == *tool && is_exact(&first.arguments, arguments, quote);
        (!is_right).then(|| format!("{name}: {}({}) of {arguments:?} in\n{text}\n", first.name, first.arguments))
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn code_in_native_arguments_is_read_exactly_or_not_at_all() {
    let problems = problems(arguments(), |(tool, arguments)| {
        let text = object(&borrowed(arguments));
        if serde_json::from_str::<Value>(&text).is_ok() {
            return None;
        }
        let calls = [call(tool, &text)];
        let judged = judged(&Spoken { text: None, calls: &calls, situation: Situation::with(Evidence::Amid) });
        let first = &judged.calls.first().filter(|_| judged.verdict() != Verdict::Faulty)?.repaired;
        let is_right = is_exact(&first.arguments, arguments, "\"");
        (!is_right).then(|| format!("{} of {arguments:?} in\n{text}\n", first.arguments))
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Counts how many of the lines, each alone, are parsed in each notation. A parser that rejects all lines would satisfy
/// the other tests.
#[test]
fn most_lines_with_quotes_are_read_where_one_argument_is_given() {
    for (name, quote, write) in NOTATIONS.iter().filter(|(_, quote, _)| quote.len() == 1) {
        let lines: Vec<&&str> =
            LINES.iter().filter(|line| line.contains(quote) && !line.contains('\\') && line.len() > 12).collect();
        let is_read = |line: &&&str| {
            let text = write("bash", &[("command", line)]);
            matches!(rescue(&text, tools(), &Situation::with(Evidence::Amid)), Reading::Calls(_))
        };
        let read = lines.iter().filter(|line| is_read(line)).count();
        assert!(read * 4 >= lines.len() * 3, "{name}: {read} of {}", lines.len());
    }
}

#[test]
fn strings_with_inner_quotes_are_read_where_one_reading_fits() {
    let command = |text: &str| match rescue(text, tools(), &Situation::with(Evidence::Amid)) {
        Reading::Calls(rescued) => {
            let [call] = rescued.calls.as_slice() else { panic!("{rescued:?}") };
            serde_json::from_str::<Value>(&call.arguments).unwrap()
        }
        _ => Value::Null,
    };
    for (text, expected) in [
        (
            r#"{"name": "bash", "arguments": {"command": "python -c 'print("x")'"}}"#,
            serde_json::json!({"command": "python -c 'print(\"x\")'"}),
        ),
        (
            r#"bash(command="grep "foo" log.txt", timeout=5)"#,
            serde_json::json!({"command": "grep \"foo\" log.txt", "timeout": 5}),
        ),
        (
            r#"bash(command='awk '{print}' f', timeout=2)"#,
            serde_json::json!({"command": "awk '{print}' f", "timeout": 2}),
        ),
        (
            r#"<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "x = "} + y"}}</tool_call>"#,
            serde_json::Value::Null,
        ),
        (
            r#"<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "x = "}" + "y" "}}</tool_call>"#,
            serde_json::json!({"path": "a", "content": "x = \"}\" + \"y\" "}),
        ),
        // Two readings: with and without the optional parameter.
        (r#"{"name": "edit", "arguments": {"new": "say "hi" now", "file": "x"}}"#, serde_json::Value::Null),
        // Escapes that may be meant literally.
        (r#"{"name": "bash", "arguments": {"command": "printf "a\n""}}"#, serde_json::Value::Null),
    ] {
        assert_eq!(command(text), expected, "{text}");
    }
}
