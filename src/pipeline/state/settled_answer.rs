//! The answer for the client, before it is written.

use std::collections::BTreeMap;

use callwright_openai::{AssistantMessage, Completion};

/// The client's answer: decided, but not yet written.
#[derive(Debug)]
pub(crate) struct SettledAnswer {
    /// The answer.
    pub(crate) completion: Completion,
    /// Whether it differs from the upstream's answer.
    pub(crate) changed: bool,
    /// Remaining text by choice index, for choices whose text was converted to calls.
    pub(crate) rescued: BTreeMap<u32, String>,
}

impl SettledAnswer {
    /// Returns the message of the first choice for the client.
    pub(crate) fn message(&self) -> Option<&AssistantMessage> {
        self.completion.choices().first().map(|choice| &choice.message)
    }
}
