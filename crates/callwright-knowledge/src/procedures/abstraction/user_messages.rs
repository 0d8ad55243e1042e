//! Searches the user's messages for values, and detects values too common to be traced.

use serde_json::Value;

use callwright_common::json::scalar_text;

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
            words.push_str(folded(text).trim_start());
        }
        Self { words }
    }

    /// Whether the messages contain this value as whole words.
    pub(super) fn contains(&self, value: &Value) -> bool {
        let folded = folded(&scalar_text(value).unwrap_or_default());
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

/// Returns the words in lower case, separated and surrounded by one space.
fn folded(text: &str) -> String {
    let mut folded = " ".to_owned();
    for letter in text.chars() {
        if letter.is_alphanumeric() {
            folded.extend(letter.to_lowercase());
        } else if !folded.ends_with(' ') {
            folded.push(' ');
        }
    }
    if !folded.ends_with(' ') {
        folded.push(' ');
    }
    folded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_match_whole_words_regardless_of_case_and_punctuation() {
        let messages = UserMessages::new(&["Book a room for Jack, order 4711-0815.", "Economy!"]);
        for value in [json!("jack"), json!("4711 0815"), json!(4711), json!("economy")] {
            assert!(messages.contains(&value), "{value}");
        }
        for value in [json!("ack"), json!(""), json!("-"), json!(null), json!(47), json!(["Jack"])] {
            assert!(!messages.contains(&value), "{value}");
        }
    }

    #[test]
    fn common_values_are_trivial() {
        for trivial in [
            json!(null),
            json!(true),
            json!(0),
            json!(7),
            json!(100),
            json!(5000),
            json!("A1"),
            json!("True"),
            json!([]),
        ] {
            assert!(is_trivial(&trivial), "{trivial}");
        }
        for significant in [json!(4711), json!("P-7"), json!("Jack"), json!([1, "P-7"]), json!(59.91)] {
            assert!(!is_trivial(&significant), "{significant}");
        }
    }
}
