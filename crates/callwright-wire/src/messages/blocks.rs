//! Content blocks of messages.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::ReasoningPart;
use crate::fields::{ObjectFields, object, present, string};
use callwright_common::json::{RawObject, raw};
use callwright_types::Call;

/// Type of a block with text.
pub(super) const TEXT: &str = "text";

/// Type of a block with readable reasoning, and its member with the text.
pub(super) const THINKING: &str = "thinking";

/// Type of a block with encrypted reasoning.
pub(super) const REDACTED_THINKING: &str = "redacted_thinking";

/// Member of a block with encrypted reasoning.
const DATA: &str = "data";

/// Member of a call with what made it: the model itself, or a program of it.
pub(super) const CALLER: &str = "caller";

/// Type of a block with a call that the client executes.
pub(super) const TOOL_USE: &str = "tool_use";

/// Type of a block with the result of a call.
pub(super) const TOOL_RESULT: &str = "tool_result";

/// Member of a thinking block that proves its origin.
pub(super) const SIGNATURE: &str = "signature";

/// Member of a message with its blocks, and of a result with its text.
pub(super) const CONTENT: &str = "content";

/// Member that ends the cached beginning of a prompt at its block.
pub(super) const CACHE_CONTROL: &str = "cache_control";

/// Role of the messages of the client.
pub(super) const USER: &str = "user";

/// Role of the messages of the model.
pub(super) const ASSISTANT: &str = "assistant";

/// Returns a block with the result of a call.
pub(super) fn result_block(call_id: &str, text: &str, is_error: bool) -> Box<RawValue> {
    let mut block = object([("type", raw(TOOL_RESULT)), ("tool_use_id", raw(call_id)), (CONTENT, raw(text))]);
    if is_error {
        block.set("is_error", raw(&true));
    }
    block.to_raw()
}

/// Returns a message with these blocks.
pub(super) fn message(role: &str, blocks: &[impl AsRef<RawValue>]) -> Box<RawValue> {
    let blocks: Vec<&RawValue> = blocks.iter().map(AsRef::as_ref).collect();
    object([("role", raw(role)), (CONTENT, raw(&blocks))]).to_raw()
}

/// Returns the blocks of a content: the elements of an array, or one text block for a string, which keeps its JSON
/// text. `None` for a value of another type.
pub(super) fn blocks_of(content: Option<&RawValue>) -> Option<Vec<Box<RawValue>>> {
    let Some(content) = content else { return Some(Vec::new()) };
    if content.get().starts_with('"') {
        return Some(vec![object([("type", raw(TEXT)), ("text", content.to_owned())]).to_raw()]);
    }
    serde_json::from_str(content.get()).ok()
}

/// Returns the blocks in the content of a message or a result; none for another content.
pub(super) fn blocks_in(element: &RawValue) -> Vec<&RawValue> {
    ObjectFields::parse(element.get()).and_then(|fields| fields.items(CONTENT)).unwrap_or_default()
}

/// Whether an element is a message with this role.
pub(super) fn has_role(element: &RawValue, role: &str) -> bool {
    ObjectFields::parse(element.get()).is_some_and(|message| message.string("role").as_deref() == Some(role))
}

/// Returns the members and blocks of a user message; `None` for other elements.
pub(super) fn user_blocks(element: &RawValue) -> Option<(RawObject, Vec<Box<RawValue>>)> {
    let fields = RawObject::parse(element.get()).ok().filter(|_| has_role(element, USER))?;
    let blocks = blocks_of(present(fields.get(CONTENT)))?;
    Some((fields, blocks))
}

/// Returns the identity of a block with reasoning; `None` for other blocks.
pub(super) fn reasoning_part(block: &ObjectFields<'_>) -> Option<ReasoningPart> {
    match block.string("type").as_deref() {
        Some(THINKING) => {
            ReasoningPart::new(None, block.string(SIGNATURE), &block.string(THINKING).unwrap_or_default())
        }
        Some(REDACTED_THINKING) => ReasoningPart::new(None, block.string(DATA), ""),
        _ => None,
    }
}

/// Whether a value is an object of this type.
pub(super) fn is_block(block: &RawValue, kind: &str) -> bool {
    ObjectFields::parse(block.get()).is_some_and(|block| block.string("type").as_deref() == Some(kind))
}

/// Whether a block is a call that a program of the model made. The program waits for the result and reads it as data.
pub(super) fn is_call_of_program(block: &RawValue) -> bool {
    let caller = ObjectFields::parse(block.get()).and_then(|block| block.object(CALLER));
    is_block(block, TOOL_USE) && caller.is_some_and(|caller| caller.string("type").is_some_and(|kind| kind != "direct"))
}

/// Whether a block is a text block without visible text, which the API rejects in requests.
pub(super) fn is_blank_text(block: &RawValue) -> bool {
    is_block(block, TEXT)
        && ObjectFields::parse(block.get()).is_some_and(|block| match block.string("text") {
            Some(text) => text.trim().is_empty(),
            None => true,
        })
}

/// Returns the call of a `tool_use` block: id and name, empty if missing, and the JSON text of the input.
pub(super) fn read_call(block: &ObjectFields<'_>) -> Call {
    Call {
        id: block.string("id").unwrap_or_default().into_owned(),
        name: block.string("name").unwrap_or_default().into_owned(),
        arguments: block.get("input").map(arguments).unwrap_or_default().into_owned(),
    }
}

/// Returns the arguments in an input: its JSON text, or the content of a string that some servers send instead. An
/// empty string is an empty object.
pub(super) fn arguments(input: &RawValue) -> Cow<'_, str> {
    match string(input) {
        Some(text) if text.trim().is_empty() => Cow::Borrowed("{}"),
        Some(text) => text,
        None => Cow::Borrowed(input.get()),
    }
}

/// Returns the input with these arguments: the JSON value, or a string if the text is not JSON.
pub(super) fn input(arguments: &str) -> Box<RawValue> {
    if arguments.trim().is_empty() {
        return RawObject::default().to_raw();
    }
    RawValue::from_string(arguments.to_owned()).unwrap_or_else(|_| raw(arguments))
}

/// Whether the API accepts an id of a call: one or more letters, digits, underscores or hyphens.
pub(super) fn is_call_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
