//! Tools and helpers for the unit tests of rescue.

use std::sync::LazyLock;

use super::{Reading, Situation, rescue};
use callwright_scanner::ToolSet;
use callwright_types::rules::Evidence;

/// Tools with plain, dotted, hyphenated and namespaced names, with and without nested parameters.
pub(super) const TOOLS: &str = r#"[
  {"name": "get_weather", "parameters": {"type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "hourly": {"type": "boolean"},
      "spot": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}},
      "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["city"]}},
  {"name": "orders.cancel", "parameters": {"type": "object", "properties": {
      "order_id": {"type": "integer"}, "reason": {"type": "string"}}, "required": ["order_id"]}},
  {"name": "send-mail", "parameters": {"type": "object", "properties": {
      "to": {"type": "string"}, "body": {"type": "string"}}, "required": ["to"]}},
  {"name": "mcp__files__read", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
  {"name": "ping", "parameters": {"type": "object", "properties": {}}}
]"#;

static TOOL_SET: LazyLock<ToolSet> = LazyLock::new(|| callwright_scanner::testing::tool_set(TOOLS));

pub(super) fn tools() -> &'static ToolSet {
    &TOOL_SET
}

/// Searches a text for calls without restrictions.
pub(super) fn read(text: &str) -> Reading {
    rescue(text, tools(), &Situation::with(Evidence::Amid))
}

/// Returns the difference between the calls of a text and the expected ones.
pub(super) fn wrong(text: &str, expected: &[(&str, &str)]) -> Option<String> {
    let found = read(text);
    let Reading::Calls(rescued) = &found else { return Some(format!("no call in:\n{text}\n{found:?}")) };
    let calls: Vec<(&str, &str)> =
        rescued.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    (calls != expected).then(|| format!("wrong calls in:\n{text}\n{rescued:?}"))
}

/// Checks that a text remains text.
pub(super) fn check_text(text: &str) {
    let reading = read(text);
    assert_eq!(reading, Reading::Text, "in:\n{text}");
}
