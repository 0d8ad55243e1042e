//! Removes personal and case-specific data from notes that a model wrote.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Patterns to replace, with their placeholders. The order matters, because an email address may contain digits.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    const EMAIL: &str = r"(?i)[\w.+%'-]+@[\w-]+(\.[\w-]+)+";
    // Prefixes of provider keys, and JSON Web Tokens. `NAMED` matches the value after the name of a secret.
    const KEY: &str = r"\b(sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf|AKIA|ASIA|AIza|eyJ)[-_A-Za-z0-9.]{8,}";
    const NAMED: &str = r"(?i)\b(bearer|password|passwd|secret|token|api[ _-]?key)( is|:|=)?\s+[^\s,;]*[0-9][^\s,;]*";
    const UUID: &str = r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b";
    const IBAN: &str = r"\b[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,3})?\b";
    // Letters and digits in one long word: encoded data.
    const ENCODED: &str = r"\b[A-Za-z0-9+/_=-]{20,}";
    // Telephone, card and account numbers: six or more digits with the usual separators. Dates and codes have shorter
    // runs of digits.
    const NUMBER: &str = r"\+?\(?[0-9][0-9 ()./-]{4,}[0-9]\b";
    let patterns = [
        (EMAIL, "<email>"),
        (NAMED, "<secret>"),
        (KEY, "<secret>"),
        (UUID, "<id>"),
        (IBAN, "<number>"),
        (ENCODED, "<secret>"),
        (NUMBER, "<number>"),
    ];
    patterns.into_iter().filter_map(|(pattern, name)| Some((Regex::new(pattern).ok()?, name))).collect()
});

/// Replaces email addresses, numbers, identifiers and secrets in a text with placeholders.
pub fn redacted(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, name) in PATTERNS.iter() {
        text = pattern
            .replace_all(&text, |matched: &Captures<'_>| match matched.get(0) {
                Some(matched) if is_harmless(matched.as_str(), name) => matched.as_str().to_owned(),
                _ => (*name).to_owned(),
            })
            .into_owned();
    }
    text
}

/// Whether a match is a long name of words, a number of few digits, or a date.
fn is_harmless(matched: &str, name: &str) -> bool {
    let digits = matched.bytes().filter(u8::is_ascii_digit).count();
    match name {
        "<secret>" if !matched.contains(' ') && digits == 0 => {
            matched.contains(['_', '-', '/']) && !matched.bytes().any(|byte| byte == b'+' || byte == b'=')
        }
        "<number>" if matched.starts_with(|first: char| first.is_ascii_digit() || first == '+' || first == '(') => {
            digits < 6 || is_date(matched)
        }
        _ => false,
    }
}

/// Whether the match is a date such as `2026-11-22`, which notes contain as an example of a format.
fn is_date(matched: &str) -> bool {
    let parts: Vec<usize> = matched.split('-').map(str::len).collect();
    parts == [4, 2, 2] && matched.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn personal_data_is_redacted() {
        for (text, expected) in [
            ("write to Jane.Doe+x@mail.example.org first", "write to <email> first"),
            ("call +49 (30) 1234-5678 or 030/123456", "call <number> or <number>"),
            ("card 4111 1111 1111 1111.", "card <number>."),
            ("IBAN DE89 3704 0044 0532 0130 00 is", "IBAN <number> is"),
            ("order 20261122345", "order <number>"),
            ("id 123e4567-e89b-12d3-a456-426614174000", "id <id>"),
            ("key sk-abcdEFGH1234ijkl", "key <secret>"),
            ("the password is hunter2", "the <secret>"),
            ("token: abc123, then", "<secret>, then"),
            ("aGVsbG8gd29ybGQgaGVsbG8x is", "<secret> is"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "<secret>"),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn general_text_is_not_redacted() {
        for text in [
            "`date` has the form 2026-11-22, `time` 08:30",
            "The 3rd letter of \"hook\" is o; status 404, code 20000.",
            "call get_weather_forecast_for_a_city with unit=metric",
            "version 1.2.3, at most 99999 items, 5-10 of them",
            "the password is not needed",
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
