//! Requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::parts::{Rejoined, RequestForm};
use crate::{AssistantMessage, KeptPart, MessageView, RequestError, ToolChoice, WrittenToolFields};
use callwright_common::json::RawObject;
use callwright_types::{Call, Tool};

/// Requests of this protocol.
#[derive(Debug)]
pub(crate) struct MessagesRequest;

impl RequestForm for MessagesRequest {
    fn conversation_key(&self) -> &'static str {
        unimplemented!()
    }
    fn check(&self, _fields: &RawObject) -> Result<(), RequestError> {
        unimplemented!()
    }
    fn max_answer_tokens(&self, _fields: &RawObject) -> Option<u64> {
        unimplemented!()
    }
    fn parallel_tool_calls(&self, _fields: &RawObject) -> bool {
        unimplemented!()
    }
    fn requires_json(&self, _fields: &RawObject) -> bool {
        unimplemented!()
    }
    fn tool_choice(&self, _fields: &RawObject) -> ToolChoice {
        unimplemented!()
    }
    fn set_tool_choice(&self, _fields: &mut RawObject, _choice: &ToolChoice) {
        unimplemented!()
    }
    fn read_tools(&self, _element: &RawValue) -> Vec<Tool> {
        unimplemented!()
    }
    fn write_tool(&self, _tool: WrittenToolFields<'_>) -> Box<RawValue> {
        unimplemented!()
    }
    fn elements(&self, _fields: &RawObject) -> Vec<Box<RawValue>> {
        unimplemented!()
    }
    fn views<'a>(&self, _fields: &'a RawObject, _added: &'a [Arc<RawValue>]) -> Vec<MessageView<'a>> {
        unimplemented!()
    }
    fn with_notes(&self, _fields: &RawObject, _notes: &BTreeMap<usize, String>) -> Box<RawValue> {
        unimplemented!()
    }
    fn rejoined(&self, _fields: &RawObject, _parts: &BTreeMap<usize, KeptPart>, _lost: &str) -> Rejoined {
        unimplemented!()
    }
    fn push_assistant(&self, _added: &mut Vec<Arc<RawValue>>, _message: &AssistantMessage) {
        unimplemented!()
    }
    fn push_result(&self, _added: &mut Vec<Arc<RawValue>>, _call: &Call, _text: &str, _is_error: bool) {
        unimplemented!()
    }
    fn push_user(&self, _added: &mut Vec<Arc<RawValue>>, _text: &str) {
        unimplemented!()
    }
    fn may_have_calls(&self, _conversation: &str) -> bool {
        unimplemented!()
    }
}
