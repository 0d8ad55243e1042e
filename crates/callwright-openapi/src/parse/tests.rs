use serde_json::json;

use super::parsed::MAX_NESTING;
use super::*;

fn parsed(text: &str) -> Value {
    parse(text.into()).unwrap().value
}

/// Returns the value and the remarks.
fn repaired(text: &str) -> (Value, String) {
    let parsed = parse(text.into()).unwrap();
    assert_eq!(parsed.text.matches('\n').count(), text.matches('\n').count(), "lines stay");
    (parsed.value, parsed.remarks.join("; "))
}

#[test]
fn yaml_keys_of_other_types_become_strings() {
    let value =
        parsed("responses:\n  200: {description: ok}\n  default: {}\n1.0: a\ntrue: b\nnull: c\n2020-01-01: d\n");
    assert_eq!(value["responses"]["200"]["description"], "ok");
    for (key, expected) in [("1.0", "a"), ("true", "b"), ("null", "c"), ("2020-01-01", "d")] {
        assert_eq!(value[key], expected, "{key} in {value}");
    }
}

#[test]
fn yaml_scalars_are_read_as_yaml_1_2_does() {
    let text = "infinite: .inf\ndate: 2020-01-01\ntime: 12:30\ncountry: no\nyes: y\nversion: 1.10\noctal: 0123\nbig: 18446744073709551616\nempty:\n";
    let value = parsed(text);
    assert_eq!(value["date"], "2020-01-01");
    assert_eq!(value["time"], "12:30");
    assert_eq!(value["country"], "no");
    assert_eq!(value["yes"], "y");
    assert_eq!(value["version"], json!(1.1));
    assert!(value["big"].is_number() || value["big"].is_string());
    assert_eq!(value["infinite"], ".inf");
    assert_eq!(value["empty"], Value::Null);
}

#[test]
fn anchors_and_merge_keys_are_expanded() {
    let (value, remarks) = repaired("base: &base {a: 1, b: 2}\nown:\n  <<: *base\n  b: 3\nlist: [*base, *base]\n");
    assert_eq!(remarks, "", "a key that replaces a merged one does not occur twice");
    assert_eq!(value["own"], json!({"a": 1, "b": 3}));
    assert_eq!(value["list"][1], json!({"a": 1, "b": 2}));
}

#[test]
fn the_last_of_two_keys_holds_in_json_and_yaml() {
    for text in [r#"{"a": 1, "a": 2}"#, "a: 1\na: 2\n"] {
        let (value, remarks) = repaired(text);
        assert_eq!(value, json!({"a": 2}));
        assert_eq!(remarks, "has keys more than once in one object (`a`); the last one is used");
    }
    let many: String = (0..20).map(|key| format!("k{key}: 1\nk{key}: 2\n")).collect();
    assert!(
        repaired(&many).1.contains("`k0`, `k1`, `k10`, `k11`, `k12`, ...")
            || repaired(&many).1.ends_with("...); the last one is used")
    );
}

#[test]
fn a_byte_order_mark_and_lax_json_are_read() {
    assert_eq!(parsed("\u{feff}{\"a\": 1}"), json!({"a": 1}));
    let (value, remarks) = repaired("{a: 1, \"b\": [1, 2,],}");
    assert_eq!(value, json!({"a": 1, "b": [1, 2]}));
    assert!(remarks.starts_with("is not valid JSON (") && remarks.ends_with("and is parsed as YAML"), "{remarks}");
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let n = 10_000;
    for text in [
        format!("{}1{}", "{\"a\":".repeat(n), "}".repeat(n)),
        "[".repeat(n),
        format!("a: {}{}", "[".repeat(n), "]".repeat(n)),
        "- ".repeat(n),
        (0..1_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>(),
    ] {
        assert!(parse(text.clone().into()).is_err(), "{}", &text[..20]);
    }
    let fits = format!("{}1{}", "[".repeat(MAX_NESTING - 1), "]".repeat(MAX_NESTING - 1));
    assert!(parse(fits.clone().into()).is_ok() && parse(format!("a: {fits}").into()).is_ok());
}

#[test]
fn alias_bombs_are_an_error() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        laughs.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    assert!(parse(laughs.into()).is_err());
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), "*a, ".repeat(10_000));
    assert!(parse(long.into()).is_err());
}

#[test]
fn a_syntax_error_names_its_position() {
    let message = parse("{\"a\": \"open".into()).unwrap_err();
    assert!(message.contains("invalid JSON") && message.contains("line 1"), "{message}");
    let message = parse("a: [1\nb: {".into()).unwrap_err();
    assert!(message.contains("invalid YAML") && message.contains("line"), "{message}");
}

#[test]
fn json_with_comments_and_last_commas_is_read() {
    let (value, remarks) = repaired("{ // one\n \"a\": \"http://x // y\", /* two\n */ \"b\": [1, 2,],\n}\n");
    assert_eq!(value, json!({"a": "http://x // y", "b": [1, 2]}));
    assert!(remarks.contains("comments"), "{remarks}");
    assert_eq!(repaired("{\"a\": 1}").1, "");
}

#[test]
fn yaml_indented_with_tabs_is_read() {
    let (value, remarks) = repaired("a:\n\tb:\n\t\tc: 1\n\tlist:\n\t- x: 1\n\t  y: 2\n");
    assert_eq!(value, json!({"a": {"b": {"c": 1}, "list": [{"x": 1, "y": 2}]}}));
    assert!(remarks.contains("each is read as 2 spaces"), "{remarks}");
    // Lines with spaces and lines with tabs: the matching width is found.
    assert_eq!(repaired("a:\n    b: 1\n\tc: 2\n").0, json!({"a": {"b": 1, "c": 2}}));
    assert_eq!(repaired("a:\t1\n").1, "");
}

#[test]
fn control_characters_in_yaml_are_spaces() {
    let (value, remarks) = repaired("a: x\u{1}y\nb: 2\n");
    assert_eq!(value, json!({"a": "x y", "b": 2}));
    assert!(remarks.contains("control characters"), "{remarks}");
}

#[test]
fn of_several_yaml_documents_the_openapi_document_is_read() {
    let (value, remarks) = repaired("kind: Pod\n---\nopenapi: 3.0.0\npaths: {}\n");
    assert_eq!(value["openapi"], "3.0.0");
    assert!(remarks.contains("several YAML documents"), "{remarks}");
    assert_eq!(repaired("---\na: 1\n...\n"), (json!({"a": 1}), String::new()));
}

#[test]
fn bytes_that_are_no_utf_8_are_remarked() {
    let parsed = parse(b"a: Z\xfcrich\n".to_vec()).unwrap();
    assert_eq!((parsed.value, parsed.remarks.len()), (json!({"a": "Z\u{fc}rich"}), 1));
}

#[test]
fn foreign_formats_are_named() {
    assert!(parse(b"  <!doctype html>".to_vec()).unwrap_err().contains("HTML page"));
    assert!(parse(Vec::new()).unwrap_err().contains("empty"));
}
