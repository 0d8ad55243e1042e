//! Compares the quick reader with the general parser.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::super::general::general;
use super::read;

/// Pieces of YAML whose combinations are texts of all kinds.
const PIECES: [&str; 74] = [
    "a", "b", "key", "200", "1.0", "007", "0x1f", "-1", "+1", "1e5", "1e999", ".inf", "-.5", "1_000", "2020-01-01",
    "true", "FALSE", "null", "nUll", "~", "yes", "<<", "é", "/pets/{id}", "$ref", "x-y", "-x", "#/c", "a:b", "a#b",
    ": ", ": ", ": ", ":", ":\n", ":\n", "- ", "- ", "-\n", "\n", "\n", "\n", "\n  ", "\n  ", "\n    ", "\n ", "\n\n",
    "\n\n\n  ", " ", "  ", "\t", " # c", "#", "\n# c\n", "\"", "\"", "'", "'", "''", "\\n", "\\u00e9", "\\\n", "\\ ",
    ": |\n", ": |-\n", ": >\n", ": >-\n", ": |+\n", ": |2\n", "[", "]", "{", "}", ", ",
];

/// Whole lines, most of which are correct.
const LINES: [&str; 44] = [
    "a: 1", "b: text of words", "c: \"quoted \\\"text\\\"\"", "d: 'it''s'", "e:", "f: |", "g: >", "h: >-", "i: |+",
    "j: |-", "- x", "- a: 1", "- - 1", "-", "text", "more text", "", "", "# comment", "k: [a, 'b', \"c\", 1]",
    "l: {a: 1, b: [x]}", "m: []", "n: {}", "o: text # comment", "'p': 1", "\"q\": 2", "r: \"several", "lines\"",
    "s: 'several", "lines'", "t: >2", "u: |1-", "v: [a,", "b]", "w: {x: 1,", "y: 2}", "  deeper", "   ", "z : 1", "\\",
    "a b: c d", "text: \"x\"", "- \"x\": 1", "--- ",
];

/// Whether the quick reader read the text, after comparing its value.
fn agrees(text: &str) -> bool {
    let Some(value) = read(text) else { return false };
    let expected = general(text);
    assert_eq!(expected.as_ref().ok(), Some(&(value, None)), "{text:?}: {expected:?}");
    true
}

#[test]
fn usual_documents_are_read() {
    for text in [
        "openapi: 3.0.0\ninfo:\n  title: An API\n  version: '1'\npaths: {}\n",
        "---\nopenapi: \"3.1.0\"\n# comment\ntags:\n- name: a # one\n  description: b\n-\n  name: c\n- - d\n  - e\n",
        "# comment\n---\na:\n    - x: 1\n      y: [a, 'b', \"c\", {d: 1, e: []}]\n    - z: {f: -1.5,\n          g: ~}\n",
        "a: |\n  several\n\n    lines\n  \nb: >-\n  folded\n  text\n\n  of: lines\nc: |\n  x\n\nd: |-\n    y\ne: >\nf:\n",
        "a: plain text\n  of lines\n\n  and more\nb: \"quoted \\\"text\\\" \\u00e9\\x41\n  of \\\n  lines\"\nc: 'it''s\n\n  a quote'\n",
        "200: ok\n/a/{b}: x\n$ref: '#/c'\n\"d e\": true\nf: ?g\nh: 2020-01-01\ni: 007\nj: http://x.example/#k\nl:\n  m\n",
        "a: 12\nb: -7\nc: 0x1F\nd: 1e3\ne: .inf\nf: 99999999999999999999\ng: TRUE\nh: Null\ni: no\nj: ...\nk: ---\n",
        "a: \"\\ud83d\\ude00\"\n",
    ] {
        assert!(agrees(text), "{text}");
    }
}

#[test]
fn whatever_else_a_text_contains_is_left_to_the_general_parser() {
    for text in [
        "", "a", "- a\n", "a: 1\na: 2\n", "a: &x 1\nb: *x\n", "a: !!str 1\n", "a: &x {b: 1}\nc:\n  <<: *x\n",
        "a:\n\tb: 1\n", "a: 1\r\nb: 2\r\n", "a: b: c\n", "a: 'open\n", "a: [1, 2\n", "? a\n: b\n", "null: a\n",
        "a: 1\n---\nb: 2\n", "%YAML 1.2\n---\na: 1\n", "a:\n  b: 1\n c: 2\n", "a: \u{7f}\n",
        "a: |\n  last line without a break", "a: |+\n  x\n\nb: 1\n", "a: |2-\n    y\n",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    let deep: String = (0..200).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert_eq!(read(&deep), None);
    assert_eq!(read(&format!("a: {}", "[".repeat(100_000))), None);
}

#[test]
fn hostile_texts_take_linear_time() {
    let n = 100_000;
    for piece in ["a: ", "- ", "\n", " \n", "\"", "'", "a:\n", "[", "{a: ", ":", "#", " #", "\\", "a\n ", "''", "|\n"] {
        for start in ["", "a: ", "a: |\n ", "a: \"", "a: '", "a: ["] {
            std::hint::black_box(read(&format!("{start}{}", piece.repeat(n))));
        }
    }
}

/// Values with texts of all kinds.
fn json_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof!["[a-z :#'\"\\\\{},-]{0,12}", "\\PC{0,20}", "([a-z: ]{0,20}\n){0,4}", "[a-z ]{100,200}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let members = vec((text.clone(), inner.clone()), 0..5);
        prop_oneof![
            vec(inner, 0..5).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

    #[test]
    fn pieces_have_the_value_that_the_general_parser_returns(pieces in vec(select(&PIECES[..]), 1..24)) {
        agrees(&format!("a: {}", pieces.concat()));
        agrees(&pieces.concat());
    }

    #[test]
    fn lines_have_the_value_that_the_general_parser_returns(
        lines in vec((select(&[0_usize, 0, 0, 1, 2, 2, 2, 4, 4, 6][..]), select(&LINES[..])), 1..10),
        ends in any::<bool>(),
    ) {
        let lines: Vec<String> = lines.iter().map(|(indent, line)| " ".repeat(*indent) + line).collect();
        agrees(&(lines.join("\n") + if ends { "\n" } else { "" }));
    }

    #[test]
    fn written_values_are_read(value in json_value()) {
        let text = serde_saphyr::to_string(&value).unwrap();
        agrees(&text);
    }
}
