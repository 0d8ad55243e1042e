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
    /// Characters of an entry of an error catalogue, at most: what stands below a code's heading, or in its row or object, is one passage up
    /// to it; a longer entry is cut into passages that each begin with its head.
    pub entry_chars: usize,
    /// How sure it must be, 0 to 1, that a passage is about the failure: below it nothing is claimed. A passage that defines the body's code
    /// has nearly 1; one that only shares words with the message has the share of the outcome's words that it has, less where none of them
    /// is rare in the documentation.
    pub min_confidence: f32,
    /// Characters of one operation's documentation that are indexed, at most; the rest is left out.
    pub max_document_chars: usize,
    /// Texts of one toolset that the model of meaning is given when documentation is loaded, at most: sentences that are too many for one
    /// passage, and again passages. The rest goes by words alone.
    pub max_embedded_texts: usize,
    /// Bytes of the largest file of further documentation (`toolsets.NAME.docs`) that is read.
    pub max_file_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            passages: 3,
            passage_chars: 400,
            entry_chars: 1_000,
            min_confidence: 0.33,
            max_document_chars: 1_000_000,
            max_embedded_texts: 20_000,
            max_file_bytes: 32 * 1024 * 1024,
        }
    }
}
