//! A chat completion request: read without copying its content, edited field by field.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::{AssistantMessage, RequestError, ToolChoice};
use crate::domain::json::RawObject;
use crate::domain::{Call, Tool};

/// The body of `POST /v1/chat/completions`. What is not edited keeps its bytes and its order; a request that was never
/// edited is sent on as the very bytes received.
#[derive(Debug, Clone)]
pub struct ChatRequest {
    original: Bytes,
    fields: RawObject,
}

/// One message of a request, read as far as the proxy needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageView<'a> {
    /// `system`, `developer`, `user`, `assistant`, `tool`, `function`; empty where it is missing.
    pub role: Cow<'a, str>,
    /// The text of a string content, or the text parts of a multi-part content joined with newlines; `None` where there is none.
    pub text: Option<Cow<'a, str>>,
    /// The ids of the calls that an assistant message makes, in order.
    pub call_ids: Vec<Cow<'a, str>>,
    /// The id of the call that a tool message answers.
    pub tool_call_id: Option<Cow<'a, str>>,
    /// `name`: of a participant or, with role `function`, of the function.
    pub name: Option<Cow<'a, str>>,
}

impl ChatRequest {
    /// Reads a body.
    ///
    /// # Errors
    /// When it is not a JSON object, or a field that the proxy acts on has a type that no upstream accepts.
    pub fn parse(body: Bytes) -> Result<Self, RequestError> {
        let fields = RawObject::parse_bytes(&body).map_err(|_| todo!())?;
        Ok(Self { original: body, fields })
    }

    /// `model`; empty where the request names none.
    pub fn model(&self) -> &str {
        todo!()
    }

    /// `stream: true`.
    pub fn is_stream(&self) -> bool {
        todo!()
    }

    /// `n`, 1 where it is absent.
    pub fn choice_count(&self) -> u32 {
        todo!()
    }

    /// `stream_options.include_usage`.
    pub fn wants_usage_chunk(&self) -> bool {
        todo!()
    }

    /// `logprobs: true`.
    pub fn wants_logprobs(&self) -> bool {
        todo!()
    }

    /// `parallel_tool_calls`, true where it is absent.
    pub fn parallel_tool_calls(&self) -> bool {
        todo!()
    }

    /// `tool_choice`, or the legacy `function_call`.
    pub fn tool_choice(&self) -> ToolChoice {
        todo!()
    }

    /// Does the request use the legacy `functions` / `function_call` instead of `tools`?
    pub fn is_legacy(&self) -> bool {
        todo!()
    }

    /// The JSON text of the client's own `tools` (or legacy `functions`): a cache key for what is made from them.
    pub fn tools_text(&self) -> Option<&str> {
        todo!()
    }

    /// The client's own tools. A tool without a readable name is left out: the upstream judges it. Tools of another type
    /// than `function` are marked as free text.
    pub fn client_tools(&self) -> Vec<Tool> {
        todo!()
    }

    /// The messages, those that were pushed included.
    pub fn messages(&self) -> Vec<MessageView<'_>> {
        todo!()
    }

    /// The text of the messages up to the first user message: what tells one conversation from another.
    pub fn first_messages_text(&self) -> String {
        todo!()
    }

    /// Replaces `model`.
    pub fn set_model(&mut self, _model: &str) {
        todo!()
    }

    /// Appends tools behind the client's own (to `functions` in a legacy request).
    pub fn add_tools(&mut self, _tools: &[Arc<Tool>]) {
        todo!()
    }

    /// Replaces `tool_choice` (`function_call` in a legacy request). `Auto` removes the field, which means the same.
    pub fn set_tool_choice(&mut self, _choice: ToolChoice) {
        todo!()
    }

    /// Appends the model's message as it came: unknown fields, reasoning and signatures included.
    pub fn push_assistant(&mut self, _message: &AssistantMessage) {
        todo!()
    }

    /// Appends the answer to a call.
    pub fn push_tool_result(&mut self, _call: &Call, _content: &str) {
        todo!()
    }

    /// Appends a user message.
    pub fn push_user(&mut self, _text: &str) {
        todo!()
    }

    /// Replaces `stream`; switched off, `stream_options` goes too.
    pub fn set_stream(&mut self, _stream: bool) {
        todo!()
    }

    /// Removes `store` and `metadata`: for requests that the proxy makes on its own account.
    pub fn forget_storage(&mut self) {
        todo!()
    }

    /// Was anything edited?
    pub fn is_edited(&self) -> bool {
        todo!()
    }

    /// The body to send: the very bytes received if nothing was edited.
    pub fn to_bytes(&self) -> Bytes {
        let _ = &self.fields;
        self.original.clone()
    }

    /// The whole as a JSON value, for traces.
    pub fn to_value(&self) -> Value {
        todo!()
    }
}
