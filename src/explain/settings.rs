//! How much an explanation may say, and how sure it must be.

use serde::{Deserialize, Serialize};

/// Settings of the explainer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Passages of an explanation, at most.
    pub passages: usize,
    /// Characters of a passage, at most: neighbouring sentences are joined up to it, and a longer sentence is cut.
    pub passage_chars: usize,
    /// How sure it must be, 0 to 1, that a passage is about the failure: below it nothing is claimed. A passage that defines the body's code
    /// has nearly 1; one that only shares words with the message has the share of the outcome's words that it has, less where none of them
    /// is rare in the documentation.
    pub min_confidence: f32,
    /// Characters of one operation's documentation that are indexed, at most; the rest is left out.
    pub max_document_chars: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { passages: 3, passage_chars: 400, min_confidence: 0.33, max_document_chars: 1_000_000 }
    }
}
