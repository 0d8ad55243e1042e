//! E3.4, E4.1 and E4.2: repairs one value by its schema. Sets the default of a missing parameter, removes `null` from
//! an optional one, and normalises the spelling of allowed values and dates.

use serde_json::Value;

use super::coercion::is_null;
use super::proposal::RepairProposal;
use callwright_common::json::Pointer;
use callwright_scanner::{CompiledTool, SchemaRule, Violation};
use callwright_types::RepairKind;

/// Proposes the schema default for the parameter that `violation` reports as missing.
pub(super) fn default(violation: &Violation, tool: &CompiledTool) -> Option<RepairProposal> {
    let SchemaRule::Missing(name) = &violation.rule else { return None };
    let path = violation.path.child(name);
    let default = tool.default_of(&path)?;
    Some(RepairProposal::set(RepairKind::DefaultFilled, &path, &Value::Null, default.clone()))
}

/// Proposes the removal of a `null` that does not fit. The caller checks afterwards whether the object is valid without
/// it.
pub(super) fn null_removal(violation: &Violation, arguments: &Value) -> Option<RepairProposal> {
    let path = &violation.path;
    let is_null = arguments.pointer(path.as_str()) == Some(&Value::Null);
    (is_null && is_member(path, arguments)).then(|| RepairProposal::remove(RepairKind::NullDropped, path, &Value::Null))
}

/// Whether `path` is a member of an object in the arguments.
fn is_member(path: &Pointer, arguments: &Value) -> bool {
    let parent = path.as_str().rsplit_once('/').map_or("", |(parent, _)| parent);
    !path.is_root() && arguments.pointer(parent).is_some_and(Value::is_object)
}

/// Proposes the one allowed value that `violation`'s value spells differently: in another case, with other separators,
/// or as a string instead of a number or boolean.
pub(super) fn option(violation: &Violation, arguments: &Value) -> Option<RepairProposal> {
    let SchemaRule::Options(options) = &violation.rule else { return None };
    let value = arguments.pointer(violation.path.as_str())?;
    if value.as_str().is_some_and(|text| text.trim().is_empty()) {
        return absent(violation, arguments, value);
    }
    let text = value.as_str()?;
    let written = fold(text);
    let options = options.as_array()?;
    let mut same = options.iter().filter(|option| is_same(option, &written, value));
    let only = match (same.next(), same.next()) {
        (Some(only), None) => only,
        (None, _) if is_null(text) => options.iter().find(|option| option.is_null())?,
        _ => return None,
    };
    let kind = if only.is_string() { RepairKind::EnumNormalised } else { RepairKind::TypeCoerced };
    Some(RepairProposal::set(kind, &violation.path, value, only.clone()))
}

/// Proposes the removal of an empty string, which selects no option. The caller checks afterwards whether the object is
/// valid without it.
fn absent(violation: &Violation, arguments: &Value, value: &Value) -> Option<RepairProposal> {
    is_member(&violation.path, arguments)
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
    let mut folded = String::with_capacity(letters.len());
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| letters.get(before));
        let is_significant =
            before.is_none_or(char::is_ascii_digit) && letters.get(index + 1).is_some_and(char::is_ascii_digit);
        if is_significant || ![' ', '\t', '_', '-', '.', '/', ':'].contains(letter) {
            folded.push(*letter);
        }
    }
    folded
}

/// Proposes the date of `violation`'s value in the format `YYYY-MM-DD`. Accepts only dates that begin with the year,
/// because any other order is ambiguous between day and month.
pub(super) fn date(violation: &Violation, arguments: &Value, tool: &CompiledTool) -> Option<RepairProposal> {
    let SchemaRule::Constraint("format", _) = &violation.rule else { return None };
    let is_date = tool.keyword_at(&violation.path, "format").and_then(Value::as_str) == Some("date");
    let value = arguments.pointer(violation.path.as_str()).filter(|_| is_date)?;
    let text = value.as_str()?;
    let separator = text.get(4..5).filter(|separator| ["/", "."].contains(separator))?;
    let parts: Vec<&str> = text.split(separator).collect();
    let [year, month, day] = parts.as_slice() else { return None };
    let is_written_out = [(year, 4), (month, 2), (day, 2)]
        .iter()
        .all(|(part, digits)| part.len() == *digits && part.bytes().all(|byte| byte.is_ascii_digit()));
    let date = Value::from(format!("{year}-{month}-{day}"));
    is_written_out.then(|| RepairProposal::set(RepairKind::FormatNormalised, &violation.path, value, date))
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{repaired, unchanged};
    use callwright_scanner::testing::TOOLS;
    use callwright_types::RepairKind;

    #[test]
    fn only_a_missing_parameter_with_a_default_is_filled() {
        let (text, kinds) = repaired(TOOLS, "orders.cancel", r#"{"order_id":7}"#);
        assert_eq!(
            (text.as_str(), kinds.as_slice()),
            (r#"{"order_id":7,"reason":"none given"}"#, &[RepairKind::DefaultFilled][..])
        );
        assert!(unchanged(TOOLS, "get_weather", "{}"));
    }

    #[test]
    fn a_default_that_does_not_fit_is_not_filled() {
        let tools = r#"[{"name":"f","parameters":{"type":"object","required":["a"],"properties":{"a":{"type":"integer","default":"none"}}}}]"#;
        assert!(unchanged(tools, "f", "{}"));
    }

    #[test]
    fn nothing_is_filled_while_an_unknown_name_may_mean_it() {
        assert!(unchanged(TOOLS, "orders.cancel", r#"{"order_id":7,"raeson":"late"}"#));
    }

    #[test]
    fn null_for_an_optional_parameter_becomes_absent() {
        let (text, kinds) = repaired(TOOLS, "get_weather", r#"{"city":"Oslo","unit":null,"num_days":null}"#);
        assert_eq!((text.as_str(), kinds.as_slice()), (r#"{"city":"Oslo"}"#, &[RepairKind::NullDropped; 2][..]));
        let (text, _) = repaired(TOOLS, "make_note", r#"{"place":{"city":"Oslo","zip":null}}"#);
        assert_eq!(text, r#"{"place":{"city":"Oslo"}}"#);
    }

    #[test]
    fn null_stays_where_it_is_required_allowed_or_an_item() {
        assert!(unchanged(TOOLS, "get_weather", r#"{"city":null}"#));
        assert!(unchanged(TOOLS, "search", r#"{"query":"x","limit":null}"#));
        assert!(unchanged(TOOLS, "get_weather", r#"{"city":"Oslo","levels":[1,null]}"#));
    }

    fn tool(options: &str) -> String {
        format!(r#"[{{"name":"f","parameters":{{"type":"object","properties":{{"a":{{"enum":{options}}}}}}}}}]"#)
    }

    #[test]
    fn an_option_in_another_writing_is_normalised() {
        let (text, kinds) = repaired(TOOLS, "get_weather", r#"{"city":"Oslo","unit":"Celsius"}"#);
        assert_eq!(
            (text.as_str(), kinds.as_slice()),
            (r#"{"city":"Oslo","unit":"celsius"}"#, &[RepairKind::EnumNormalised][..])
        );
        let (text, _) = repaired(&tool(r#"["IN_PROGRESS","DONE"]"#), "f", r#"{"a":"in progress"}"#);
        assert_eq!(text, r#"{"a":"IN_PROGRESS"}"#);
        let (text, _) = repaired(&tool("[1,2,true]"), "f", r#"{"a":"2"}"#);
        assert_eq!(text, r#"{"a":2}"#);
    }

    #[test]
    fn an_empty_string_for_an_optional_choice_becomes_absent() {
        let (text, kinds) = repaired(TOOLS, "get_weather", r#"{"city":"Oslo","unit":""}"#);
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
        assert_eq!(repaired(tools, "f", r#"{"a":"GREEN"}"#).0, r#"{"a":"Green"}"#);
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

    #[test]
    fn a_date_gets_the_separators_of_its_format() {
        for date in ["2026/11/23", "2026.11.23"] {
            let (text, kinds) = repaired(TOOLS, "get_weather", &format!(r#"{{"city":"Oslo","from":"{date}"}}"#));
            assert_eq!(text, r#"{"city":"Oslo","from":"2026-11-23"}"#);
            assert_eq!(kinds, [RepairKind::FormatNormalised]);
        }
    }

    #[test]
    fn a_date_that_is_none_or_can_be_another_one_stays() {
        for date in ["23/11/2026", "2026/13/40", "2026/1/2", "2026/11.23", "2026/11/23 10:00", "tomorrow", "2026年11月"]
        {
            assert!(unchanged(TOOLS, "get_weather", &format!(r#"{{"city":"Oslo","from":"{date}"}}"#)), "{date}");
        }
    }
}
