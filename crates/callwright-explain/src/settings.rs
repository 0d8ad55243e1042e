//! Limits of explanations and their minimum confidence.

/// Limits of the explainer. None is configuration: docs/benchmarks/explanations.md has what they were measured with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Maximum number of passages per explanation.
    pub passages: usize,
    /// Maximum number of characters per passage. Neighbouring sentences are joined up to it; longer sentences are
    /// split.
    pub passage_chars: usize,
    /// Maximum number of characters per error catalogue entry. The text below a code's heading, or in its row or
    /// object, forms one passage. A longer entry is split into passages that each begin with its head.
    pub entry_chars: usize,
    /// Minimum confidence, 0 to 1, that a passage is about the failure; without such a passage nothing is explained. A
    /// passage that defines the body's code, or repeats its message, has nearly 1. A passage that only shares words or
    /// meaning with the message has less.
    pub min_confidence: f32,
    /// Maximum number of indexed characters per operation; the rest is omitted.
    pub max_document_chars: usize,
    /// Maximum number of passages per toolset that are embedded when documentation is loaded. The rest uses words only.
    pub max_embedded_texts: usize,
    /// Maximum size in bytes of a documentation file (`toolsets.NAME.docs`).
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
