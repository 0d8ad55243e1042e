//! Test tools for the unit tests of the scanner and of the modules that use it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "for tests")]

use std::sync::Arc;

use serde_json::Value;

use super::{PastCall, ToolSet, Validators, scan};
use callwright_types::rules::{ScanRules, UnknownParameters};
use callwright_types::{Call, Diagnosis, FaultCode, Owner, Tool, ToolKind};

/// Tools with a variety of schema features.
pub const TOOLS: &str = r##"[
  {"name": "get_weather", "description": "Weather forecast for a city.", "parameters": {"type": "object",
    "properties": {
      "city": {"type": "string", "minLength": 1, "description": "Name of the city."},
      "num_days": {"type": "integer", "minimum": 1, "maximum": 14},
      "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
      "detailed": {"type": "boolean"},
      "from": {"type": "string", "format": "date"},
      "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
      "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true},
      "levels": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city"]}},
  {"name": "orders.cancel", "description": "Cancels an order.", "parameters": {"type": "object",
    "properties": {"order_id": {"type": "integer"}, "reason": {"type": "string", "default": "none given"}},
    "required": ["order_id", "reason"]}},
  {"name": "search", "parameters": {"type": "object", "additionalProperties": true,
    "properties": {"query": {"type": "string"}, "weight": {"type": "number"},
      "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "required": ["query"]}},
  {"name": "make_note", "parameters": {"type": "object", "properties": {
      "place": {"$ref": "#/$defs/place"}, "stops": {"type": "array", "items": {"$ref": "#/$defs/place"}}},
    "required": ["place"],
    "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
      "required": ["city"]}}}},
  {"name": "makeNote", "parameters": {"type": "object", "properties": {}}},
  {"name": "log", "parameters": {"type": "object"}},
  {"name": "ping", "parameters": {"type": "object", "properties": {}}},
  {"name": "anything", "parameters": null}
]"##;

/// Creates a tool set from a JSON list of `{"name", "description", "parameters", "kind"}`.
pub fn tool_set(tools: &str) -> ToolSet {
    let tools: Vec<Value> = serde_json::from_str(tools).unwrap();
    ToolSet::compile(tools.iter().map(|tool| Arc::new(tool_of(tool))).collect(), &Validators::default())
}

fn tool_of(members: &Value) -> Tool {
    let is_custom = members["kind"] == "custom";
    Tool {
        name: members["name"].as_str().unwrap().to_owned(),
        description: members["description"].as_str().unwrap_or_default().to_owned(),
        parameters: if is_custom { Tool::custom_parameters() } else { Arc::new(members["parameters"].clone()) },
        kind: match members["kind"].as_str() {
            Some("custom") => ToolKind::Custom,
            Some("predefined") => ToolKind::Predefined,
            Some("built_in") => ToolKind::BuiltIn,
            _ => ToolKind::Function,
        },
        reads: None,
        owner: Owner::Client,
        namespace: None,
    }
}

/// Creates a client tool with these parameters.
pub fn tool(name: &str, parameters: &Value) -> Arc<Tool> {
    Arc::new(Tool {
        name: name.to_owned(),
        description: String::new(),
        parameters: Arc::new(parameters.clone()),
        kind: ToolKind::Function,
        reads: None,
        owner: Owner::Client,
        namespace: None,
    })
}

/// Creates a call.
pub fn call(name: &str, arguments: &str) -> Call {
    Call { id: "call_1".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

/// Creates an earlier call with its result.
pub fn past(name: &str, arguments: &str, result: &str) -> PastCall {
    let [name, arguments] = [name, arguments].map(str::to_owned);
    PastCall { id: String::new(), name, arguments, result: Some(result.to_owned()) }
}

/// Returns the faults that a scan with `rules` finds.
pub fn faults_under(rules: &ScanRules, tools: &str, name: &str, arguments: &str) -> Vec<Diagnosis> {
    scan(&call(name, arguments), 0, &tool_set(tools), rules).err().unwrap_or_default()
}

/// Returns the default rules, but unknown parameters are faults in silent schemas, too.
pub fn refusing() -> ScanRules {
    ScanRules { unknown_parameters: UnknownParameters::Refuse, ..ScanRules::default() }
}

/// Returns the faults that a scan finds; see [`refusing`].
pub fn faults(tools: &str, name: &str, arguments: &str) -> Vec<Diagnosis> {
    faults_under(&refusing(), tools, name, arguments)
}

/// Returns the codes of the faults that a scan finds; see [`refusing`].
pub fn codes(tools: &str, name: &str, arguments: &str) -> Vec<FaultCode> {
    faults(tools, name, arguments).into_iter().map(|diagnosis| diagnosis.code).collect()
}
