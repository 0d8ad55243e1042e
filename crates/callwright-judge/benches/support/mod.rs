//! Helpers shared by the benchmarks; no benchmark uses all of them.
#![allow(dead_code)]

use std::sync::Arc;

use callwright_judge::scanner::{ToolSet, Validators};
use callwright_types::{Owner, Tool, ToolKind};
use serde_json::{Value, json};

/// Creates a tool set from `(name, parameters)`.
pub(crate) fn tool_set(tools: Vec<(String, Value)>) -> ToolSet {
    let tool = |(name, parameters)| {
        Arc::new(Tool {
            name,
            description: "Does what its name says.".to_owned(),
            parameters: Arc::new(parameters),
            kind: ToolKind::Function,
            reads: None,
            owner: Owner::Client,
            namespace: None,
        })
    };
    ToolSet::compile(tools.into_iter().map(tool).collect(), &Validators::default())
}

/// Returns three typical agent tools with six parameters of common kinds.
pub(crate) fn usual_tools() -> ToolSet {
    let weather = json!({"type": "object", "required": ["city", "days"], "additionalProperties": false, "properties": {
        "city": {"type": "string", "minLength": 1, "description": "Name of the city."},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "from_date": {"type": "string", "format": "date"},
        "detailed": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}}}});
    let order = json!({"type": "object", "required": ["order_id"], "properties": {
        "order_id": {"type": "integer"}, "reason": {"type": "string"}}});
    let search = json!({"type": "object", "required": ["query"], "properties": {
        "query": {"type": "string"}, "limit": {"type": "integer", "default": 10}}});
    tool_set(vec![
        ("get_weather".to_owned(), weather),
        ("cancel_order".to_owned(), order),
        ("search_documents".to_owned(), search),
    ])
}

/// Returns `bytes` bytes of the repeated paragraph.
pub(crate) fn repeated(paragraph: &str, bytes: usize) -> String {
    let mut text = paragraph.repeat(bytes / paragraph.len() + 1);
    text.truncate((0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
    text
}
