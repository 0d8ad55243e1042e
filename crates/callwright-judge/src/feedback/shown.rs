//! Example of a valid call in a message.

use minijinja::context;
use minijinja::value::Value;
use serde_json::Map;

use super::example::example;
use crate::scanner::CompiledTool;
use callwright_common::json::Pointer;

/// A valid call to show.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExampleCall {
    /// Name of the tool.
    pub(super) name: String,
    /// JSON text of the arguments.
    pub(super) arguments: String,
    /// Parameters whose values only illustrate the form, because the correct ones are unknown.
    pub(super) open: Vec<String>,
}

impl ExampleCall {
    /// Returns the template context.
    pub(super) fn context(self) -> Value {
        context! { name => self.name, arguments => self.arguments, open => self.open }
    }
}

/// Creates a call of `tool` with the matching ones of the arguments `given`, the other required parameters, and the
/// parameters `wanted`. `None` if no arguments are found that the schema accepts.
pub(super) fn call_of(
    tool: &CompiledTool,
    given: &Map<String, serde_json::Value>,
    wanted: &[String],
) -> Option<ExampleCall> {
    let built = example(tool, given, wanted)?;
    let mut open = Vec::new();
    for (name, value) in &built {
        if given.get(name) != Some(value) && !is_settled(tool, name, value) {
            open.push(name.clone());
        }
    }
    Some(ExampleCall { name: tool.name().to_owned(), arguments: serde_json::Value::Object(built).to_string(), open })
}

/// Whether the schema itself determines the value of the parameter: by its default, or because it allows no other
/// value.
fn is_settled(tool: &CompiledTool, name: &str, value: &serde_json::Value) -> bool {
    let path = Pointer::root().child(name);
    tool.default_of(&path) == Some(value)
        || tool
            .describe_argument(&path)
            .is_some_and(|described| described.options.len() == 1 && described.more_options == 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scanner::generated::tool_set;

    #[test]
    fn values_that_only_show_the_form_are_named() {
        let book =
            tool_set(&json!({ "type": "object", "required": ["city", "day", "unit", "kind", "count"], "properties": {
            "city": { "type": "string" }, "day": { "type": "string", "format": "date" },
            "unit": { "type": "string", "default": "celsius" }, "kind": { "const": "forecast" },
            "count": { "type": "integer" } } }));
        let given = json!({ "count": 3 }).as_object().cloned().unwrap();
        let shown = call_of(&book.tools()[0], &given, &[]).unwrap();
        assert_eq!(shown.open, ["city", "day"]);
        let arguments: serde_json::Value = serde_json::from_str(&shown.arguments).unwrap();
        assert_eq!(
            arguments,
            json!({ "count": 3, "city": "<city>", "day": "2025-01-31", "unit": "celsius", "kind": "forecast" })
        );
    }
}
