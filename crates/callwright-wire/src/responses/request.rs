//! Requests.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::conversation::with_text_note;
use super::item::{CALLER, ItemKind, call_id, is_of_program};
use crate::fields::{ObjectFields, object, present, string};
use crate::parts::RequestForm;
use crate::request::{Additions, RequestFields, check_arrays, wrong_type};
use crate::tools::{WrittenToolFields, read_tool};
use crate::{AssistantMessage, RequestError, ToolChoice};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Owner, Tool, ToolKind};

/// Member with the conversation.
pub(super) const INPUT: &str = "input";

/// Types of tools of the API that the client executes. Servers for models that know only functions call them as such,
/// and clients accept that.
const CLIENT_TOOLS: [&str; 3] = ["shell", "local_shell", "apply_patch"];

/// Requests of this protocol.
#[derive(Debug)]
pub(crate) struct ResponsesRequest;

impl RequestForm for ResponsesRequest {
    fn check(&self, fields: &RequestFields) -> Result<(), RequestError> {
        check_arrays(fields, &["tools"])?;
        match fields.get(INPUT) {
            Some(input) if !input.starts_with(['"', '[']) => Err(wrong_type(INPUT, "a string or an array")),
            _ => Ok(()),
        }
    }

    fn max_answer_tokens(&self, fields: &RequestFields) -> Option<u64> {
        fields.get_as("max_output_tokens")
    }

    fn requires_json(&self, fields: &RequestFields) -> bool {
        let text = fields.get("text").and_then(ObjectFields::parse);
        let format = text.and_then(|text| text.object("format"));
        let kind = format.as_ref().and_then(|format| format.string("type"));
        matches!(kind.as_deref(), Some("json_object" | "json_schema"))
    }

    fn tool_choice(&self, fields: &RequestFields) -> ToolChoice {
        let Some(value) = fields.get(TOOL_CHOICE) else { return ToolChoice::Auto };
        let Some(choice) = ObjectFields::parse(value) else { return ToolChoice::read(value) };
        match choice.string("type").as_deref() {
            Some("allowed_tools") => ToolChoice::Allowed {
                required: choice.string("mode").as_deref() == Some("required"),
                names: allowed_tools(&choice).into_iter().filter_map(own_name).collect(),
            },
            _ => name_of(&choice).map(ToolChoice::Named).unwrap_or_default(),
        }
    }

    fn new_tool_choice(&self, fields: &RequestFields, choice: &ToolChoice) -> (&'static str, Option<Box<RawValue>>) {
        let old = fields.get(TOOL_CHOICE).and_then(ObjectFields::parse);
        let is_allowed = old.as_ref().is_some_and(|old| old.string("type").as_deref() == Some("allowed_tools"));
        if old.as_ref().is_some_and(|old| !is_allowed && name_of(old).is_none()) {
            // The choice of a hosted tool.
            return (TOOL_CHOICE, fields.get_as(TOOL_CHOICE));
        }
        let new = match choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(raw("none")),
            ToolChoice::Required => Some(raw("required")),
            ToolChoice::Named(name) => Some(named(fields, name)),
            ToolChoice::Allowed { required, names } => {
                let old = old.filter(|_| is_allowed).map(|old| allowed_tools(&old)).unwrap_or_default();
                let mode = if *required { "required" } else { "auto" };
                let tools = raw(&allowed_elements(fields, &old, names));
                Some(object([("type", raw("allowed_tools")), ("mode", raw(mode)), ("tools", tools)]).to_raw())
            }
        };
        (TOOL_CHOICE, new)
    }

    fn read_tools(&self, element: &RawValue) -> Vec<Tool> {
        let Some(fields) = ObjectFields::parse(element.get()) else { return Vec::new() };
        match fields.string("type").as_deref() {
            Some("namespace") => {
                let namespace = fields.string("name").filter(|name| !name.is_empty()).map(Cow::into_owned);
                let inner = fields.items("tools").unwrap_or_default().into_iter().filter_map(read_named_tool);
                inner.map(|tool| Tool { namespace: namespace.clone(), ..tool }).collect()
            }
            Some("mcp") => {
                let names = allowed_names(&fields).into_iter();
                names.map(|name| typed_tool(name, ToolKind::BuiltIn)).collect()
            }
            Some("function" | "custom") => read_named_tool(element).into_iter().collect(),
            Some(kind) if is_clients(kind, &fields) => vec![typed_tool(kind, ToolKind::Predefined)],
            Some(kind) if !kind.is_empty() => vec![typed_tool(without_version(kind), ToolKind::BuiltIn)],
            _ => Vec::new(),
        }
    }

    fn write_tool(&self, tool: WrittenToolFields<'_>, _legacy: bool) -> Box<RawValue> {
        let mut element = tool.described(object([("type", raw("function"))]));
        element.set("parameters", tool.parameters.map_or_else(no_parameters, raw::<Value>));
        // Tools are strict unless they state otherwise.
        element.set("strict", raw(&tool.strict));
        element.to_raw()
    }

    fn push_assistant(&self, added: &mut Additions, message: &AssistantMessage) {
        added.messages.extend(message.parts().into_iter().map(|part| Arc::from(part.into_owned())));
    }

    fn push_result(&self, added: &mut Additions, call: &Call, text: &str, _is_error: bool) {
        let made = added.messages.iter().rev().find(|item| call_id(item).is_some_and(|id| id == call.id));
        let output = match made {
            Some(made) => call_output(made, &call.id, text),
            None => output_item("function_call_output", &call.id, text).to_raw(),
        };
        added.messages.push(output.into());
    }

    /// Appends a message or, behind results for a program, to the last one of them: the model goes on only after the
    /// program, which reads nothing but results.
    fn push_user(&self, added: &mut Additions, text: &str) {
        for item in added.messages.iter_mut().rev() {
            let Some(fields) = ObjectFields::parse(item.get()) else { break };
            if ItemKind::new(&fields) != ItemKind::CallOutput {
                break;
            }
            let noted = if is_of_program(&fields) { with_text_note(item, OUTPUT, text) } else { None };
            if let Some(noted) = noted {
                *item = noted.into();
                return;
            }
        }
        added.messages.push(object([("role", raw("user")), ("content", raw(text))]).to_raw().into());
    }
}

const TOOL_CHOICE: &str = "tool_choice";

/// Member of a result with what the call returned.
pub(super) const OUTPUT: &str = "output";

/// Returns the result of a call as an item.
pub(super) fn call_output(call: &RawValue, id: &str, text: &str) -> Box<RawValue> {
    let call = ObjectFields::parse(call.get());
    let kind = call.as_ref().and_then(|call| call.string("type"));
    let mut output = match kind.as_deref() {
        Some("custom_tool_call") => output_item("custom_tool_call_output", id, text),
        _ => output_item("function_call_output", id, text),
    };
    // A program that made the call gets the result only if it names the program.
    if let Some(caller) = call.as_ref().and_then(|call| present(call.get(CALLER))) {
        output.set(CALLER, caller.to_owned());
    }
    output.to_raw()
}

fn output_item(kind: &str, id: &str, text: &str) -> RawObject {
    object([("type", raw(kind)), ("call_id", raw(id)), (OUTPUT, raw(text))])
}

/// Returns the schema of a function without parameters.
fn no_parameters() -> Box<RawValue> {
    object([("type", raw("object")), ("properties", RawObject::default().to_raw())]).to_raw()
}

/// Reads a function or a custom tool; `None` for tools of other types.
fn read_named_tool(element: &RawValue) -> Option<Tool> {
    let kind = ObjectFields::parse(element.get())?.string("type")?.into_owned();
    matches!(kind.as_str(), "function" | "custom").then(|| read_tool(element))?
}

/// Returns the names of the tools of an MCP server that the model may call, if the element lists them.
fn allowed_names<'a>(server: &ObjectFields<'a>) -> Vec<Cow<'a, str>> {
    let nested = server.object("allowed_tools").and_then(|filter| filter.items("tool_names"));
    let names = server.items("allowed_tools").or(nested).unwrap_or_default();
    names.into_iter().filter_map(string).filter(|name| !name.is_empty()).collect()
}

/// Returns a built-in tool's type without its version: `web_search` for `web_search_preview_2025_03_11`.
fn without_version(kind: &str) -> &str {
    let name = kind.trim_end_matches(|letter: char| letter == '_' || letter.is_ascii_digit());
    let name = name.strip_suffix("_preview").unwrap_or(name);
    if name.is_empty() { kind } else { name }
}

/// Whether the client executes a tool of the API.
fn is_clients(kind: &str, tool: &ObjectFields<'_>) -> bool {
    CLIENT_TOOLS.contains(&kind) || tool.string("execution").as_deref() == Some("client")
}

/// Returns a tool without a definition.
fn typed_tool(name: impl Into<String>, kind: ToolKind) -> Tool {
    let (description, parameters) = (String::new(), Arc::default());
    Tool { name: name.into(), description, parameters, kind, reads: None, owner: Owner::Client, namespace: None }
}

/// Returns the tools of a choice of type `allowed_tools`. Some clients nest it as in chat completions.
fn allowed_tools<'a>(choice: &ObjectFields<'a>) -> Vec<&'a RawValue> {
    let nested = choice.object("allowed_tools").and_then(|inner| inner.items("tools"));
    choice.items("tools").or(nested).unwrap_or_default()
}

/// Returns the name in a reference to a function or custom tool; `None` for hosted tools.
fn own_name(reference: &RawValue) -> Option<String> {
    name_of(&ObjectFields::parse(reference.get())?)
}

fn name_of(reference: &ObjectFields<'_>) -> Option<String> {
    let kind = reference.string("type").filter(|kind| matches!(kind.as_ref(), "function" | "custom"))?;
    let inner = reference.object(&kind);
    inner.as_ref().unwrap_or(reference).string("name").map(Into::into)
}

/// Returns a reference to a function, or to a custom tool of the request.
fn named(fields: &RequestFields, name: &str) -> Box<RawValue> {
    let tools: Vec<&RawValue> = fields.get_as("tools").unwrap_or_default();
    let tools = tools.into_iter().flat_map(|element| ResponsesRequest.read_tools(element));
    let is_custom = tools.into_iter().any(|tool| tool.kind == ToolKind::Custom && tool.name == name);
    let kind = if is_custom { "custom" } else { "function" };
    object([("type", raw(kind)), ("name", raw(name))]).to_raw()
}

/// Returns references to these tools, after those of hosted tools that the choice already has.
fn allowed_elements(fields: &RequestFields, old: &[&RawValue], names: &[String]) -> Vec<Box<RawValue>> {
    let mut elements = Vec::with_capacity(old.len() + names.len());
    let mut known: HashMap<String, &RawValue> = HashMap::new();
    for element in old {
        match own_name(element) {
            Some(name) => drop(known.insert(name, element)),
            None => elements.push((*element).to_owned()),
        }
    }
    for name in names {
        elements.push(known.get(name).map_or_else(|| named(fields, name), |element| (*element).to_owned()));
    }
    elements
}
