//! Items of a conversation and of an answer.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::answer::reasoning_text;
use crate::ReasoningPart;
use crate::fields::{ObjectFields, present, string};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, ids};

/// Member of a call and its result with the program that made the call.
pub(super) const CALLER: &str = "caller";

/// Kind of an item, by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// Message of any role.
    Message,
    /// Reasoning of the model.
    Reasoning,
    /// Call of a function.
    FunctionCall,
    /// Call of a custom tool, which takes free text.
    CustomToolCall,
    /// Any other call for which the client returns a result, such as `shell_call` and `mcp_approval_request`.
    ClientCall,
    /// Result of a call.
    CallOutput,
    /// Any other item, such as the call of a tool that the server executes.
    Other,
}

impl ItemKind {
    /// Returns the kind of an item. Clients may omit the type of a message.
    pub(super) fn new(item: &ObjectFields<'_>) -> Self {
        let Some(kind) = item.string("type").filter(|kind| !kind.is_empty()) else {
            return if item.get("role").is_some() { Self::Message } else { Self::Other };
        };
        match kind.as_ref() {
            "message" => Self::Message,
            "reasoning" => Self::Reasoning,
            "function_call" => Self::FunctionCall,
            "custom_tool_call" => Self::CustomToolCall,
            "local_shell_call" | "apply_patch_call" | "computer_call" | "mcp_approval_request" => Self::ClientCall,
            "shell_call" if runs_in_container(item) => Self::Other,
            "tool_search_call" if item.string("execution").as_deref() != Some("client") => Self::Other,
            "shell_call" | "tool_search_call" => Self::ClientCall,
            kind if kind.ends_with("_call_output") => Self::CallOutput,
            // Calls of tools that the server executes have no `call_id`.
            kind if kind.ends_with("_call") && item.string("call_id").is_some() => Self::ClientCall,
            _ => Self::Other,
        }
    }

    /// Whether the client returns a result for an item of this kind.
    pub(super) fn is_call(self) -> bool {
        matches!(self, Self::FunctionCall | Self::CustomToolCall | Self::ClientCall)
    }

    /// Member with the arguments of a call that are streamed as text.
    pub(super) fn arguments_key(self) -> Option<&'static str> {
        match self {
            Self::FunctionCall => Some("arguments"),
            Self::CustomToolCall => Some("input"),
            _ => None,
        }
    }
}

/// Whether the server executes a shell call, in a container.
fn runs_in_container(item: &ObjectFields<'_>) -> bool {
    let kind = item.object("environment").and_then(|environment| environment.string("type").map(Cow::into_owned));
    kind.is_some_and(|kind| kind.starts_with("container"))
}

/// Whether the model wrote an item of a request.
pub(super) fn is_of_model(item: &ObjectFields<'_>, kind: ItemKind) -> bool {
    match kind {
        ItemKind::Message => item.string("role").as_deref() == Some("assistant"),
        ItemKind::CallOutput => false,
        ItemKind::Other => match item.string("type").as_deref() {
            Some("item_reference") => item.string("id").is_some_and(|id| is_id_of_model(&id)),
            Some(kind) => kind.ends_with("_call") || kind == "mcp_list_tools",
            None => false,
        },
        _ => true,
    }
}

/// Whether an id belongs to an item that only a model writes.
fn is_id_of_model(id: &str) -> bool {
    ["rs_", "fc_", "ctc_"].iter().any(|prefix| id.starts_with(prefix))
}

/// Whether a program of the model made a call, or waits for a result.
pub(super) fn is_of_program(item: &ObjectFields<'_>) -> bool {
    item.object(CALLER).is_some_and(|caller| caller.string("type").is_some_and(|kind| kind != "direct"))
}

/// Returns the call of an item. Missing members are empty; arguments that are not a string become their JSON text.
pub(super) fn call_of(item: &ObjectFields<'_>, kind: ItemKind) -> Call {
    let id = item.string("call_id").or_else(|| if kind == ItemKind::ClientCall { item.string("id") } else { None });
    let arguments = ["arguments", "input", "action", "operation"].iter().find_map(|key| item.get(key));
    let arguments = arguments.map(|value| string(value).unwrap_or(Cow::Borrowed(value.get())));
    Call {
        id: id.unwrap_or_default().into_owned(),
        name: item.string("name").unwrap_or_default().into_owned(),
        arguments: arguments.unwrap_or_default().into_owned(),
    }
}

/// Returns the `call_id` of a call item; `None` for other items.
pub(super) fn call_id(item: &RawValue) -> Option<String> {
    let item = ObjectFields::parse(item.get())?;
    let kind = ItemKind::new(&item);
    kind.is_call().then(|| call_of(&item, kind).id).filter(|id| !id.is_empty())
}

/// Returns the identity of a reasoning item, or of the item that a reference names; `None` for other items.
pub(super) fn reasoning_part(item: &RawValue) -> Option<ReasoningPart> {
    let item = ObjectFields::parse(item.get())?;
    match item.string("type").as_deref() {
        Some("reasoning") => {
            ReasoningPart::new(item.string("id"), item.string("encrypted_content"), &reasoning_text(&item))
        }
        Some("item_reference") => ReasoningPart::new(item.string("id"), None, ""),
        _ => None,
    }
}

/// Returns the `id` of an item.
pub(super) fn item_id(item: &RawValue) -> Option<String> {
    let id = ObjectFields::parse(item.get())?.string("id").map(Cow::into_owned);
    id.filter(|id| !id.is_empty())
}

/// Returns an item with another `status`, if it has one or is a message, which must have one.
pub(super) fn with_status(mut item: RawObject, status: &str) -> RawObject {
    if present(item.get("status")).is_some() || item.get("type").is_some_and(|kind| kind.get() == "\"message\"") {
        item.set("status", raw(status));
    }
    item
}

/// Returns a new id that begins with `prefix`, as in `fc_...`. Ids sort by time, like those of OpenAI.
pub(super) fn new_id(prefix: &str) -> String {
    format!("{prefix}_{}", ids::trace_id(Timestamp::now()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn kind(value: &Value) -> ItemKind {
        ItemKind::new(&ObjectFields::parse(&value.to_string()).unwrap())
    }

    #[test]
    fn calls_of_the_client_and_the_server_are_distinguished() {
        for (value, expected) in [
            (json!({"role": "user", "content": "x"}), ItemKind::Message),
            (json!({"type": "function_call", "call_id": "a"}), ItemKind::FunctionCall),
            (json!({"type": "custom_tool_call", "call_id": "a"}), ItemKind::CustomToolCall),
            (json!({"type": "local_shell_call"}), ItemKind::ClientCall),
            (json!({"type": "shell_call", "environment": {"type": "local"}}), ItemKind::ClientCall),
            (json!({"type": "shell_call", "environment": {"type": "container_reference"}}), ItemKind::Other),
            (json!({"type": "tool_search_call", "call_id": null, "execution": "server"}), ItemKind::Other),
            (json!({"type": "tool_search_call", "call_id": "a", "execution": "client"}), ItemKind::ClientCall),
            (json!({"type": "web_search_call", "id": "ws_1"}), ItemKind::Other),
            (json!({"type": "mcp_call", "id": "mcp_1"}), ItemKind::Other),
            (json!({"type": "later_call", "call_id": "a"}), ItemKind::ClientCall),
            (json!({"type": "shell_call_output", "call_id": "a"}), ItemKind::CallOutput),
            (json!({"type": "compaction"}), ItemKind::Other),
            (json!({}), ItemKind::Other),
        ] {
            assert_eq!(kind(&value), expected, "{value}");
        }
    }

    #[test]
    fn ids_have_their_prefix_and_are_unique() {
        assert!(new_id("fc").starts_with("fc_"));
        assert_ne!(new_id("fc"), new_id("fc"));
    }
}
