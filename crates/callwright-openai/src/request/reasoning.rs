//! Reasoning in the client's conversation, in protocols whose answers are lists of parts.

use std::collections::BTreeSet;

use super::ModelRequest;
use crate::ReasoningPart;

/// Parts of the types of reasoning, and of references to it.
const REASONING: [&[u8]; 3] = [b"thinking", b"reasoning", b"item_reference"];

impl ModelRequest {
    /// Returns the reasoning in the client's conversation, in order; none in chat completions, whose providers do not
    /// verify it.
    pub fn reasoning(&self) -> Vec<ReasoningPart> {
        let Some(form) = self.form else { return Vec::new() };
        let conversation = self.fields.get(form.conversation_key()).unwrap_or_default().as_bytes();
        if !REASONING.iter().any(|kind| memchr::memmem::find(conversation, kind).is_some()) {
            return Vec::new();
        }
        form.reasoning(self.fields.object())
    }

    /// Removes reasoning from the client's conversation, by position in [`Self::reasoning`].
    pub fn remove_reasoning(&mut self, positions: &BTreeSet<usize>) {
        if let Some(form) = self.form.filter(|_| !positions.is_empty()) {
            let conversation = form.without_reasoning(self.fields.object(), positions);
            self.set(form.conversation_key(), conversation);
        }
    }
}
