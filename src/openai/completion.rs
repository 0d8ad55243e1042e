//! A whole answer: read and edited without losing what is not understood.

use bytes::Bytes;
use serde_json::Value;

use super::{AnswerError, AssistantMessage};
use crate::domain::json::RawObject;
use crate::domain::{Call, Usage};

/// A chat completion object. One that was not edited is sent on as the very bytes received.
#[derive(Debug, Clone)]
pub struct Completion {
    original: Bytes,
    fields: RawObject,
    choices: Vec<Choice>,
}

/// One choice of an answer.
#[derive(Debug, Clone)]
pub struct Choice {
    /// `index`; the position where the upstream sent none.
    pub index: u32,
    /// `finish_reason`; `None` where it is `null` or absent.
    pub finish_reason: Option<String>,
    /// `message`.
    pub message: AssistantMessage,
    fields: RawObject,
}

impl Completion {
    /// Reads an answer.
    ///
    /// # Errors
    /// When it is not a JSON object in UTF-8 with an array of choices.
    pub fn parse(_body: Bytes) -> Result<Self, AnswerError> {
        todo!()
    }

    /// A minted answer of one choice that says `text`, with finish reason `stop`.
    pub fn of_text(_model: &str, _text: &str) -> Self {
        todo!()
    }

    /// The choices, in the upstream's order.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The choices, to be edited.
    pub fn choices_mut(&mut self) -> &mut [Choice] {
        &mut self.choices
    }

    /// `id`.
    pub fn id(&self) -> Option<&str> {
        todo!()
    }

    /// `model`.
    pub fn model(&self) -> Option<&str> {
        todo!()
    }

    /// `usage`.
    pub fn usage(&self) -> Option<Usage> {
        todo!()
    }

    /// Replaces the token counts; the other members of `usage` (details) stay.
    pub fn set_usage(&mut self, _usage: Usage) {
        todo!()
    }

    /// Sets the member `callwright`.
    pub fn set_debug(&mut self, _debug: &Value) {
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

impl Choice {
    /// Replaces the calls. An element whose id is kept keeps its place and its unknown fields; name and arguments are replaced
    /// where they differ; new calls are appended, others removed; calls that are not judged stay. `finish_reason` follows: `stop`
    /// becomes `tool_calls` (`function_call` in a legacy message) when calls remain, and the reverse when none do. `logprobs` of a
    /// choice that changed become `null`.
    pub fn set_calls(&mut self, _calls: &[Call]) {
        let _ = &self.fields;
        todo!()
    }

    /// Replaces the message's content; `logprobs` become `null`.
    pub fn set_text(&mut self, _text: &str) {
        todo!()
    }
}
