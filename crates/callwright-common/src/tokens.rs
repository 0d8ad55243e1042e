//! Estimation of token counts without a model's vocabulary.

/// Approximate number of bytes per token of English text and JSON in common byte-pair vocabularies.
pub const BYTES_PER_TOKEN: usize = 4;

/// Returns the estimated number of tokens of a text.
pub fn estimated(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}
