//! Checks that a value is grounded in the conversation.
//!
//! A value needs supporting words in the conversation or the memory, or has to occur there itself. Models tend to
//! invent ids, so a run of three or more digits has to occur there too. Years are exempt (people write "next May"), and
//! trailing zeros do not count (people write "2 million").

use serde_json::Value;

use callwright_common::json::scalar_text;
use callwright_common::limits::MIN_SIGNIFICANT_LENGTH;
use callwright_common::text::spaced_words;

/// Indexed text of the conversation and the memory.
#[derive(Debug, Clone)]
pub(super) struct GroundingTexts {
    /// Words in lower case, separated and surrounded by one space.
    words: String,
    /// All digits without separators, because phone numbers and amounts are written in many ways.
    digits: String,
}

impl GroundingTexts {
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut grounding = Self { words: " ".to_owned(), digits: String::new() };
        for text in texts {
            grounding.words.push_str(spaced_words(text).trim_start());
            grounding.digits.extend(text.chars().filter(char::is_ascii_digit));
            // Prevents a number that spans two texts.
            grounding.digits.push(' ');
        }
        grounding
    }

    /// Returns the words that support a value: the given ones, or the value itself.
    ///
    /// # Errors
    /// Feedback for the model: the reason why the value is not grounded.
    pub(super) fn words_for(&self, value: &Value, words: &str) -> Result<String, String> {
        let own = scalar_text(value).unwrap_or_default();
        let in_words = value.as_u64().and_then(in_words).unwrap_or_default();
        let words = if self.contains_words(words) {
            another_number(value, words)?;
            words.trim().to_owned()
        } else if self.contains_words(&own) {
            own
        } else if self.contains_words(&in_words) {
            in_words
        } else if words.trim().is_empty() {
            return Err("it has no supporting words of the conversation or memory".to_owned());
        } else {
            return Err("its supporting words are not in the conversation or memory".to_owned());
        };
        self.check_digits(value)?;
        Ok(words)
    }

    /// Checks that every significant run of digits in the value occurs in the texts.
    ///
    /// # Errors
    /// The first run that does not, as feedback for the model.
    pub(super) fn check_digits(&self, value: &Value) -> Result<(), String> {
        match invented_digits(value, &self.digits) {
            Some(digits) => {
                Err(format!("the conversation and memory have no `{digits}`, and ids and numbers must not be invented"))
            }
            None => Ok(()),
        }
    }

    /// Whether the words occur in the texts, ignoring case and punctuation. The last word may be a prefix: "euro"
    /// matches "euros".
    pub(super) fn contains_words(&self, words: &str) -> bool {
        let folded = spaced_words(words);
        let open_end = folded.trim_end();
        let last = open_end.rsplit(' ').next().unwrap_or_default();
        !last.is_empty()
            && (self.words.contains(&folded)
                || last.chars().count() >= MIN_SIGNIFICANT_LENGTH && self.words.contains(open_end)
                || has_no_spaces(words) && self.words.contains(open_end.trim_start()))
    }
}

/// Rejects supporting words that are only a number which differs from the numeric value.
fn another_number(value: &Value, words: &str) -> Result<(), String> {
    let own = value.as_number().and_then(|number| significant_digits(number.to_string().trim_start_matches('-')));
    match (own, significant_digits(words)) {
        (Some(own), Some(stated)) if own != stated => {
            Err(format!("the words `{}` are another number than {value}", words.trim()))
        }
        _ => Ok(()),
    }
}

/// Whether the text uses a script without spaces between words, which has no word boundaries.
fn has_no_spaces(words: &str) -> bool {
    words.chars().any(|letter| matches!(u32::from(letter), 0x0E00..=0x0EFF | 0x3040..=0x30FF | 0x3400..=0x9FFF))
}

/// Returns the first run of digits in a value that does not occur in `digits_of_texts`.
fn invented_digits(value: &Value, digits_of_texts: &str) -> Option<String> {
    match value {
        Value::String(text) => digits_of(text, digits_of_texts),
        Value::Number(number) => digits_of(&number.to_string(), digits_of_texts),
        Value::Array(items) => items.iter().find_map(|item| invented_digits(item, digits_of_texts)),
        Value::Object(members) => members.values().find_map(|member| invented_digits(member, digits_of_texts)),
        Value::Null | Value::Bool(_) => None,
    }
}

fn digits_of(text: &str, digits_of_texts: &str) -> Option<String> {
    let runs = text.split(|letter: char| !letter.is_ascii_digit());
    let mut significant = runs.filter(|run| run.trim_matches('0').len() >= MIN_SIGNIFICANT_LENGTH && !is_year(run));
    significant.find(|run| !digits_of_texts.contains(run.trim_matches('0'))).map(str::to_owned)
}

fn is_year(run: &str) -> bool {
    run.len() == 4 && (run.starts_with("19") || run.starts_with("20"))
}

/// Numbers below twenty, which have words of their own.
const SMALL: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen \
    fifteen sixteen seventeen eighteen nineteen";

const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// Largest number with a number word.
const MAX_NUMBER: u64 = 99;

/// Returns a number in words, separated by spaces.
pub(super) fn in_words(number: u64) -> Option<String> {
    let at = usize::try_from(number).ok()?;
    let mut small = SMALL.split(' ');
    if let Some(small) = small.clone().nth(at) {
        return Some(small.to_owned());
    }
    let tens = TENS.get((at / 10).checked_sub(2)?)?;
    match at % 10 {
        0 => Some((*tens).to_owned()),
        ones => Some(format!("{tens} {}", small.nth(ones)?)),
    }
}

/// Returns the significant digits of a text that is only a number, in digits or words. Leading and trailing zeros and
/// the decimal point are ignored, because 5 % is 0.05.
pub(super) fn significant_digits(text: &str) -> Option<String> {
    let text = text.trim().to_lowercase().replace('-', " ");
    if let Some(number) = (0..=MAX_NUMBER).find(|number| in_words(*number).is_some_and(|words| words == text)) {
        return Some(number.to_string().trim_matches('0').to_owned());
    }
    let is_number = text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','));
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    is_number.then(|| digits.trim_matches('0').to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn grounding() -> GroundingTexts {
        GroundingTexts::new([
            "Book a room for Jack O'Neil from 9:30 am, order 4711-0815.",
            "Budget: 2,500,000 (next May). 请预订会议室",
        ])
    }

    #[test]
    fn a_value_needs_words_of_the_texts() {
        let grounding = grounding();
        let words = |value: Value, words: &str| grounding.words_for(&value, words);
        assert_eq!(words(json!("09:30"), "From  9:30 AM").as_deref(), Ok("From  9:30 AM"));
        assert_eq!(words(json!("Jack O’Neil"), "").as_deref(), Ok("Jack O’Neil"));
        assert_eq!(words(json!("jack"), "words that nobody said").as_deref(), Ok("jack"));
        assert_eq!(words(json!("会议室"), "").as_deref(), Ok("会议室"));
        assert!(words(json!("y"), "next Ma").unwrap_err().contains("are not in the conversation"));
        assert_eq!(words(json!("y"), "budg").as_deref(), Ok("budg"));
        assert!(words(json!("Jill"), "").unwrap_err().contains("no supporting words"));
        assert!(words(json!("Jill"), "for Jill").unwrap_err().contains("are not in the conversation"));
        assert!(words(json!("x"), "ack").is_err(), "part of a word is no word");
    }

    #[test]
    fn numbers_match_number_words_but_no_other_numbers() {
        let grounding = GroundingTexts::new(["A table for two, twenty-five minutes from now, 9 chairs, at 4.5 %."]);
        let words = |value: Value, words: &str| grounding.words_for(&value, words);
        assert_eq!(words(json!(2), "").as_deref(), Ok("two"));
        assert_eq!(words(json!(25), "for 25 minutes").as_deref(), Ok("twenty five"));
        assert_eq!(words(json!(2), "two").as_deref(), Ok("two"));
        assert_eq!(words(json!(0.045), "4.5").as_deref(), Ok("4.5"));
        assert_eq!(words(json!(14), "for two").as_deref(), Ok("for two"), "a computed value may rest on words");
        assert!(words(json!(3), "two").unwrap_err().contains("another number"));
        assert!(words(json!(8), "9").unwrap_err().contains("another number"));
        assert!(words(json!(7), "").is_err());
    }

    #[test]
    fn ids_and_numbers_have_to_occur_but_not_years_and_zeros() {
        let grounding = grounding();
        let is_right = |value: Value| grounding.words_for(&value, "a room").is_ok();
        for right in
            [json!("47110815"), json!("order 4711"), json!(2_500_000), json!("2027-05-12"), json!(25), json!(["0815"])]
        {
            assert!(is_right(right.clone()), "{right}");
        }
        for wrong in [json!("P-98341"), json!(12345), json!({"id": ["777"]})] {
            assert!(!is_right(wrong.clone()), "{wrong}");
        }
    }
}

#[cfg(test)]
mod number_words_tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_words() {
        for (number, words) in [(0, "zero"), (13, "thirteen"), (20, "twenty"), (25, "twenty five"), (99, "ninety nine")]
        {
            assert_eq!(in_words(number).as_deref(), Some(words));
        }
        assert_eq!((in_words(100), in_words(u64::MAX)), (None, None));
    }

    #[test]
    fn a_text_that_is_only_a_number_has_significant_digits() {
        for (text, digits) in
            [("Two", "2"), ("twenty-five", "25"), ("0.05", "5"), ("5", "5"), ("2,000", "2"), (" 4.50 ", "45")]
        {
            assert_eq!(significant_digits(text).as_deref(), Some(digits), "{text}");
        }
        for text in ["", "two weeks", "9:30", "5 %", ".", "one of them"] {
            assert_eq!(significant_digits(text), None, "{text}");
        }
    }
}
