//! The model's message of an answer, in the form of its protocol.

use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

use super::chat_message::ChatMessage;
use super::parts::{MessageContent, PartsMessage};
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
