//! Reinsertion of the parts of a conversation that the client did not receive.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::ChatRequest;
use crate::KeptPart;
use crate::fields::ObjectFields;
use callwright_common::json::raw;

impl ChatRequest {
    /// Reinserts kept parts into their messages, by position among [`ChatRequest::messages`]. A missing result of a
    /// part becomes `lost`. Notes move with their messages.
    pub fn rejoin(&mut self, parts: &BTreeMap<usize, KeptPart>, lost: &str) {
        let mut notes = std::mem::take(&mut self.additions.notes);
        let mut moved = BTreeMap::new();
        let mut messages = Vec::new();
        let (mut place, mut new_place) = (0, 0);
        for message in self.client_messages() {
            if ObjectFields::parse(message.get()).is_none() {
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

    /// Returns the pushed messages, in order.
    pub fn pushed(&self) -> &[Arc<RawValue>] {
        &self.additions.messages
    }
}
