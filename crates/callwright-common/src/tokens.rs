//! How long a text is in tokens, without any model's vocabulary.

/// Bytes of English text and JSON that a token of the common byte-pair vocabularies stands for, roughly.
pub const BYTES_PER_TOKEN: usize = 4;

/// Tokens that a text has, about.
pub fn estimated(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}
