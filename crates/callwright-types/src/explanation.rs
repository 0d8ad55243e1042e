//! Explanations: the passages of documentation that explain a failed outcome.

use serde::{Deserialize, Serialize};

/// A piece of an API's documentation before it is split: a description, a parameter or a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Hash)]
pub struct DocText {
    /// The text as it is in the document (Markdown allowed).
    pub text: String,
    /// Location of the text: document and JSON Pointer, or file and heading.
    pub source: String,
}

/// A few adjacent sentences of an API's documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The sentences as they are in the documentation, with whitespace folded. A table row is on a line below its
    /// header.
    pub text: String,
    /// Location of the sentences: document and JSON Pointer, or file and heading.
    pub source: String,
    /// Confidence that the passage is about the failure, from 0 to 1. Among passages of equal confidence, those of the
    /// operation come first.
    pub score: f32,
}

/// The documentation's explanation of a failed outcome, best passage first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Passages, best first; empty if nothing relevant was found.
    pub passages: Vec<Passage>,
}

impl Explanation {
    /// Whether the documentation has a relevant passage.
    pub fn is_hit(&self) -> bool {
        !self.passages.is_empty()
    }
}
