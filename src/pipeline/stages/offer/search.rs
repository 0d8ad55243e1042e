//! The proxy's tool search tool: a model that lacks a tool finds it, and may call it afterwards.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use callwright_openai::WrittenTool;
use callwright_openapi::dialect;
use callwright_types::{Owner, SchemaDialect, Tool, ToolKind};

/// Name of the tool, unless another tool has it.
pub const NAME: &str = "search_tools";

/// Description for the model.
const DESCRIPTION: &str = "Searches all tools, also those that are not listed here, for those that serve a task. Found tools can be called \
                           from then on. Use it if no listed tool fits, before you report that something cannot be done.";

/// Name of the query argument.
const QUERY: &str = "query";
/// Name of the argument for the maximum number of results.
const LIMIT: &str = "limit";

/// Returns an unused name: `search_tools`, else with a number appended.
pub(super) fn name(is_taken: impl Fn(&str) -> bool) -> String {
    let further = (2_u32..).map(|number| format!("{NAME}_{number}"));
    std::iter::once(NAME.to_owned()).chain(further).find(|name| !is_taken(name)).unwrap_or_default()
}

/// Returns the tool with this name, which returns at most `results` tools.
pub(super) fn tool(name: &str, results: u32, schema_dialect: SchemaDialect) -> Arc<WrittenTool> {
    let parameters = json!({
        "type": "object",
        "properties": {
            QUERY: {"type": "string", "description": "What is to be done, in a few words, such as \"cancel a booking\"."},
            LIMIT: {"type": "integer", "minimum": 1, "maximum": results, "description": "Tools wanted at most."},
        },
        "required": [QUERY],
        "additionalProperties": false,
    });
    let translated = dialect::translate(&parameters, schema_dialect);
    let tool = Tool {
        name: name.to_owned(),
        description: DESCRIPTION.to_owned(),
        parameters: Arc::new(parameters),
        kind: ToolKind::Function,
        reads: None,
        owner: Owner::Search,
        namespace: None,
    };
    Arc::new(WrittenTool::new(Arc::new(tool), Arc::new(translated.parameters), translated.strict))
}

/// Returns the query and the optional limit. In `strict` dialects, models send null for an absent limit.
pub(super) fn read(arguments: &Map<String, Value>) -> (&str, Option<u64>) {
    let query = arguments.get(QUERY).and_then(Value::as_str).unwrap_or_default();
    (query, arguments.get(LIMIT).and_then(Value::as_u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        assert_eq!(name(|_| false), "search_tools");
        assert_eq!(name(|name| ["search_tools", "search_tools_2"].contains(&name)), "search_tools_3");
    }

    #[test]
    fn arguments_are_read_as_far_as_they_are_there() {
        let of = |value: Value| value.as_object().cloned().unwrap();
        assert_eq!(read(&of(json!({"query": "book", "limit": 3}))), ("book", Some(3)));
        assert_eq!(read(&of(json!({"query": "book", "limit": null}))), ("book", None));
        assert_eq!(read(&of(json!({}))), ("", None));
    }
}
