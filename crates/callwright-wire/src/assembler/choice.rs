//! One choice of a streamed completion.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::calls::{CallAssembler, CallParts};
use super::members::{Members, keep_last};
use crate::AnswerError;
use crate::chat_answer::is_cut_off;
use crate::chunk::is_filled;
use crate::chunk::{ChoiceFields, DeltaFields};
use crate::fields::{ObjectFields, raw_value, string};
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
    /// Whether a delta or another finish reason followed the finish reason.
    pub(super) continues_after_end: bool,
    fields: IndexMap<String, Box<RawValue>>,
    /// Number of bytes of `fields`.
    fields_size: usize,
}

impl ChoiceParts {
    /// Adds an element of a chunk's `choices`.
    pub(super) fn push(&mut self, choice: &ChoiceFields<'_>) -> Result<(), AnswerError> {
        self.push_ending(choice);
        if let Some(logprobs) = choice.members.get("logprobs").and_then(ObjectFields::parse) {
            logprobs.iter().for_each(|(key, piece)| self.logprobs.push(key, piece.get()));
        }
        choice.delta.as_ref().map_or(Ok(()), |delta| self.push_delta(delta))
    }

    /// Adds the finish reason and the members beside the delta.
    pub(super) fn push_ending(&mut self, choice: &ChoiceFields<'_>) {
        let has_ended = self.finish_reason.is_some();
        for (key, value) in choice.members.iter().filter(|(_, value)| *value != "null") {
            match key {
                "index" | "delta" | "logprobs" => {}
                "finish_reason" => self.end(value),
                _ => self.fields_size += keep_last(&mut self.fields, key, value),
            }
        }
        self.continues_after_end |= has_ended && choice.delta.as_ref().is_some_and(has_content);
    }

    /// Adds a finish reason. Some servers send `""` until the end, and some a reason with every chunk.
    fn end(&mut self, reason: &str) {
        if reason == "\"\"" {
            return;
        }
        self.continues_after_end |= self.finish_reason.is_some();
        let was_cut_off = self.finish_reason.as_deref().and_then(string).is_some_and(|reason| is_cut_off(&reason));
        if !was_cut_off {
            self.finish_reason = Some(raw_value(reason));
        }
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
            self.legacy_irregular |= !regular || is_first != piece.name.is_some();
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

    /// Returns the finish reason that follows from the content.
    pub(super) fn reason_of_content(&self) -> &'static str {
        match (&self.legacy_call, self.calls.is_empty()) {
            (Some(_), _) => "function_call",
            (None, false) => "tool_calls",
            (None, true) => "stop",
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finish_reason.is_some()
    }

    pub(super) fn is_conformant(&self) -> bool {
        self.calls.is_conformant() && !self.legacy_irregular && !self.continues_after_end
    }

    /// Number of bytes kept.
    pub(super) fn size(&self) -> usize {
        let legacy_call = self.legacy_call.as_ref().map_or(0, CallParts::size);
        self.message.size() + self.calls.size + self.logprobs.size() + self.fields_size + legacy_call
    }

    /// Removes the token probabilities, which clients of a stream get at once.
    pub(super) fn drop_logprobs(&mut self) {
        self.logprobs = Members::default();
    }

    /// Removes the content. Returns the element of the completion's `choices`. Further calls continue those that it
    /// has.
    pub(super) fn take_object(&mut self, index: u32) -> RawObject {
        let begun = Self {
            message: std::mem::take(&mut self.message),
            calls: self.calls.take(),
            legacy_call: self.legacy_call.as_mut().map(CallParts::take),
            ..Self::default()
        };
        self.logprobs = Members::default();
        begun.into_object(index)
    }

    /// Adds the next element without keeping its content. Returns the elements of `tool_calls` for the client.
    pub(super) fn pass(&mut self, choice: &ChoiceFields<'_>) -> Result<Vec<RawObject>, AnswerError> {
        self.push_ending(choice);
        choice.delta.as_ref().map_or(Ok(Vec::new()), |delta| self.calls.pass_list(&delta.calls))
    }

    /// Returns the element of the completion's `choices`.
    pub(super) fn into_object(mut self, index: u32) -> RawObject {
        let role = self.role.unwrap_or_else(|| raw("assistant"));
        let content = self.message.take("content").unwrap_or_else(|| raw(&()));
        let mut message: Vec<(String, Box<RawValue>)> =
            vec![("role".to_owned(), role), ("content".to_owned(), content)];
        message.extend(self.message.into_fields());
        if let Some(calls) = self.calls.into_raw() {
            message.push(("tool_calls".to_owned(), calls));
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

/// Whether a delta has more than a role.
fn has_content(delta: &DeltaFields<'_>) -> bool {
    delta.legacy_call.is_some() || delta.members.iter().any(|(key, value)| key != "role" && is_filled(value))
}
