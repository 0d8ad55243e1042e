use serde_json::json;

use super::*;

fn parsed(text: &str) -> Value {
    parse(text).unwrap().0
}

#[test]
fn keys_that_yaml_reads_as_other_types_stay_texts() {
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
    let value = parsed("base: &base {a: 1, b: 2}\nown:\n  <<: *base\n  b: 3\nlist: [*base, *base]\n");
    assert_eq!(value["own"], json!({"a": 1, "b": 3}));
    assert_eq!(value["list"][1], json!({"a": 1, "b": 2}));
}

#[test]
fn the_last_of_two_keys_holds_in_json_and_yaml() {
    assert_eq!(parsed(r#"{"a": 1, "a": 2}"#), json!({"a": 2}));
    assert_eq!(parsed("a: 1\na: 2\n"), json!({"a": 2}));
}

#[test]
fn a_byte_order_mark_and_lax_json_are_read() {
    assert_eq!(parsed("\u{feff}{\"a\": 1}"), json!({"a": 1}));
    assert_eq!(parsed("{a: 1, \"b\": [1, 2,],}"), json!({"a": 1, "b": [1, 2]}));
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let n = 10_000;
    for text in [
        format!("{}1{}", "{\"a\":".repeat(n), "}".repeat(n)),
        "[".repeat(n),
        format!("a: {}{}", "[".repeat(n), "]".repeat(n)),
        "- ".repeat(n),
        (0..n).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>(),
    ] {
        assert!(parse(&text).is_err(), "{}", &text[..20]);
    }
    let fits = format!("{}1{}", "[".repeat(MAX_NESTING - 1), "]".repeat(MAX_NESTING - 1));
    assert!(parse(&fits).is_ok() && parse(&format!("a: {fits}")).is_ok());
}

#[test]
fn alias_bombs_are_an_error() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        laughs.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    assert!(parse(&laughs).is_err());
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), "*a, ".repeat(10_000));
    assert!(parse(&long).is_err());
}

#[test]
fn what_is_neither_json_nor_yaml_says_where() {
    let message = parse("{\"a\": \"open").unwrap_err();
    assert!(message.contains("no JSON") && message.contains("line 1"), "{message}");
    let message = parse("a: [1\nb: {").unwrap_err();
    assert!(message.contains("no YAML") && message.contains("line"), "{message}");
}
