//! English number words: `two`, `twenty-five`. In other languages, a number needs supporting words from the model.

/// Numbers below twenty, which have words of their own.
const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// Largest number with a number word.
const MAX_NUMBER: u64 = 99;

/// Returns a number in words, separated by spaces.
pub(super) fn in_words(number: u64) -> Option<String> {
    let at = usize::try_from(number).ok()?;
    if let Some(small) = SMALL.get(at) {
        return Some((*small).to_owned());
    }
    let tens = TENS.get((at / 10).checked_sub(2)?)?;
    match at % 10 {
        0 => Some((*tens).to_owned()),
        ones => Some(format!("{tens} {}", SMALL.get(ones)?)),
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
