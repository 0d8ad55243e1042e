//! Searches the user's messages for values, and detects values too common to be traced.

use serde_json::Value;

use callwright_common::json::scalar_text;
use callwright_common::text::spaced_words;

/// Minimum number of characters of a text whose match is unlikely to be a coincidence.
const MIN_SIGNIFICANT_CHARS: usize = 3;

/// Minimum number of digits of a number whose match is unlikely to be a coincidence.
const MIN_SIGNIFICANT_DIGITS: usize = 3;

/// Generic words that are common as values.
const COMMON_WORDS: [&str; 10] = ["all", "any", "false", "none", "null", "other", "true", "unknown", "yes", "default"];

/// Indexed messages of the user.
#[derive(Debug)]
pub(super) struct UserMessages {
    words: String,
}

impl UserMessages {
    pub(super) fn new(texts: &[&str]) -> Self {
        let mut words = " ".to_owned();
        for text in texts {
            words.push_str(spaced_words(text).trim_start());
        }
        Self { words }
    }

    /// Whether the messages contain this value as whole words.
    pub(super) fn contains(&self, value: &Value) -> bool {
        let folded = spaced_words(&scalar_text(value).unwrap_or_default());
        !folded.trim().is_empty() && self.words.contains(&folded)
    }
}

/// Whether a value is so common that a match has no significance, like `true`, `""`, `7` or `"A"`.
pub(super) fn is_trivial(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => {
            let digits = number.to_string();
            digits.bytes().filter(u8::is_ascii_digit).count() < MIN_SIGNIFICANT_DIGITS || has_many_zeros(&digits)
        }
        Value::String(text) => {
            let text = text.trim();
            text.chars().count() < MIN_SIGNIFICANT_CHARS
                || COMMON_WORDS.iter().any(|common| text.eq_ignore_ascii_case(common))
        }
        Value::Array(items) => items.iter().all(is_trivial),
        Value::Object(members) => members.values().all(is_trivial),
    }
}

/// Whether a number is round. Round numbers are common in requests and as limits.
fn has_many_zeros(digits: &str) -> bool {
    digits.trim_end_matches(['0', '.']).bytes().filter(u8::is_ascii_digit).count() < MIN_SIGNIFICANT_DIGITS - 1
}
