//! One choice of a streamed completion.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::calls::{CallAssembler, CallParts};
use super::members::{Members, keep_last};
use crate::AnswerError;
use crate::chunk_fields::{ChoiceFields, DeltaFields};
use crate::fields::{ObjectFields, raw_value};
use callwright_common::json::{RawObject, raw};

/// Received parts of a choice.
#[derive(Debug, Default)]
pub(super) struct ChoiceParts {
    role: Option<Box<RawValue>>,
    message: Members,
    calls: CallAssembler,
    legacy_call: Option<CallParts>,
    legacy_irregular: bool,
    logprobs: Members,
    finish_reason: Option<Box<RawValue>>,
    fields: IndexMap<String, Box<RawValue>>,
}

impl ChoiceParts {
    /// Adds an element of a chunk's `choices`.
    pub(super) fn push(&mut self, choice: &ChoiceFields<'_>) -> Result<(), AnswerError> {
        for (key, value) in choice.members.iter().filter(|(_, value)| *value != "null") {
            match key {
                "index" | "delta" | "logprobs" => {}
                "finish_reason" => self.finish_reason = Some(raw_value(value)),
                _ => keep_last(&mut self.fields, key, value),
            }
        }
        if let Some(logprobs) = choice.members.get("logprobs").and_then(ObjectFields::parse) {
            self.logprobs.push_all(&logprobs);
        }
        choice.delta.as_ref().map_or(Ok(()), |delta| self.push_delta(delta))
    }

    fn push_delta(&mut self, delta: &DeltaFields<'_>) -> Result<(), AnswerError> {
        for (key, value) in delta.members.iter() {
            match key {
                "tool_calls" | "function_call" => {}
                "role" if self.role.is_none() && value != "null" => self.role = Some(raw_value(value)),
                "role" => {}
                _ => self.message.push(key, value),
            }
        }
        if let Some(piece) = &delta.legacy_call {
            let is_first = self.legacy_call.is_none();
            let regular = self.legacy_call.get_or_insert_default().push(piece);
            self.legacy_irregular |= !regular || is_first != piece.has_name();
        }
        self.calls.push_list(&delta.calls)
    }

    /// Returns the text of the message so far.
    pub(super) fn text(&self) -> &str {
        self.message.text("content")
    }

    pub(super) fn has_calls(&self) -> bool {
        self.legacy_call.is_some() || !self.calls.is_empty()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    pub(super) fn is_conformant(&self) -> bool {
        self.calls.is_conformant() && !self.legacy_irregular
    }

    /// Returns the element of the completion's `choices`.
    pub(super) fn into_object(mut self, index: u32) -> RawObject {
        let role = self.role.unwrap_or_else(|| raw("assistant"));
        let content = self.message.take("content").unwrap_or_else(|| raw(&()));
        let mut message: Vec<(String, Box<RawValue>)> =
            vec![("role".to_owned(), role), ("content".to_owned(), content)];
        message.extend(self.message.into_fields());
        let calls = self.calls.into_elements();
        if !calls.is_empty() {
            message.push(("tool_calls".to_owned(), raw(&calls)));
        }
        if let Some(call) = self.legacy_call {
            message.push(("function_call".to_owned(), call.into_body().to_raw()));
        }
        let message: RawObject = message.into_iter().collect();
        let logprobs = (!self.logprobs.is_empty()).then(|| self.logprobs.into_fields().collect::<RawObject>());
        let own = [
            ("index".to_owned(), raw(&index)),
            ("message".to_owned(), message.to_raw()),
            ("logprobs".to_owned(), raw(&logprobs)),
            ("finish_reason".to_owned(), raw(&self.finish_reason)),
        ];
        own.into_iter().chain(self.fields).collect()
    }
}
