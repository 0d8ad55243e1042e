//! Tests that hostile schemas and arguments have a defined and bounded result.

use serde_json::{Map, Value, json};

use super::testing::{TOOLS, call, codes, refusing, tool, tool_set};
use super::{MAX_DIAGNOSES, ToolSet, Validators, scan};
use callwright_types::rules::{Report, ScanRules};
use callwright_types::{Call, FaultCode};

fn book(parameters: &Value) -> ToolSet {
    ToolSet::compile(vec![tool("f", parameters)], &Validators::default())
}

fn found(book: &ToolSet, arguments: &str) -> Vec<FaultCode> {
    let rules = ScanRules { report: Report::All, ..refusing() };
    let found = scan(&call("f", arguments), 0, book, &rules).err().unwrap_or_default();
    found.into_iter().map(|diagnosis| diagnosis.code).collect()
}

#[test]
fn a_schema_five_hundred_levels_deep_is_read_as_far_as_is_sane() {
    let deep = (0..500)
        .fold(json!({ "type": "integer" }), |inner, _| json!({ "type": "object", "properties": { "a": inner } }));
    let book = book(&json!({ "type": "object", "properties": { "a": deep, "b": { "type": "integer" } } }));
    assert!(book.tools()[0].problems().iter().any(|problem| problem.contains("nested too deeply")));
    assert_eq!(found(&book, r#"{"a":1,"b":2}"#), [FaultCode::TypeMismatch]);
    assert!(found(&book, r#"{"a":{"a":{"a":{}}},"b":2}"#).is_empty());
    let arguments = (0..100).fold("{}".to_owned(), |inner, _| format!("{{\"a\":{inner}}}"));
    assert!(found(&book, &arguments).is_empty(), "deeper schemas accept anything");
}

#[test]
fn arguments_nested_without_end_are_no_arguments() {
    for arguments in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        assert_eq!(codes(TOOLS, "log", &arguments), [FaultCode::NoCall]);
    }
}

#[test]
fn thousands_of_known_and_unknown_properties_bound_the_report() {
    let properties: Map<String, Value> =
        (0..10_000).map(|index| (format!("property_{index}"), json!({ "type": "integer" }))).collect();
    let book = book(&json!({ "type": "object", "properties": properties }));
    let unknown: Map<String, Value> = (0..10_000).map(|index| (format!("unknown_{index}"), json!(1))).collect();
    let found = found(&book, &Value::Object(unknown).to_string());
    assert_eq!(found.len(), MAX_DIAGNOSES);
    assert!(found.iter().all(|code| code.level() == 3));
}

#[test]
fn many_unknown_tools_among_many_offered_ones_are_distinguished() {
    let offered: Vec<_> = (0..400).map(|index| tool(&format!("offered_tool_{index}"), &Value::Null)).collect();
    let book = ToolSet::compile(offered, &Validators::default());
    let rules = ScanRules::default();
    for index in 0..400 {
        let name = format!("unheard_of_{index}_{}", "x".repeat(index * 50));
        let call = Call { id: String::new(), name, arguments: "{}".to_owned() };
        let found = scan(&call, index, &book, &rules).unwrap_err();
        assert_eq!((found.len(), found[0].code, found[0].call), (1, FaultCode::ToolUnknown, index));
    }
}

#[test]
fn numbers_beyond_floating_point_are_exact_or_no_arguments() {
    let book = book(&json!({ "type": "object", "properties": {
        "n": { "type": "integer", "maximum": 9_007_199_254_740_993_u64 }, "any": { "type": "integer" } } }));
    assert!(found(&book, r#"{"n":9007199254740993}"#).is_empty());
    assert_eq!(found(&book, r#"{"n":9007199254740994}"#), [FaultCode::Constraint]);
    assert!(found(&book, r#"{"any":18446744073709551615}"#).is_empty());
    // Beyond 64 bits, JSON readers only have the nearest floating-point number.
    assert!(found(&book, r#"{"any":18446744073709551616}"#).is_empty());
    assert_eq!(found(&book, r#"{"any":1e400}"#), [FaultCode::NoCall], "no reader of 64-bit numbers has a value for it");
    assert_eq!(found(&book, r#"{"any":0.5}"#), [FaultCode::TypeMismatch]);
}

#[test]
fn of_a_name_that_is_given_twice_the_last_value_counts() {
    assert!(codes(TOOLS, "get_weather", r#"{"city":1,"city":"Oslo"}"#).is_empty());
    assert_eq!(codes(TOOLS, "get_weather", r#"{"city":"Oslo","city":1}"#), [FaultCode::TypeMismatch]);
}

#[test]
fn half_a_surrogate_pair_is_no_text_and_a_whole_one_is() {
    for arguments in
        [r#"{"city":"\ud83d"}"#, r#"{"city":"\ude00"}"#, r#"{"\ud800":"Oslo"}"#, r#"{"city":"\ude00\ud83d"}"#]
    {
        assert_eq!(codes(TOOLS, "get_weather", arguments), [FaultCode::NoCall], "{arguments}");
    }
    assert!(codes(TOOLS, "get_weather", r#"{"city":"\ud83d\ude00"}"#).is_empty());
}

#[test]
fn a_schema_that_is_too_long_judges_names_and_syntax_alone() {
    let schema = json!({ "properties": { "a": { "type": "integer", "description": "x".repeat(600_000) } } });
    let book = book(&schema);
    assert!(book.tools()[0].problems()[0].contains("not used for validation"));
    assert!(found(&book, r#"{"a":"x"}"#).is_empty());
    assert_eq!(found(&book, "x"), [FaultCode::NoCall]);
}

#[test]
fn names_and_values_without_end_are_repeated_in_part() {
    let long = "x".repeat(1_000_000);
    for (name, arguments) in [
        (long.as_str(), "{}".to_owned()),
        ("get_weather", format!("{{\"{long}\":1}}")),
        ("get_weather", format!("{{\"city\":\"Oslo\",\"unit\":\"{long}\"}}")),
        ("get_weather", long.clone()),
    ] {
        let found = scan(&call(name, &arguments), 0, &tool_set(TOOLS), &ScanRules::default()).unwrap_err();
        assert!(found[0].message.len() < 1_000 && found[0].facts.to_string().len() < 4_000);
    }
}
