//! Text helpers: shortening texts and comparing names.
//!
//! Owns operations on short texts that several parts of this crate use. Must not depend on the other parts.

/// Returns the first characters of a text.
pub(crate) fn beginning(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default()
}

/// Returns the whole words of a text within the first `chars` characters, or the beginning of a single longer word.
pub(crate) fn shortened(text: &str, chars: usize) -> &str {
    let cut = beginning(text, chars);
    match text.get(cut.len()..).and_then(|rest| rest.chars().next()) {
        None => text,
        Some(next) if next.is_whitespace() => cut.trim_end(),
        Some(_) => match cut.rfind(char::is_whitespace) {
            Some(space) => cut.get(..space).unwrap_or_default().trim_end(),
            None => cut,
        },
    }
}

/// Returns the letters and digits of a name in lower case, which are equal for all spellings of the name.
pub(crate) fn letters(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a text consists of decimal digits.
pub(crate) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_words() {
        assert_eq!(shortened("ab cd ef", 8), "ab cd ef");
        assert_eq!(shortened("ab cd ef", 7), "ab cd");
        assert_eq!(shortened("ab cd ef", 5), "ab cd");
        assert_eq!(shortened("äöüß", 2), "äö");
        assert_eq!(shortened("", 0), "");
    }
}
