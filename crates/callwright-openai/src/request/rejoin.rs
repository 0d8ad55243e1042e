//! Putting back into a conversation what its client does not know.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::ChatRequest;
use crate::KeptPart;
use crate::fields::Fields;
use callwright_common::json::raw;

impl ChatRequest {
    /// Puts parts back into the messages that belong to them, by their places among [`ChatRequest::messages`]. What a part lacks
    /// of its results becomes `lost`. Notes move with their messages.
    pub fn rejoin(&mut self, parts: &BTreeMap<usize, KeptPart>, lost: &str) {
        let mut notes = std::mem::take(&mut self.additions.notes);
        let mut moved = BTreeMap::new();
        let mut messages = Vec::new();
        let (mut place, mut new_place) = (0, 0);
        for message in self.client_messages() {
            if Fields::parse(message.get()).is_none() {
                messages.push(message.to_owned());
                continue;
            }
            let before = messages.len();
            match parts.get(&place) {
                Some(part) => part.put_back(message, lost, &mut messages),
                None => {
                    moved.extend(notes.remove(&place).map(|note| (new_place, note)));
                    messages.push(message.to_owned());
                }
            }
            place += 1;
            new_place += messages.len() - before;
        }
        self.additions.notes = moved;
        self.set("messages", raw(&messages));
    }

    /// The messages that were pushed, in order.
    pub fn pushed(&self) -> &[Arc<RawValue>] {
        &self.additions.messages
    }
}
