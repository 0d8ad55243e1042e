//! Checks whether a value fits its parameter, and converts it without another request where possible.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::tools::Schemas;
use callwright_common::json::raw;
use callwright_common::limits::WORD_CHARS;
use callwright_common::schema::{LocalSchema, Views};
use callwright_common::text::excerpt;
use callwright_judge::repair::repair_call;
use callwright_judge::scanner::{CompiledTool, ToolSet, scan};
use callwright_types::rules::{RepairRules, Report, ScanRules, UnknownParameters};
use callwright_types::{Call, ValueKind};

#[derive(Debug, Clone, Copy)]
pub(super) struct ToolParameters<'a> {
    pub(super) tool: &'a Arc<CompiledTool>,
}

impl ToolParameters<'_> {
    /// Returns the value in a form that fits its schema: unchanged, repaired without loss like the arguments of a call,
    /// parsed from its JSON text, or an integer written as a string.
    ///
    /// # Errors
    /// Feedback for the model: the violations of the schema.
    pub(super) fn converted(&self, name: &str, value: &Value) -> Result<Value, String> {
        let Err(fault) = self.check(name, value) else { return Ok(value.clone()) };
        let parsed = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let digits = (value.is_i64() || value.is_u64()).then(|| Value::from(value.to_string()));
        let mut candidates = [self.repaired(name, value), parsed, digits].into_iter().flatten();
        let fits = candidates.find(|value| self.check(name, value).is_ok());
        fits.ok_or_else(|| format!("the value {} does not fit: {fault}", excerpt(&value.to_string(), WORD_CHARS)))
    }

    /// Validates one value against its parameter's schema.
    ///
    /// # Errors
    /// The messages of the scanner.
    pub(super) fn check(&self, name: &str, value: &Value) -> Result<(), String> {
        let Err(found) = scan(&self.call(name, value), 0, &self.tool_set(), &rules()) else { return Ok(()) };
        // The other arguments are absent, which is not a fault of this one.
        let of_value =
            found.iter().filter(|diagnosis| diagnosis.path.tokens().first().is_some_and(|first| first == name));
        let messages: Vec<&str> = of_value.map(|diagnosis| diagnosis.message.as_str()).collect();
        if messages.is_empty() { Ok(()) } else { Err(messages.join("; ")) }
    }

    fn repaired(&self, name: &str, value: &Value) -> Option<Value> {
        // Repairs the value only: missing arguments stay missing, and unknown names were rejected before.
        let repair = RepairRules { names: false, defaults: false, ..RepairRules::default() };
        let repaired = repair_call(&self.call(name, value), 0, &self.tool_set(), &rules(), &repair);
        serde_json::from_str::<Map<String, Value>>(&repaired.call.arguments).ok()?.remove(name)
    }

    fn call(&self, name: &str, value: &Value) -> Call {
        let arguments = Map::from_iter([(name.to_owned(), value.clone())]);
        Call { id: String::new(), name: self.tool.name().to_owned(), arguments: raw(&arguments).get().to_owned() }
    }

    fn tool_set(&self) -> ToolSet {
        ToolSet::of(Arc::clone(self.tool))
    }

    fn schemas(&self, name: &str) -> Option<Schemas<'_>> {
        let schema = self.tool.parameter(name)?.schema;
        Some(Views::new(LocalSchema::within(&self.tool.tool.parameters, schema)))
    }

    /// Returns the value that the schema determines: its default, constant or only enum value.
    pub(super) fn default_of(&self, name: &str) -> Option<Value> {
        let schemas = self.schemas(name)?.certain();
        let only = schemas.values("enum").filter_map(Value::as_array).find(|values| values.len() == 1);
        let stated = ["default", "const"].into_iter().find_map(|keyword| schemas.values(keyword).next());
        stated.or(only.and_then(|values| values.first())).cloned()
    }

    /// Whether a value of this kind can be converted to the argument. Any value can be written as a string or wrapped
    /// in a list.
    pub(super) fn can_be(&self, name: &str, kind: ValueKind) -> bool {
        let Some(schemas) = self.schemas(name) else { return true };
        let mut types = schemas.types().peekable();
        types.peek().is_none()
            || types.any(|accepted| match (kind, accepted) {
                (_, "string" | "array") | (ValueKind::String, _) => true,
                (ValueKind::Object, accepted) => accepted == "object",
                (ValueKind::Boolean, accepted) => accepted == "boolean",
                (ValueKind::Integer | ValueKind::Number, accepted) => matches!(accepted, "integer" | "number"),
                (ValueKind::Array, _) => false,
            })
    }
}

fn rules() -> ScanRules {
    ScanRules { report: Report::All, unknown_parameters: UnknownParameters::Refuse, ..ScanRules::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use callwright_judge::scanner::testing::tool_set;

    const TOOLS: &str = r#"[{"name":"f","parameters":{"type":"object","required":["other"],"properties":{"other":{"type":"string"},
        "text":{"type":"string"},"whole":{"type":"integer"},"share":{"type":"number","maximum":1},"on":{"type":"boolean"},
        "list":{"type":"array","items":{"type":"string"}},"numbers":{"type":"array","items":{"type":"number"}},
        "when":{"type":"object","properties":{"day":{"type":"integer"}}},"either":{"type":["integer","null"]},"open":{},
        "class":{"type":"string","enum":["economy","first"]}}}}]"#;

    #[test]
    fn lossless_conversions_are_applied_and_others_rejected() {
        let tools = tool_set(TOOLS);
        let fitting = ToolParameters { tool: tools.tools().first().unwrap() };
        for (name, value, expected) in [
            ("text", json!("a"), Some(json!("a"))),
            ("text", json!(7), Some(json!("7"))),
            ("text", json!(7.5), Some(json!("7.5"))),
            ("text", json!(["a"]), None),
            ("whole", json!("5"), Some(json!(5))),
            ("whole", json!(5.0), Some(json!(5))),
            ("whole", json!("5.5"), None),
            ("whole", json!("many"), None),
            ("share", json!("0.5"), Some(json!(0.5))),
            ("share", json!("2"), None),
            ("on", json!("true"), Some(json!(true))),
            ("on", json!("yes"), None),
            ("list", json!("red"), Some(json!(["red"]))),
            ("numbers", json!(3), Some(json!([3]))),
            ("numbers", json!(["1", 2]), Some(json!([1, 2]))),
            ("numbers", json!(["A"]), None),
            ("when", json!("{\"day\": 3}"), Some(json!({"day": 3}))),
            ("when", json!("tomorrow"), None),
            ("class", json!("Economy"), Some(json!("economy"))),
            ("open", json!([null]), Some(json!([null]))),
        ] {
            assert_eq!(fitting.converted(name, &value).ok(), expected, "{name} {value}");
        }
    }

    #[test]
    fn incompatible_kinds_are_recognised() {
        let tools = tool_set(TOOLS);
        let fitting = ToolParameters { tool: tools.tools().first().unwrap() };
        for (name, kind, expected) in [
            ("text", ValueKind::Object, true),
            ("list", ValueKind::Number, true),
            ("whole", ValueKind::String, true),
            ("whole", ValueKind::Number, true),
            ("either", ValueKind::Array, false),
            ("whole", ValueKind::Object, false),
            ("on", ValueKind::Integer, false),
            ("when", ValueKind::Array, false),
            ("when", ValueKind::Object, true),
            ("open", ValueKind::Array, true),
            ("nothing", ValueKind::Array, true),
        ] {
            assert_eq!(fitting.can_be(name, kind), expected, "{name} {kind:?}");
        }
    }
}
