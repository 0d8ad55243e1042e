//! Requests.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::conversation::{Conversation, with_text_note};
use super::item::{CALLER, ItemKind, call_id, is_of_program};
use crate::fields::{ObjectFields, object, present, string};
use crate::parts::{Rejoined, RequestForm};
use crate::request::{check_arrays, wrong_type};
use crate::tools::WrittenToolFields;
use crate::tools::read_tool;
use crate::{AssistantMessage, KeptPart, MessageView, ReasoningPart, RequestError, ToolChoice};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Owner, Tool, ToolKind};

/// Member with the conversation.
pub(super) const INPUT: &str = "input";

/// Part of the types of all calls and results.
const CALL: &[u8] = b"_call";

/// Types of tools of the API that the client executes. Servers for models that know only functions call them as such,
/// and clients accept that.
const CLIENT_TOOLS: [&str; 3] = ["shell", "local_shell", "apply_patch"];

/// Requests of this protocol.
#[derive(Debug)]
pub(crate) struct ResponsesRequest;

impl RequestForm for ResponsesRequest {
    fn conversation_key(&self) -> &'static str {
        INPUT
    }

    fn check(&self, fields: &RawObject) -> Result<(), RequestError> {
        check_arrays(fields, &["tools"])?;
        match present(fields.get(INPUT)) {
            Some(input) if !input.get().starts_with(['"', '[']) => Err(wrong_type(INPUT, "a string or an array")),
            _ => Ok(()),
        }
    }

    fn max_answer_tokens(&self, fields: &RawObject) -> Option<u64> {
        fields.get_as("max_output_tokens")
    }

    fn parallel_tool_calls(&self, fields: &RawObject) -> bool {
        fields.get_as("parallel_tool_calls").unwrap_or(true)
    }

    fn requires_json(&self, fields: &RawObject) -> bool {
        let text = present(fields.get("text")).and_then(|text| ObjectFields::parse(text.get()));
        let format = text.and_then(|text| text.object("format"));
        let kind = format.as_ref().and_then(|format| format.string("type"));
        matches!(kind.as_deref(), Some("json_object" | "json_schema"))
    }

    fn tool_choice(&self, fields: &RawObject) -> ToolChoice {
        let Some(value) = present(fields.get(TOOL_CHOICE)) else { return ToolChoice::Auto };
        let Some(choice) = ObjectFields::parse(value.get()) else { return ToolChoice::read(value.get()) };
        match choice.string("type").as_deref() {
            Some("allowed_tools") => ToolChoice::Allowed {
                required: choice.string("mode").as_deref() == Some("required"),
                names: allowed_tools(&choice).into_iter().filter_map(own_name).collect(),
            },
            _ => own_name(value).map(ToolChoice::Named).unwrap_or_default(),
        }
    }

    fn set_tool_choice(&self, fields: &mut RawObject, choice: &ToolChoice) {
        let value = present(fields.get(TOOL_CHOICE));
        let old = value.and_then(|value| ObjectFields::parse(value.get()));
        let is_allowed = old.as_ref().is_some_and(|old| old.string("type").as_deref() == Some("allowed_tools"));
        if old.is_some() && !is_allowed && value.and_then(own_name).is_none() {
            // The choice of a hosted tool.
            return;
        }
        let new = match choice {
            ToolChoice::Auto => {
                fields.remove(TOOL_CHOICE);
                return;
            }
            ToolChoice::None => raw("none"),
            ToolChoice::Required => raw("required"),
            ToolChoice::Named(name) => named(fields, name),
            ToolChoice::Allowed { required, names } => {
                let old = old.filter(|_| is_allowed).map(|old| allowed_tools(&old)).unwrap_or_default();
                let mode = if *required { "required" } else { "auto" };
                let tools = raw(&allowed_elements(fields, &old, names));
                object([("type", raw("allowed_tools")), ("mode", raw(mode)), ("tools", tools)]).to_raw()
            }
        };
        fields.set(TOOL_CHOICE, new);
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

    fn write_tool(&self, tool: WrittenToolFields<'_>) -> Box<RawValue> {
        let mut element = object([("type", raw("function")), ("name", raw(tool.name))]);
        if let Some(description) = tool.description {
            element.set("description", raw(description));
        }
        element.set("parameters", tool.parameters.map_or_else(no_parameters, raw::<Value>));
        // Tools are strict unless they state otherwise.
        element.set("strict", raw(&tool.strict));
        element.to_raw()
    }

    fn elements(&self, fields: &RawObject) -> Vec<Box<RawValue>> {
        Conversation::new(fields).elements()
    }

    fn views<'a>(&self, fields: &'a RawObject, added: &'a [Arc<RawValue>]) -> Vec<MessageView<'a>> {
        Conversation::new(fields).views(added)
    }

    fn with_notes(&self, fields: &RawObject, notes: &BTreeMap<usize, String>) -> Box<RawValue> {
        Conversation::new(fields).with_notes(notes)
    }

    fn rejoined(&self, fields: &RawObject, parts: &BTreeMap<usize, KeptPart>, lost: &str) -> Rejoined {
        Conversation::new(fields).rejoined(parts, lost)
    }

    fn reasoning(&self, fields: &RawObject) -> Vec<ReasoningPart> {
        Conversation::new(fields).reasoning()
    }

    fn without_reasoning(&self, fields: &RawObject, positions: &BTreeSet<usize>) -> Box<RawValue> {
        Conversation::new(fields).without_reasoning(positions)
    }

    fn push_assistant(&self, added: &mut Vec<Arc<RawValue>>, message: &AssistantMessage) {
        added.extend(message.parts().into_iter().map(|part| Arc::from(part.into_owned())));
    }

    fn push_result(&self, added: &mut Vec<Arc<RawValue>>, call: &Call, text: &str, _is_error: bool) {
        let made = added.iter().rev().find(|item| call_id(item).is_some_and(|id| id == call.id));
        let output = match made {
            Some(made) => call_output(made, &call.id, text),
            None => output_item("function_call_output", &call.id, text).to_raw(),
        };
        added.push(output.into());
    }

    /// Appends a message or, behind results for a program, to the last one of them: the model goes on only after the
    /// program, which reads nothing but results.
    fn push_user(&self, added: &mut Vec<Arc<RawValue>>, text: &str) {
        for item in added.iter_mut().rev() {
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
        added.push(object([("role", raw("user")), ("content", raw(text))]).to_raw().into());
    }

    /// Finds results as well: with `previous_response_id`, a request has results without their calls.
    fn may_have_calls(&self, conversation: &str) -> bool {
        memchr::memmem::find(conversation.as_bytes(), CALL).is_some()
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
    let reference = ObjectFields::parse(reference.get())?;
    let kind = reference.string("type")?;
    if !matches!(kind.as_ref(), "function" | "custom") {
        return None;
    }
    let inner = reference.object(&kind);
    inner.as_ref().unwrap_or(&reference).string("name").map(Into::into)
}

/// Returns a reference to a function, or to a custom tool of the request.
fn named(fields: &RawObject, name: &str) -> Box<RawValue> {
    let tools: Vec<&RawValue> = fields.get_as("tools").unwrap_or_default();
    let tools = tools.into_iter().flat_map(|element| ResponsesRequest.read_tools(element));
    let is_custom = tools.into_iter().any(|tool| tool.kind == ToolKind::Custom && tool.name == name);
    let kind = if is_custom { "custom" } else { "function" };
    object([("type", raw(kind)), ("name", raw(name))]).to_raw()
}

/// Returns references to these tools, after those of hosted tools that the choice already has.
fn allowed_elements(fields: &RawObject, old: &[&RawValue], names: &[String]) -> Vec<Box<RawValue>> {
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
