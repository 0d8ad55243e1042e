//! The model's message of an answer, in the form of its protocol.

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::chat_message::ChatMessage;
use super::parts::{AnswerForm, PartsMessage};
use super::scanner::{Scanned, Scanner};
use super::{AnswerError, ReasoningPart};
use callwright_common::json::RawObject;
use callwright_types::Call;

/// The model's message of an answer: text, calls, and parts that are unknown to the proxy (reasoning, signatures,
/// citations), which are kept.
#[derive(Debug, Clone)]
pub struct AssistantMessage(MessageForm);

#[derive(Debug, Clone)]
enum MessageForm {
    Chat(ChatMessage),
    Parts(PartsMessage),
}

impl AssistantMessage {
    /// Parses the `message` of a chat completion.
    pub(crate) fn read(fields: RawObject) -> Result<Self, AnswerError> {
        ChatMessage::read(fields).map(|message| Self(MessageForm::Chat(message)))
    }

    /// Reads the `message` of a chat completion in place. `body` contains the scanner's text.
    pub(super) fn scan(scanner: &mut Scanner<'_>, body: &Bytes) -> Scanned<Result<Self, AnswerError>> {
        Ok(ChatMessage::scan(scanner, body)?.map(|message| Self(MessageForm::Chat(message))))
    }

    /// Parses the parts of an answer.
    pub(crate) fn of_parts(form: &'static dyn AnswerForm, parts: Vec<Box<RawValue>>) -> Result<Self, AnswerError> {
        PartsMessage::read(form, parts).map(|message| Self(MessageForm::Parts(message)))
    }

    /// Returns the text: a string content, or the joined text parts.
    pub fn text(&self) -> Option<String> {
        match &self.0 {
            MessageForm::Chat(message) => message.text(),
            MessageForm::Parts(message) => message.text(),
        }
    }

    /// Returns the approximate size of the message as JSON in bytes.
    pub fn size(&self) -> usize {
        match &self.0 {
            MessageForm::Chat(message) => message.size(),
            MessageForm::Parts(message) => message.size(),
        }
    }

    /// Returns the model's refusal, if it is not blank.
    pub fn refusal(&self) -> Option<String> {
        match &self.0 {
            MessageForm::Chat(message) => message.refusal().map(str::to_owned),
            MessageForm::Parts(message) => message.refusal(),
        }
    }

    /// Returns the model's reasoning if it is separate from the text: in its own member, or in parts of the content.
    pub fn reasoning(&self) -> Option<String> {
        match &self.0 {
            MessageForm::Chat(message) => message.reasoning(),
            MessageForm::Parts(message) => message.reasoning(),
        }
    }

    /// Whether the message contains only text and reasoning: no call, refusal, audio, image or part of another kind.
    pub fn is_only_text(&self) -> bool {
        match &self.0 {
            MessageForm::Chat(message) => message.is_only_text(),
            MessageForm::Parts(message) => message.is_only_text(),
        }
    }

    /// Returns the calls of functions. Ids are generated if they are missing or duplicates.
    pub fn calls(&self) -> &[Call] {
        match &self.0 {
            MessageForm::Chat(message) => message.calls(),
            MessageForm::Parts(message) => message.calls(),
        }
    }

    /// Returns the namespaces of the calls that name one, by id. Only Responses has such.
    pub fn namespaces(&self) -> HashMap<String, String> {
        match &self.0 {
            MessageForm::Chat(_) => HashMap::new(),
            MessageForm::Parts(message) => message.namespaces(),
        }
    }

    /// Whether the message has unjudged calls, such as those of custom tools.
    pub fn has_unjudged_calls(&self) -> bool {
        match &self.0 {
            MessageForm::Chat(message) => message.has_unjudged_calls(),
            MessageForm::Parts(message) => message.has_unjudged_calls(),
        }
    }

    /// Returns the unjudged calls with an id, with their name and input if present.
    pub fn unjudged_calls(&self) -> Vec<Call> {
        match &self.0 {
            MessageForm::Chat(message) => message.unjudged_calls(),
            MessageForm::Parts(message) => message.unjudged_calls(),
        }
    }

    /// Whether the message calls with the legacy `function_call` of chat completions.
    pub fn is_legacy(&self) -> bool {
        matches!(&self.0, MessageForm::Chat(message) if message.is_legacy())
    }

    /// Whether every call conforms to the API reference. Otherwise, [`super::Choice::set_calls`] rewrites the calls, even
    /// if it is given the same calls.
    pub fn is_well_formed(&self) -> bool {
        match &self.0 {
            MessageForm::Chat(message) => message.is_well_formed(),
            MessageForm::Parts(message) => message.is_well_formed(),
        }
    }

    /// Returns the members of a chat message that are neither role, text nor calls (reasoning, refusal, annotations) and
    /// not `null`.
    pub fn other_members(&self) -> RawObject {
        match &self.0 {
            MessageForm::Chat(message) => message.other_members(),
            MessageForm::Parts(_) => RawObject::default(),
        }
    }

    /// Returns the members of a chat message that only the provider can interpret, such as signatures of reasoning. A
    /// message must contain those of its own attempt.
    pub fn opaque_members(&self) -> RawObject {
        match &self.0 {
            MessageForm::Chat(message) => message.opaque_members(),
            MessageForm::Parts(_) => RawObject::default(),
        }
    }

    /// Returns a chat message as an element of a request; `None` in other protocols.
    pub(crate) fn chat_element(&self) -> Option<Box<RawValue>> {
        match &self.0 {
            MessageForm::Chat(message) => Some(message.to_raw()),
            MessageForm::Parts(_) => None,
        }
    }

    /// Returns the parts in order, well-formed and with generated ids; empty in chat completions.
    pub(crate) fn parts(&self) -> Vec<Cow<'_, RawValue>> {
        match &self.0 {
            MessageForm::Chat(_) => Vec::new(),
            MessageForm::Parts(message) => message.written(),
        }
    }

    /// Returns the reasoning behind all other parts; none in chat completions.
    pub fn trailing_reasoning(&self) -> Vec<ReasoningPart> {
        match &self.0 {
            MessageForm::Chat(_) => Vec::new(),
            MessageForm::Parts(message) => message.trailing_reasoning(),
        }
    }

    /// Returns the elements of the calls with their ids, judged and unjudged, well-formed.
    pub fn call_elements(&self) -> Vec<(String, Box<RawValue>)> {
        match &self.0 {
            MessageForm::Chat(message) => message.identified_elements(),
            MessageForm::Parts(message) => message.identified_calls(),
        }
    }

    /// Returns the object of a chat message.
    pub(crate) fn chat(&self) -> Option<&ChatMessage> {
        match &self.0 {
            MessageForm::Chat(message) => Some(message),
            MessageForm::Parts(_) => None,
        }
    }

    /// Returns the message with these calls in place of its own.
    pub fn with_calls(&self, calls: &[Call]) -> Self {
        let mut message = self.clone();
        message.set_calls(calls);
        message
    }

    /// Replaces the calls of the message. Returns whether that changed it.
    pub(crate) fn set_calls(&mut self, calls: &[Call]) -> bool {
        match &mut self.0 {
            MessageForm::Chat(message) => message.set_calls(calls),
            MessageForm::Parts(message) => message.set_calls(calls),
        }
    }

    /// Reads the calls of custom tools that `is_function` accepts as calls of functions: their input is the arguments.
    /// [`super::Choice::set_calls`] writes them in that form. Returns their ids.
    pub fn adopt_custom_calls(&mut self, is_function: impl Fn(&Call) -> bool) -> Vec<String> {
        if !self.has_unjudged_calls() {
            return Vec::new();
        }
        match &mut self.0 {
            MessageForm::Chat(message) => message.adopt_custom_calls(is_function),
            MessageForm::Parts(message) => message.adopt_custom_calls(is_function),
        }
    }

    /// Writes a call as a call of a custom tool. Returns whether that changed the message.
    pub(crate) fn make_custom(&mut self, id: &str, input: &str) -> bool {
        match &mut self.0 {
            MessageForm::Chat(message) => message.make_custom(id, input),
            MessageForm::Parts(message) => message.make_custom(id, input),
        }
    }

    /// Replaces the text of the message.
    pub(crate) fn set_text(&mut self, text: &str) {
        match &mut self.0 {
            MessageForm::Chat(message) => message.set_text(text),
            MessageForm::Parts(message) => message.set_text(text),
        }
    }

    /// Sets the form of later calls, for a chat message without calls.
    pub(crate) fn call_in_form(&mut self, legacy: bool) {
        if let MessageForm::Chat(message) = &mut self.0 {
            message.call_in_form(legacy);
        }
    }
}
