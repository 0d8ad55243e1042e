//! Tools of a request: parsing of the client's tools, serialisation of the catalog's.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::{ObjectFields, object};
use callwright_common::json::{RawObject, raw};
use callwright_types::tool::Owner;
use callwright_types::{Protocol, Tool, ToolKind};

/// Parses one element of `tools` or of the legacy `functions`; `None` if it has no valid name.
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
    chat: OnceLock<Arc<RawValue>>,
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
            chat: OnceLock::new(),
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
        self.element(Protocol::Chat, false, |fields, legacy| fields.in_chat(legacy)).get()
    }

    /// Returns the tool itself.
    pub fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    /// Returns the element for `tools` of a protocol or, if `legacy`, for `functions`, which `write` writes once.
    pub(super) fn element(
        &self,
        protocol: Protocol,
        legacy: bool,
        write: impl FnOnce(WrittenToolFields<'_>, bool) -> Box<RawValue>,
    ) -> &Arc<RawValue> {
        let written = match protocol {
            Protocol::Chat if legacy => &self.legacy,
            Protocol::Chat => &self.chat,
            Protocol::Responses => &self.responses,
            Protocol::Messages => &self.messages,
        };
        written.get_or_init(|| write(self.fields(), legacy).into())
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
}

impl WrittenToolFields<'_> {
    /// Returns the element of a chat completion. Legacy `functions` do not support `strict`.
    pub(crate) fn in_chat(&self, legacy: bool) -> Box<RawValue> {
        let mut function = self.described(RawObject::default());
        if let Some(parameters) = self.parameters {
            function.set("parameters", raw(parameters));
        }
        if self.strict && !legacy {
            function.set("strict", raw(&true));
        }
        match legacy {
            true => function.to_raw(),
            false => object([("type", raw("function")), ("function", function.to_raw())]).to_raw(),
        }
    }

    /// Adds name and description to an object.
    pub(crate) fn described(&self, mut object: RawObject) -> RawObject {
        object.set("name", raw(self.name));
        if let Some(description) = self.description {
            object.set("description", raw(description));
        }
        object
    }
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
        assert_eq!(written.text(), value.to_string());
        assert_eq!(written.fields().in_chat(true).get(), value["function"].to_string());
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
    fn strict_and_the_shown_schema_are_written_and_the_tool_is_kept() {
        let tool =
            read(&json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})).unwrap();
        let shown = json!({"type": "object", "properties": {}});
        let written = WrittenTool::new(Arc::new(tool), Arc::new(shown.clone()), true);
        let function = json!({"name": "f", "parameters": shown, "strict": true});
        assert_eq!(written.text(), json!({"type": "function", "function": function}).to_string());
        assert_eq!(written.fields().in_chat(true).get(), json!({"name": "f", "parameters": shown}).to_string());
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
    fn a_tool_without_parameters_has_null_and_a_nameless_is_omitted() {
        let tool = read(&json!({"type": "function", "function": {"name": "f"}})).unwrap();
        assert!(tool.parameters.is_null());
        for value in [json!({"type": "function"}), json!({"type": "function", "function": {"name": ""}}), json!(7)] {
            assert!(read(&value).is_none(), "{value}");
        }
    }
}
