//! Elements that the proxy appends to a conversation.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::blocks::{
    ASSISTANT, CONTENT, TOOL_RESULT, USER, blocks_of, is_blank_text, is_block, message, result_block, text_block,
};
use crate::AssistantMessage;
use crate::fields::{ObjectFields, present};
use callwright_common::json::{RawObject, raw};
use callwright_types::Call;

/// Appends an answer of the model. Its blocks are unmodified and in the model's order, because the API rejects thinking
/// that was changed or moved. Nothing is appended for an answer without blocks, which the API rejects too.
pub(super) fn push_assistant(added: &mut Vec<Arc<RawValue>>, answer: &AssistantMessage) {
    let mut blocks = answer.parts();
    blocks.retain(|block| !is_blank_text(block));
    if !blocks.is_empty() {
        added.push(message(ASSISTANT, &blocks).into());
    }
}

/// Appends the result of a call to the user message with the results of the last answer.
pub(super) fn push_result(added: &mut Vec<Arc<RawValue>>, call: &Call, text: &str, is_error: bool) {
    let result = result_block(&call.id, text, is_error);
    edit_last_user(added, |blocks| {
        let end = blocks.iter().take_while(|block| is_block(block, TOOL_RESULT)).count();
        blocks.insert(end, result);
    });
}

/// Appends text of the user to the last user message, after the results in it.
pub(super) fn push_user(added: &mut Vec<Arc<RawValue>>, text: &str) {
    edit_last_user(added, |blocks| blocks.push(text_block(text)));
}

/// Edits the blocks of the last element if it is a user message, or those of a new user message.
fn edit_last_user(added: &mut Vec<Arc<RawValue>>, edit: impl FnOnce(&mut Vec<Box<RawValue>>)) {
    if let Some(last) = added.last_mut()
        && let Some((mut fields, mut blocks)) = user_blocks(last)
    {
        edit(&mut blocks);
        fields.set(CONTENT, raw(&blocks));
        *last = fields.to_raw().into();
        return;
    }
    let mut blocks = Vec::new();
    edit(&mut blocks);
    added.push(message(USER, &blocks).into());
}

/// Returns the members and blocks of a user message.
fn user_blocks(element: &RawValue) -> Option<(RawObject, Vec<Box<RawValue>>)> {
    if ObjectFields::parse(element.get())?.string("role")? != USER {
        return None;
    }
    let fields = RawObject::parse(element.get()).ok()?;
    let blocks = blocks_of(present(fields.get(CONTENT)))?;
    Some((fields, blocks))
}
