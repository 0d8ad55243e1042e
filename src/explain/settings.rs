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
    /// Least evidence for a passage to be claimed where no code, parameter name or status ties it to the outcome: the summed rarity of
    /// the words that it shares with the outcome, in units of "a word that only one passage of the toolset has".
    pub min_evidence: f32,
    /// Least share, 0 to 1, of the outcome's words (rare ones count more) that such a passage must have.
    pub min_coverage: f32,
    /// Characters of one operation's documentation that are indexed, at most; the rest is left out.
    pub max_document_chars: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            passages: 3,
            passage_chars: 400,
            entry_chars: 1_000,
            min_evidence: 1.0,
            min_coverage: 0.5,
            max_document_chars: 1_000_000,
        }
    }
}
