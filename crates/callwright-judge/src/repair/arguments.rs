//! E1: repairs arguments that are not a JSON object, or that wrap the argument object, if they contain exactly one.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::lenient::{self, LenientGuard};
use super::proposal::{RepairJob, RepairedCall};
use super::rescue::call_names::MAX_WRAPPERS;
use super::rescue::literal::Literal;
use super::wrapper;
use callwright_common::json::is_object_text;
use callwright_types::{Repair, RepairKind};

/// Parses arguments that are not a JSON object, and unwraps an argument object from within another object.
pub(super) fn repair(repaired: &mut RepairedCall, job: &RepairJob<'_>) {
    let guard = LenientGuard { tool: job.tool, tool_set: job.tool_set };
    let text = &repaired.call.arguments;
    let (object, arguments) = match parse_object(text) {
        Some(arguments) => (None, Some(arguments)),
        None => {
            let object = object_in(text, guard);
            let arguments = object.as_deref().and_then(parse_object);
            (object, arguments)
        }
    };
    let unwrapped = arguments.and_then(|given| unwrapped(given, object.as_deref().unwrap_or(text), job, guard));
    if let Some(object) = unwrapped.or(object) {
        let to: Value = serde_json::from_str(&object).unwrap_or_default();
        let from = std::mem::replace(&mut repaired.call.arguments, object);
        repaired.repairs.push(Repair::of_call(RepairKind::ArgumentsMended, 0, from, to));
    }
}

/// Returns the JSON text of the one object that the arguments encode.
fn object_in(text: &str, guard: LenientGuard<'_>) -> Option<String> {
    let mut decoded = text.to_owned();
    for _ in 0..=MAX_WRAPPERS {
        if parse_object(&decoded).is_some() {
            return Some(decoded);
        }
        // Valid JSON is never changed, also if it holds what a parsed value cannot.
        if is_object_text(&decoded) {
            return None;
        }
        let Ok(inner) = serde_json::from_str(&decoded) else { break };
        decoded = inner;
    }
    lenient::members(text, guard).as_deref().map(json)
}

/// Returns the JSON text of the argument object within `arguments`, whose text is `text`, if these do not fit the tool.
fn unwrapped(
    arguments: Map<String, Value>,
    text: &str,
    job: &RepairJob<'_>,
    guard: LenientGuard<'_>,
) -> Option<String> {
    // An object with an argument of the tool is no wrapper: see `wrapper::inner`. This is the common case.
    if arguments.keys().any(|key| guard.tool.has_parameter_like(key)) {
        return None;
    }
    // Unwraps only objects that do not fit the tool's schema.
    if job.fits(&Value::Object(arguments)) {
        return None;
    }
    let members = lenient::members(text, guard)?;
    wrapper::inner(&members, guard).as_deref().map(json)
}

fn json(members: &[(String, Literal)]) -> String {
    let mut seen: HashSet<&str> = HashSet::with_capacity(members.len());
    Literal::Object(members.iter().filter(|(key, _)| seen.insert(key)).cloned().collect()).json()
}

fn parse_object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{repair, unchanged};
    use callwright_scanner::testing::{TOOLS, call};
    use callwright_types::RepairKind;

    fn read(name: &str, text: &str) -> String {
        let repaired = repair(TOOLS, &call(name, text));
        assert!(repaired.repairs.iter().any(|repair| repair.kind == RepairKind::ArgumentsMended), "{text}");
        repaired.call.arguments
    }

    #[test]
    fn doubly_encoded_arguments_are_unwrapped_with_their_bytes() {
        assert_eq!(read("get_weather", r#""{ \"city\": \"Oslo\" }""#), r#"{ "city": "Oslo" }"#);
        let twice = serde_json::to_string(&serde_json::to_string(r#"{"city":"Oslo"}"#).unwrap()).unwrap();
        assert_eq!(read("get_weather", &twice), r#"{"city":"Oslo"}"#);
    }

    #[test]
    fn no_arguments_are_the_empty_object_where_none_are_needed() {
        for text in ["", "  ", "null", "None", "\"\"", "''", "```json\n```", "<|im_end|>"] {
            assert_eq!(read("ping", text), "{}", "{text}");
            assert!(unchanged(TOOLS, "get_weather", text), "{text}");
        }
    }

    #[test]
    fn small_defects_are_read_over() {
        for text in [
            r#"{"city": "Oslo", "detailed": true,}"#,
            r#"{'city': 'Oslo', 'detailed': True}"#,
            r#"{city: "Oslo", "detailed": true}"#,
            "```json\n{\"city\": \"Oslo\", \"detailed\": true}\n```",
            "```\n{\"city\": \"Oslo\", \"detailed\": true}```",
            "{\"city\": \"Oslo\", \"detailed\": true}\n</tool_call>",
            r#"{"city": "Oslo", "detailed": true}<|im_end|>"#,
            r#"{"city": "Oslo", "detailed": true}<｜tool▁call▁end｜></s>"#,
            r#"<tool_call>{"city": "Oslo", "detailed": true}</tool_call>"#,
            r#"{"city": "Oslo", "detailed": true}}"#,
            r#"{"city": "Oslo", "detailed": true}{"city": "Oslo", "detailed": true}"#,
            "{\"city\": \"Oslo\", \"detailed\": true}\n{\"detailed\": true, \"city\": \"Oslo\"}",
            r#"[{"city": "Oslo", "detailed": true}]"#,
            r#"[ARGS]{"city": "Oslo", "detailed": true}"#,
            r#""{'city': 'Oslo', 'detailed': True}""#,
        ] {
            let read: serde_json::Value = serde_json::from_str(&read("get_weather", text)).unwrap();
            assert_eq!(read, serde_json::json!({"city": "Oslo", "detailed": true}), "{text}");
        }
        assert_eq!(read("get_weather", "{\"city\": \"Os\nlo\"}"), r#"{"city":"Os\nlo"}"#);
        assert_eq!(read("anything", "{'id': 12345678901234567890123}"), r#"{"id":12345678901234567890123}"#);
    }

    #[test]
    fn valid_json_that_a_value_cannot_hold_is_never_changed() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        let huge = format!("{{\"n\":{}}}", "7".repeat(700));
        for text in [r#"{"a": 1e400}"#, r#"{"a":"\ud83d half"}"#, &deep, &huge, &serde_json::json!(huge).to_string()] {
            assert!(unchanged(TOOLS, "anything", text), "{text}");
        }
    }

    #[test]
    fn what_says_no_object_or_several_is_left_as_it_is() {
        for text in ["[]", "7", "{\"city\"", "\"Oslo\"", "\"[1]\"", "ping()"] {
            assert!(unchanged(TOOLS, "ping", text), "{text}");
        }
        for text in [
            r#"{"city": "Oslo"}{"city": "Bergen"}"#,
            r#"{"city": "Oslo"} {"city": "Oslo", "detailed": true}"#,
            r#"{"city": "Oslo"} and so on"#,
            r#"{"city": "Oslo", "#,
            r#"{"city": "Oslo""#,
            r#"{"city": city}"#,
            r#"{"city": "Oslo" + name}"#,
            r#"{'city': 'Oslo', 'city': 'Bergen'}"#,
            r#"[{"city": "Oslo"}, {"city": "Bergen"}]"#,
            r#"{"city": ...}"#,
        ] {
            assert!(unchanged(TOOLS, "get_weather", text), "{text}");
        }
    }

    #[test]
    fn wrappers_that_the_tool_does_not_have_are_taken_off() {
        for text in [
            r#"{"arguments": {"city": "Oslo"}}"#,
            r#"{"input": {"city": "Oslo"}}"#,
            r#"{"data": {"city": "Oslo"}}"#,
            r#"{"kwargs": {"city": "Oslo"}}"#,
            r#"{"parameters": "{\"city\": \"Oslo\"}"}"#,
            r#"{"properties": "{'city': 'Oslo'}"}"#,
            r#"{"get_weather": {"city": "Oslo"}}"#,
            r#"{"name": "get_weather", "arguments": {"city": "Oslo"}}"#,
            r#"{"function": "functions.getWeather", "arguments": "{\"city\": \"Oslo\"}"}"#,
            r#"{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}}"#,
            r#"{'arguments': {'city': 'Oslo'}}"#,
        ] {
            assert_eq!(read("get_weather", text), r#"{"city":"Oslo"}"#, "{text}");
        }
        assert_eq!(read("ping", r#"{"arguments": {}}"#), "{}");
        assert_eq!(
            read("get_weather", r#"{"input": {"city": "Oslo", "num_days": "3"}}"#),
            r#"{"city":"Oslo","num_days":3}"#
        );
    }

    #[test]
    fn what_may_be_no_wrapper_stays() {
        for text in [
            // Another tool's name, an unknown member, a second object, a missing member, a definition.
            r#"{"name": "ping", "arguments": {"city": "Oslo"}}"#,
            r#"{"arguments": {"city": "Oslo", "colour": 1}}"#,
            r#"{"arguments": {"city": "Oslo"}, "input": {"city": "Bergen"}}"#,
            r#"{"arguments": {"detailed": true}}"#,
            r#"{"properties": {"city": {"type": "string"}}}"#,
            r#"{"arguments": {"city": "Oslo"}, "city": "Bergen"}"#,
        ] {
            assert!(unchanged(TOOLS, "get_weather", text), "{text}");
        }
        let tools = r#"[{"name":"f","parameters":{"type":"object","properties":{
            "input":{"type":"object"},"city":{"type":"string"}},"required":["city"]}}]"#;
        assert!(unchanged(tools, "f", r#"{"input": {"city": "Oslo"}}"#));
    }
}
