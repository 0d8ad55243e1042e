//! One choice of a streamed completion.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::calls::{CallAssembler, CallParts, CallPiece};
use super::members::{Members, keep_last};
use crate::AnswerError;
use crate::chunk::ChoiceFields;
use crate::fields::{ObjectFields, present};
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
        for (key, value) in choice.members.iter().filter(|(_, value)| present(Some(value)).is_some()) {
            match key {
                "index" | "delta" | "logprobs" => {}
                "finish_reason" => self.finish_reason = Some(value.to_owned()),
                _ => keep_last(&mut self.fields, key, value),
            }
        }
        if let Some(logprobs) = choice.members.object("logprobs") {
            self.logprobs.push_all(&logprobs);
        }
        choice.delta.as_ref().map_or(Ok(()), |delta| self.push_delta(delta))
    }

    fn push_delta(&mut self, delta: &ObjectFields<'_>) -> Result<(), AnswerError> {
        for (key, value) in delta.iter() {
            match key {
                "tool_calls" | "function_call" => {}
                "role" => {
                    self.role = self.role.take().or_else(|| present(Some(value)).map(ToOwned::to_owned));
                }
                _ => self.message.push(key, value),
            }
        }
        if let Some(function) = delta.object("function_call") {
            let piece = CallPiece::read_body(function);
            let is_first = self.legacy_call.is_none();
            let regular = self.legacy_call.get_or_insert_default().push(&piece);
            self.legacy_irregular |= !regular || is_first != piece.has_name();
        }
        let list = delta.items("tool_calls").unwrap_or_default();
        self.calls.push_list(&list)
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
