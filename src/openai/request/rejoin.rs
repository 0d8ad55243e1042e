//! Putting back into a conversation what its client does not know.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::ChatRequest;
use crate::domain::json::raw;
use crate::openai::KeptPart;
use crate::openai::fields::Fields;

impl ChatRequest {
    /// Puts parts back into the messages that belong to them, by their places among [`ChatRequest::messages`]. What a part lacks
    /// of its results becomes `lost`.
    pub fn rejoin(&mut self, parts: &BTreeMap<usize, KeptPart>, lost: &str) {
        let mut messages = Vec::new();
        let mut place = 0;
        for message in self.client_messages() {
            let is_counted = Fields::parse(message.get()).is_some();
            match parts.get(&place).filter(|_| is_counted) {
                Some(part) => part.put_back(message, lost, &mut messages),
                None => messages.push(message.to_owned()),
            }
            place += usize::from(is_counted);
        }
        self.set("messages", raw(&messages));
    }

    /// The messages that were pushed, in order.
    pub fn pushed(&self) -> &[Arc<RawValue>] {
        &self.additions.messages
    }
}
