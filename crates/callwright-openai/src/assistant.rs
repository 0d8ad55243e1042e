//! The model's message of an answer, in the form of its protocol.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

use serde_json::value::RawValue;

use super::ReasoningPart;
use super::chat_message::ChatMessage;
use super::parts::PartsMessage;
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

/// Content of a message.
pub trait MessageContent: Debug + Send + Sync {
    /// Returns the text: a string content, or the joined text parts.
    fn text(&self) -> Option<String>;

    /// Returns the approximate size of the message as JSON in bytes.
    fn size(&self) -> usize;

    /// Returns the model's refusal, if it is not blank.
    fn refusal(&self) -> Option<String>;

    /// Returns the model's reasoning if it is separate from the text: in its own member, or in parts of the content.
    fn reasoning(&self) -> Option<String>;

    /// Whether the message contains only text and reasoning: no call, refusal, audio, image or part of another kind.
    fn is_only_text(&self) -> bool;

    /// Returns the calls of functions. Ids are generated if they are missing or duplicates.
    fn calls(&self) -> &[Call];

    /// Returns the namespaces of the calls that name one, by id. Only Responses has such.
    fn namespaces(&self) -> HashMap<String, String> {
        HashMap::new()
    }

    /// Whether the message has unjudged calls, such as those of custom tools.
    fn has_unjudged_calls(&self) -> bool;

    /// Returns the unjudged calls with an id, with their name and input if present.
    fn unjudged_calls(&self) -> Vec<Call>;

    /// Whether the message calls with the legacy `function_call` of chat completions.
    fn is_legacy(&self) -> bool {
        false
    }

    /// Whether every call conforms to the API reference. Otherwise, [`super::Choice::set_calls`] rewrites the calls, even
    /// if it is given the same calls.
    fn is_well_formed(&self) -> bool;

    /// Returns the members of a chat message that are neither role, text nor calls (reasoning, refusal, annotations) and
    /// not `null`.
    fn other_members(&self) -> RawObject {
        RawObject::default()
    }

    /// Returns the members of a chat message that only the provider can interpret, such as signatures of reasoning. A
    /// message must contain those of its own attempt.
    fn opaque_members(&self) -> RawObject {
        RawObject::default()
    }

    /// Returns a chat message as an element of a request; `None` in other protocols.
    fn chat_element(&self) -> Option<Box<RawValue>> {
        None
    }

    /// Returns the parts in order, well-formed and with generated ids; empty in chat completions.
    fn parts(&self) -> Vec<Cow<'_, RawValue>> {
        Vec::new()
    }

    /// Returns the reasoning behind all other parts; none in chat completions.
    fn trailing_reasoning(&self) -> Vec<ReasoningPart> {
        Vec::new()
    }

    /// Returns the elements of the calls with their ids, judged and unjudged, well-formed.
    fn call_elements(&self) -> Vec<(String, Box<RawValue>)>;

    /// Replaces the calls of the message. Returns whether that changed it.
    fn set_calls(&mut self, calls: &[Call]) -> bool;

    /// Reads the calls of custom tools that `is_function` accepts as calls of functions: their input is the arguments.
    /// [`super::Choice::set_calls`] writes them in that form. Returns their ids.
    fn adopt_custom_calls(&mut self, is_function: &dyn Fn(&Call) -> bool) -> Vec<String>;

    /// Writes a call as a call of a custom tool. Returns whether that changed the message.
    fn make_custom(&mut self, id: &str, input: &str) -> bool;

    /// Replaces the text of the message.
    fn set_text(&mut self, text: &str);

    /// Sets the form of later calls, for a chat message without calls.
    fn call_in_form(&mut self, _legacy: bool) {}
}

impl AssistantMessage {
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
}

impl From<ChatMessage> for AssistantMessage {
    fn from(message: ChatMessage) -> Self {
        Self(MessageForm::Chat(message))
    }
}

impl From<PartsMessage> for AssistantMessage {
    fn from(message: PartsMessage) -> Self {
        Self(MessageForm::Parts(message))
    }
}

impl Deref for AssistantMessage {
    type Target = dyn MessageContent;

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            MessageForm::Chat(message) => message,
            MessageForm::Parts(message) => message,
        }
    }
}

impl DerefMut for AssistantMessage {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match &mut self.0 {
            MessageForm::Chat(message) => message,
            MessageForm::Parts(message) => message,
        }
    }
}
