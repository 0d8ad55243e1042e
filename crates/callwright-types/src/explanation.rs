//! The passages of documentation that say why an outcome failed.

use serde::{Deserialize, Serialize};

/// A piece of an API's documentation before it is split: a description, a parameter, a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Hash)]
pub struct DocText {
    /// The text, as the document has it (Markdown allowed).
    pub text: String,
    /// Where it stands: document and JSON Pointer, or file and heading.
    pub source: String,
}

/// A few neighbouring sentences of an API's documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The sentences, as the documentation has them (whitespace folded); a table's row stands on a line below its header.
    pub text: String,
    /// Where they stand: document and JSON Pointer, or file and heading.
    pub source: String,
    /// How sure it is that the passage is about the failure, 0 to 1. Order is not by it alone: of passages that are equally sure, those of the
    /// operation come first.
    pub score: f32,
}

/// What the documentation says about a failed outcome, best passage first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Best first; empty when nothing relevant was found (nothing is claimed then).
    pub passages: Vec<Passage>,
}

impl Explanation {
    /// Did the documentation have anything to say?
    pub fn is_hit(&self) -> bool {
        !self.passages.is_empty()
    }
}
