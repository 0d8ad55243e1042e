//! E4.2: replaces a value that differs from exactly one allowed value only in its spelling.

use serde_json::Value;

use super::RepairProposal;
use super::null::parent;
use crate::scanner::schema::{SchemaRule, Violation};
use callwright_types::RepairKind;

/// Proposes the one allowed value that `violation`'s value spells differently: in another case, with other separators,
/// or as a string instead of a number or boolean.
pub(super) fn propose(violation: &Violation, arguments: &Value) -> Option<RepairProposal> {
    let SchemaRule::Options(options) = &violation.rule else { return None };
    let value = arguments.pointer(violation.path.as_str())?;
    if value.as_str().is_some_and(|text| text.trim().is_empty()) {
        return absent(violation, arguments, value);
    }
    let written = fold(value.as_str()?);
    let mut same = options.as_array()?.iter().filter(|option| is_same(option, &written, value));
    let (Some(only), None) = (same.next(), same.next()) else { return None };
    let kind = if only.is_string() { RepairKind::EnumNormalised } else { RepairKind::TypeCoerced };
    Some(RepairProposal::set(kind, &violation.path, value, only.clone()))
}

/// Proposes the removal of an empty string, which selects no option. The caller checks afterwards whether the object is
/// valid without it.
fn absent(violation: &Violation, arguments: &Value, value: &Value) -> Option<RepairProposal> {
    let is_member = arguments.pointer(parent(&violation.path)).is_some_and(Value::is_object);
    (is_member && !violation.path.is_root())
        .then(|| RepairProposal::remove(RepairKind::EmptyDropped, &violation.path, value))
}

fn is_same(option: &Value, written: &str, value: &Value) -> bool {
    match option {
        Value::String(option) => !written.is_empty() && fold(option) == written,
        Value::Number(_) | Value::Bool(_) => value.as_str() == Some(option.to_string().as_str()),
        _ => false,
    }
}

/// Folds case and removes separators. A separator between two digits, or as a sign before one, is significant (`1.5`,
/// `-1`, `2025-01`) and is kept.
fn fold(text: &str) -> String {
    let letters: Vec<char> = text.trim().chars().flat_map(char::to_lowercase).collect();
    let is_digit = |index: Option<usize>| index.and_then(|index| letters.get(index)).is_some_and(char::is_ascii_digit);
    let keeps = |index: usize| {
        let before = index.checked_sub(1);
        is_digit(Some(index + 1)) && (is_digit(before) || before.is_none())
    };
    let separators = [' ', '\t', '_', '-', '.', '/', ':'];
    letters
        .iter()
        .enumerate()
        .filter(|(index, letter)| !separators.contains(letter) || keeps(*index))
        .map(|(_, letter)| *letter)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repair::testing::{mended, unchanged};
    use crate::scanner::testing::TOOLS;

    fn tool(options: &str) -> String {
        format!(r#"[{{"name":"f","parameters":{{"type":"object","properties":{{"a":{{"enum":{options}}}}}}}}}]"#)
    }

    #[test]
    fn an_option_in_another_writing_is_normalised() {
        let (text, kinds) = mended(TOOLS, "get_weather", r#"{"city":"Oslo","unit":"Celsius"}"#);
        assert_eq!(
            (text.as_str(), kinds.as_slice()),
            (r#"{"city":"Oslo","unit":"celsius"}"#, &[RepairKind::EnumNormalised][..])
        );
        let (text, _) = mended(&tool(r#"["IN_PROGRESS","DONE"]"#), "f", r#"{"a":"in progress"}"#);
        assert_eq!(text, r#"{"a":"IN_PROGRESS"}"#);
        let (text, _) = mended(&tool("[1,2,true]"), "f", r#"{"a":"2"}"#);
        assert_eq!(text, r#"{"a":2}"#);
    }

    #[test]
    fn an_empty_string_for_an_optional_choice_becomes_absent() {
        let (text, kinds) = mended(TOOLS, "get_weather", r#"{"city":"Oslo","unit":""}"#);
        assert_eq!((text.as_str(), kinds.as_slice()), (r#"{"city":"Oslo"}"#, &[RepairKind::EmptyDropped][..]));
        let required = r#"[{"name":"f","parameters":{"type":"object","required":["a"],
            "properties":{"a":{"enum":["x","y"]},"b":{"type":"array","items":{"enum":["x","y"]}}}}}]"#;
        assert!(unchanged(required, "f", r#"{"a":""}"#));
        assert!(unchanged(required, "f", r#"{"a":"x","b":["y",""]}"#));
        assert!(unchanged(TOOLS, "get_weather", r#"{"city":""}"#));
    }

    #[test]
    fn options_over_several_branches_count_together() {
        let tools = r#"[{"name":"f","parameters":{"type":"object","properties":{"a":{"anyOf":[
            {"const":"Red"},{"const":"Green"},{"type":"null"}]}}}}]"#;
        assert_eq!(mended(tools, "f", r#"{"a":"GREEN"}"#).0, r#"{"a":"Green"}"#);
    }

    #[test]
    fn what_is_another_value_or_means_several_stays() {
        assert!(unchanged(&tool(r#"["a-b","ab"]"#), "f", r#"{"a":"A_B"}"#));
        assert!(unchanged(&tool(r#"["1.5","x"]"#), "f", r#"{"a":"15"}"#));
        assert!(unchanged(&tool(r#"["1.5","x"]"#), "f", r#"{"a":"1-5"}"#));
        assert!(unchanged(&tool(r#"["-1","x"]"#), "f", r#"{"a":"1"}"#));
        assert!(unchanged(&tool(r#"["c++","d"]"#), "f", r#"{"a":"c"}"#));
        assert!(unchanged(&tool(r#"["-","+"]"#), "f", r#"{"a":"_"}"#));
        assert!(unchanged(TOOLS, "get_weather", r#"{"city":"Oslo","unit":"celcius"}"#));
    }
}
