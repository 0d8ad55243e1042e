//! Searches the user's messages for values, and detects values too common to be traced.

use serde_json::Value;

use callwright_common::json::scalar_text;

/// Minimum number of characters of a text whose match is unlikely to be a coincidence.
const TELLING_CHARS: usize = 3;

/// Minimum number of digits of a number whose match is unlikely to be a coincidence.
const TELLING_DIGITS: usize = 3;

/// Generic words that are common as values.
const COMMON: [&str; 10] = ["all", "any", "false", "none", "null", "other", "true", "unknown", "yes", "default"];

/// Indexed messages of the user.
#[derive(Debug)]
pub(super) struct UserMessages {
    words: String,
}

impl UserMessages {
    pub(super) fn of(texts: &[&str]) -> Self {
        let mut words = " ".to_owned();
        for text in texts {
            words.push_str(folded(text).trim_start());
        }
        Self { words }
    }

    /// Whether the messages contain this value as whole words.
    pub(super) fn has(&self, value: &Value) -> bool {
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
            digits.bytes().filter(u8::is_ascii_digit).count() < TELLING_DIGITS || has_many_zeros(&digits)
        }
        Value::String(text) => {
            let text = text.trim();
            text.chars().count() < TELLING_CHARS || COMMON.iter().any(|common| text.eq_ignore_ascii_case(common))
        }
        Value::Array(items) => items.iter().all(is_trivial),
        Value::Object(members) => members.values().all(is_trivial),
    }
}

/// Whether a number is round. Round numbers are common in requests and as limits.
fn has_many_zeros(digits: &str) -> bool {
    digits.trim_end_matches(['0', '.']).bytes().filter(u8::is_ascii_digit).count() < TELLING_DIGITS - 1
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
    fn whole_words_were_said_whatever_their_case_and_signs() {
        let said = UserMessages::of(&["Book a room for Jack, order 4711-0815.", "Economy!"]);
        for value in [json!("jack"), json!("4711 0815"), json!(4711), json!("economy")] {
            assert!(said.has(&value), "{value}");
        }
        for value in [json!("ack"), json!(""), json!("-"), json!(null), json!(47), json!(["Jack"])] {
            assert!(!said.has(&value), "{value}");
        }
    }

    #[test]
    fn values_that_anything_may_have_are_trivial() {
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
        for telling in [json!(4711), json!("P-7"), json!("Jack"), json!([1, "P-7"]), json!(59.91)] {
            assert!(!is_trivial(&telling), "{telling}");
        }
    }
}
