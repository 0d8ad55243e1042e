//! E4.1: converts a value of the wrong type that represents exactly one value of the expected type.
//!
//! Makes only reversible changes: `"5"` becomes 5, and a number keeps all its digits. `"05"` and `"5.5"` for an integer
//! are not changed.

use serde_json::{Map, Number, Value};

use super::proposal::RepairProposal;
use super::rescue::literal::{Literal, constant, whole_json};
use callwright_common::json::text_at;
use callwright_scanner::{MAX_EXACT, SchemaRule, Violation};
use callwright_types::RepairKind;

/// Proposes the type coercion that the value of `violation` needs. `text` is the text of the arguments.
pub(super) fn propose(violation: &Violation, arguments: &Value, text: &str) -> Option<RepairProposal> {
    let SchemaRule::Type(expected) = &violation.rule else { return None };
    let path = &violation.path;
    let value = arguments.pointer(path.as_str())?;
    // Parsing does not keep the notation of a number: 1.10 becomes 1.1.
    if value.is_number() && expected.contains(&"string") {
        let digits = text_at(text, path)?;
        return Some(RepairProposal::set(RepairKind::TypeCoerced, path, value, Value::from(digits)));
    }
    if let Some(digits) = value.as_str().and_then(|text| long_number(text, expected)) {
        let to = serde_json::from_str(&digits).ok()?;
        return Some(RepairProposal::set_text(RepairKind::TypeCoerced, path, value, to, digits));
    }
    Some(RepairProposal::set(RepairKind::TypeCoerced, path, value, coerce(value, expected)?))
}

fn coerce(value: &Value, expected: &[&str]) -> Option<Value> {
    let converted = match value {
        Value::String(text) if expected.contains(&"null") && is_null(text) => Some(Value::Null),
        Value::String(text) => scalar(text, expected).or_else(|| structure(text, expected)),
        Value::Number(number) if number.is_f64() && expected.contains(&"integer") => whole(number).map(Value::Number),
        _ => None,
    };
    match converted {
        None if expected.contains(&"array") && is_one_item(value) => Some(Value::Array(vec![value.clone()])),
        converted => converted,
    }
}

/// Whether a text is the null value of JSON or of a programming language.
pub(super) fn is_null(text: &str) -> bool {
    constant(text.trim()) == Some(Literal::Null)
}

/// Parses the number or boolean that a string represents.
fn scalar(text: &str, expected: &[&str]) -> Option<Value> {
    let boolean: Option<bool> = text.to_ascii_lowercase().parse().ok().filter(|_| expected.contains(&"boolean"));
    if boolean.is_some() {
        boolean.map(Value::Bool)
    } else if expected.contains(&"number") {
        number(text).map(Value::Number)
    } else if expected.contains(&"integer") {
        number(text).filter(|_| !text.contains(['e', 'E'])).and_then(|number| whole(&number)).map(Value::Number)
    } else {
        None
    }
}

/// Maximum number of decimal digits that every JSON parser preserves (IEEE 754 binary64).
const EXACT_DIGITS: usize = 15;

/// Returns the text of a number with more digits than a parsed number keeps: an integer for `integer`, a number without
/// an exponent for `number`.
fn long_number(text: &str, expected: &[&str]) -> Option<String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
    let fits = expected.contains(&"number") || expected.contains(&"integer") && !text.contains('.');
    if !is_plain || !fits || text.len() <= EXACT_DIGITS || number(text).is_some() {
        return None;
    }
    json_number(text).map(|_| text.to_owned())
}

/// Parses a number by the grammar of RFC 8259.
fn json_number(text: &str) -> Option<Number> {
    let is_bare = text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit());
    serde_json::from_str(text).ok().filter(|_| is_bare)
}

/// Parses a number by the grammar of RFC 8259. Returns `None` if it cannot be represented exactly.
fn number(text: &str) -> Option<Number> {
    let number = json_number(text)?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.chars().filter(char::is_ascii_digit).skip_while(|digit| *digit == '0').count();
    (!number.is_f64() || digits <= EXACT_DIGITS || number.to_string() == text).then_some(number)
}

/// Converts a number with a zero fraction to an integer; `None` if the fraction is not zero or the number is too large
/// to be exact.
fn whole(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return Some(number.clone());
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= MAX_EXACT)?;
    #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
    let whole = float as i64;
    Some(Number::from(whole))
}

/// Parses the object or array that a string represents.
fn structure(text: &str, expected: &[&str]) -> Option<Value> {
    let fits = match text.trim_start().chars().next()? {
        '{' => expected.contains(&"object"),
        '[' | '(' => expected.contains(&"array"),
        _ => false,
    };
    if !fits {
        return None;
    }
    let value = serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&whole_json(text)?).ok())?;
    is_exact(&value).then_some(value)
}

/// Whether no number lost digits when the value was parsed.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64() || number.as_f64().is_some_and(|float| float.abs() < MAX_EXACT),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(members) => Map::values(members).all(is_exact),
        _ => true,
    }
}

/// Whether a scalar is evidently one item. A string that contains list separators or opening brackets is not.
fn is_one_item(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty() && !text.contains([',', ';', '|', '\n', '[', '{']) && !is_null(text),
        Value::Number(_) | Value::Bool(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::repair::testing::{repaired, unchanged};
    use callwright_scanner::testing::TOOLS;

    #[test]
    fn what_a_value_says_exactly_it_becomes() {
        for (value, expected, coerced) in [
            (json!("5"), "integer", json!(5)),
            (json!("-5"), "integer", json!(-5)),
            (json!("5.0"), "integer", json!(5)),
            (json!(5.0), "integer", json!(5)),
            (json!("18446744073709551615"), "integer", json!(u64::MAX)),
            (json!("5.5"), "number", json!(5.5)),
            (json!("1e3"), "number", json!(1000.0)),
            (json!("true"), "boolean", json!(true)),
            (json!("False"), "boolean", json!(false)),
            (json!(r#"{"a":[1]}"#), "object", json!({ "a": [1] })),
            (json!(" [1, 2]"), "array", json!([1, 2])),
            (json!("{'a': True,}"), "object", json!({ "a": true })),
            (json!("('a', None)"), "array", json!(["a", null])),
            (json!("red"), "array", json!(["red"])),
            (json!(7), "array", json!([7])),
        ] {
            assert_eq!(coerce(&value, &[expected]), Some(coerced), "{value} as {expected}");
        }
    }

    #[test]
    fn what_would_lose_something_stays() {
        for (value, expected) in [
            (json!("5.5"), "integer"),
            (json!(5.5), "integer"),
            (json!("05"), "integer"),
            (json!("+5"), "integer"),
            (json!(" 5"), "integer"),
            (json!("1e3"), "integer"),
            (json!("5 days"), "integer"),
            (json!("NaN"), "number"),
            (json!("0x10"), "number"),
            (json!("yes"), "boolean"),
            (json!(1), "boolean"),
            (json!("1"), "boolean"),
            (json!("[1]"), "object"),
            (json!("[123456789012345678901234567890]"), "array"),
            (json!("{'a': b}"), "object"),
            (json!("{'a': 1"), "object"),
            (json!("{'a': 1} b"), "object"),
            (json!("red, green"), "array"),
            (json!(""), "array"),
            (json!("null"), "array"),
            (json!("None"), "integer"),
            (json!({}), "array"),
            (json!(true), "string"),
            (json!(null), "array"),
        ] {
            assert_eq!(coerce(&value, &[expected]), None, "{value} as {expected}");
        }
    }

    #[test]
    fn a_number_keeps_all_its_digits_in_both_directions() {
        let tools = r#"[{"name":"f","parameters":{"type":"object","properties":{
            "id":{"type":"string"},"ids":{"type":"array","items":{"type":"string"}},
            "n":{"type":"integer"},"x":{"type":"number"}}}}]"#;
        for digits in ["150", "1.10", "2.0", "12345678901234567890123", "1e5", "1e21", "-0", "0.10000000000000000001"] {
            let (text, kinds) = repaired(tools, "f", &format!(r#"{{"id": {digits} , "ids":["a", {digits}]}}"#));
            assert_eq!(text, format!(r#"{{"id":"{digits}","ids":["a","{digits}"]}}"#));
            assert_eq!(kinds, [RepairKind::TypeCoerced; 2]);
        }
        for digits in ["12345678901234567890123", "-36893488147419103232", "9007199254740993"] {
            assert_eq!(repaired(tools, "f", &format!(r#"{{"n":"{digits}"}}"#)).0, format!(r#"{{"n":{digits}}}"#));
        }
        assert_eq!(repaired(tools, "f", r#"{"x":"0.1234567890123456789"}"#).0, r#"{"x":0.1234567890123456789}"#);
        let huge = "7".repeat(400);
        for text in [format!(r#"{{"n":"{huge}"}}"#), r#"{"n":"1234567890123456789012.5"}"#.to_owned()] {
            assert!(unchanged(tools, "f", &text), "{text}");
        }
    }

    #[test]
    fn text_null_becomes_null_where_the_schema_has_it_but_no_item() {
        let tools = r#"[{"name":"f","parameters":{"type":"object","properties":{
            "n":{"type":["integer","null"]},"l":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},
            "o":{"anyOf":[{"type":"object"},{"type":"null"}]},"e":{"anyOf":[{"enum":["x","y"]},{"type":"null"}]},
            "c":{"type":"string","enum":["none","all"],"nullable":true},"s":{"type":["string","null"]},
            "a":{"type":"array","items":{"type":"string"}},
            "in":{"type":"object","properties":{"b":{"type":"boolean","nullable":true}}}}}}]"#;
        for name in ["n", "l", "o", "e", "c"] {
            let (text, kinds) = repaired(tools, "f", &format!(r#"{{"{name}":"null"}}"#));
            assert_eq!((text, kinds), (format!(r#"{{"{name}":null}}"#), vec![RepairKind::TypeCoerced]));
        }
        assert_eq!(repaired(tools, "f", r#"{"n":"None"}"#).0, r#"{"n":null}"#);
        assert_eq!(repaired(tools, "f", r#"{"in":{"b":"null"}}"#).0, r#"{"in":{"b":null}}"#);
        assert_eq!(repaired(tools, "f", r#"{"c":"None"}"#).0, r#"{"c":"none"}"#, "an option first");
        for text in [r#"{"s":"null"}"#, r#"{"a":"null"}"#, r#"{"n":"nothing"}"#] {
            assert!(unchanged(tools, "f", text), "{text}");
        }
    }

    #[test]
    fn coercions_work_at_every_level_and_one_upon_another() {
        let (text, _) = repaired(TOOLS, "get_weather", r#"{"city": "Oslo", "num_days": "2", "detailed": "true"}"#);
        assert_eq!(text, r#"{"city":"Oslo","num_days":2,"detailed":true}"#);
        assert_eq!(
            repaired(TOOLS, "get_weather", r#"{"city":"Oslo","levels":"5"}"#).0,
            r#"{"city":"Oslo","levels":[5]}"#
        );
        let text = r#"{"place":"{\"City\":\"Oslo\"}","stops":["{\"city\":\"A\"}"]}"#;
        assert_eq!(repaired(TOOLS, "make_note", text).0, r#"{"place":{"city":"Oslo"},"stops":[{"city":"A"}]}"#);
        assert_eq!(repaired(TOOLS, "search", r#"{"query":"x","limit":"3"}"#).0, r#"{"query":"x","limit":3}"#);
    }

    #[test]
    fn a_coercion_that_does_not_make_its_place_right_is_not_kept() {
        for text in [r#"{"city":"Oslo","num_days":"99"}"#, r#"{"city":"Oslo","levels":"high"}"#] {
            assert!(unchanged(TOOLS, "get_weather", text), "{text}");
        }
        let tools = r#"[{"name":"f","parameters":{"type":"object","properties":{
            "a":{"type":"array","items":{"type":"integer"},"uniqueItems":true}}}}]"#;
        assert!(unchanged(tools, "f", r#"{"a":["1",1]}"#));
        assert_eq!(repaired(tools, "f", r#"{"a":["1",2]}"#).0, r#"{"a":[1,2]}"#);
    }

    #[test]
    fn good_repairs_are_kept_beside_bad_ones() {
        let (text, kinds) = repaired(TOOLS, "get_weather", r#"{"city":"Oslo","num_days":"99","detailed":"true"}"#);
        assert_eq!((text.as_str(), kinds.len()), (r#"{"city":"Oslo","num_days":"99","detailed":true}"#, 1));
    }
}
