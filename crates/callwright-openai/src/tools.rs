//! Tools of a request: parsing of the client's tools, serialisation of the catalog's.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::ObjectFields;
use callwright_common::json::raw;
use callwright_types::tool::Owner;
use callwright_types::{Protocol, Tool, ToolKind};

/// Parses one element of `tools`; `None` if it has no valid name.
pub(super) fn read_tool(element: &RawValue) -> Option<Tool> {
    let element = ObjectFields::parse(element.get())?;
    let kind = element.string("type").unwrap_or(Cow::Borrowed("function"));
    // The definition is in a member named after the type (`function`, `custom`); some servers also accept it flat.
    let inner = element.object(&kind).or_else(|| element.object("function"));
    let mut tool = read_function(inner.as_ref().unwrap_or(&element))?;
    (tool.kind, tool.parameters) = match kind.as_ref() {
        "function" => return Some(tool),
        "custom" => (ToolKind::Custom, Tool::custom_parameters()),
        // Some providers define functions of their own, such as `builtin_function`.
        _ => (ToolKind::Predefined, Arc::default()),
    };
    Some(tool)
}

/// Parses one element of the legacy `functions`.
pub(super) fn read_legacy_tool(element: &RawValue) -> Option<Tool> {
    read_function(&ObjectFields::parse(element.get())?)
}

fn read_function(function: &ObjectFields<'_>) -> Option<Tool> {
    Some(Tool {
        name: function.string("name").filter(|name| !name.is_empty())?.into_owned(),
        description: function.string("description").unwrap_or_default().into_owned(),
        parameters: Arc::new(function.get_as("parameters").unwrap_or(Value::Null)),
        kind: ToolKind::Function,
        reads: None,
        owner: Owner::Client,
        namespace: None,
    })
}

/// A tool that is sent upstream.
#[derive(Debug, Clone)]
pub enum SentTool {
    /// The client's own tool at this position of its list, unchanged.
    Own(usize),
    /// An added tool.
    Added(Arc<WrittenTool>),
}

/// A tool in the request format, serialised once for all requests.
#[derive(Debug)]
pub struct WrittenTool {
    tool: Arc<Tool>,
    parameters: Arc<Value>,
    description: Option<String>,
    strict: bool,
    element: OnceLock<Arc<RawValue>>,
    legacy: OnceLock<Arc<RawValue>>,
    responses: OnceLock<Arc<RawValue>>,
    messages: OnceLock<Arc<RawValue>>,
}

/// Members of a tool that is written into a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WrittenToolFields<'a> {
    /// Name for the model.
    pub(crate) name: &'a str,
    /// Description, if there is one.
    pub(crate) description: Option<&'a str>,
    /// JSON Schema of the arguments, if there is one.
    pub(crate) parameters: Option<&'a Value>,
    /// Whether generation is constrained to the schema.
    pub(crate) strict: bool,
}

impl WrittenTool {
    /// Creates a tool whose schema is shown to the model as `parameters`; `strict` constrains its arguments to the
    /// schema during generation.
    pub fn new(tool: Arc<Tool>, parameters: Arc<Value>, strict: bool) -> Self {
        Self {
            tool,
            parameters,
            description: None,
            strict,
            element: OnceLock::new(),
            legacy: OnceLock::new(),
            responses: OnceLock::new(),
            messages: OnceLock::new(),
        }
    }

    /// Replaces the description that the model sees.
    #[must_use]
    pub fn described(self, description: String) -> Self {
        Self { description: Some(description), ..Self::new(self.tool, self.parameters, self.strict) }
    }

    /// Returns the JSON text of the tool as an element of `tools`.
    pub fn text(&self) -> &str {
        self.element(false).get()
    }

    /// Returns the tool itself.
    pub fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    /// Returns the element for `tools` or, if `legacy`, for `functions`, which do not support `strict`.
    pub(super) fn element(&self, legacy: bool) -> &Arc<RawValue> {
        let written = if legacy { &self.legacy } else { &self.element };
        written.get_or_init(|| self.write(legacy).into())
    }

    /// Returns the element for `tools` of a protocol whose answers are lists of parts, which `write` writes once.
    pub(super) fn element_of(
        &self,
        protocol: Protocol,
        write: impl FnOnce(WrittenToolFields<'_>) -> Box<RawValue>,
    ) -> &Arc<RawValue> {
        let written = if protocol == Protocol::Messages { &self.messages } else { &self.responses };
        written.get_or_init(|| write(self.fields()).into())
    }

    fn fields(&self) -> WrittenToolFields<'_> {
        let description = self.description.as_ref().unwrap_or(&self.tool.description);
        WrittenToolFields {
            name: &self.tool.name,
            description: Some(description.as_str()).filter(|description| !description.is_empty()),
            parameters: Some(&*self.parameters).filter(|parameters| !parameters.is_null()),
            strict: self.strict,
        }
    }

    fn write(&self, legacy: bool) -> Box<RawValue> {
        let WrittenToolFields { name, description, parameters, strict } = self.fields();
        let strict = (strict && !legacy).then_some(true);
        let function = Function { name, description, parameters, strict };
        if legacy { raw(&function) } else { raw(&ToolElement::Function { function }) }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToolElement<'a> {
    Function { function: Function<'a> },
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Option<Tool> {
        read_tool(&raw(value))
    }

    #[test]
    fn a_function_is_read_and_written_back() {
        let value = json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}});
        let tool = read(&value).unwrap();
        assert_eq!((tool.name.as_str(), tool.description.as_str(), tool.kind), ("f", "d", ToolKind::Function));
        let parameters = tool.parameters.clone();
        let written = WrittenTool::new(Arc::new(tool), parameters, false);
        assert_eq!(written.element(false).get(), value.to_string());
        assert_eq!(written.element(true).get(), value["function"].to_string());
    }

    #[test]
    fn another_description_is_shown_and_the_tool_keeps_its_own() {
        let tool = read(&json!({"type": "function", "function": {"name": "f", "description": "d"}})).unwrap();
        let written = WrittenTool::new(Arc::new(tool), Arc::new(Value::Null), false);
        assert_eq!(written.text(), r#"{"type":"function","function":{"name":"f","description":"d"}}"#);
        let written = written.described("more".to_owned());
        assert_eq!(written.text(), r#"{"type":"function","function":{"name":"f","description":"more"}}"#);
        assert_eq!(written.tool().description, "d");
    }

    #[test]
    fn strict_and_the_schema_shown_are_written_and_the_tool_keeps_its_own() {
        let tool =
            read(&json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})).unwrap();
        let shown = json!({"type": "object", "properties": {}});
        let written = WrittenTool::new(Arc::new(tool), Arc::new(shown.clone()), true);
        let function = json!({"name": "f", "parameters": shown, "strict": true});
        assert_eq!(written.element(false).get(), json!({"type": "function", "function": function}).to_string());
        assert_eq!(written.element(true).get(), json!({"name": "f", "parameters": shown}).to_string());
        assert_eq!(*written.tool().parameters, json!({"type": "object"}));
    }

    #[test]
    fn tools_of_other_types_have_their_kind() {
        let custom = json!({"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}});
        assert!(read(&custom).is_some_and(|tool| tool.kind == ToolKind::Custom && tool.name == "sql"));
        let builtin = json!({"type": "builtin_function", "function": {"name": "$search"}});
        assert!(read(&builtin).is_some_and(|tool| tool.kind == ToolKind::Predefined && tool.name == "$search"));
    }

    #[test]
    fn a_tool_without_parameters_has_null_and_one_without_name_is_left_out() {
        let tool = read(&json!({"type": "function", "function": {"name": "f"}})).unwrap();
        assert!(tool.parameters.is_null());
        for value in [json!({"type": "function"}), json!({"type": "function", "function": {"name": ""}}), json!(7)] {
            assert!(read(&value).is_none(), "{value}");
        }
    }
}
