//! Notes that a model wrote, without what belongs to one person or one case.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Captures, Regex};
use serde_json::Value;

/// Shortest text of a call's argument that is looked for in a note: shorter ones are words like any other.
const MIN_TEXT_CHARS: usize = 3;

/// Members of arguments and of schemas that are looked at; callers hold arguments that are bounded in bytes.
const MAX_VALUES: usize = 10_000;

/// What is taken out wherever it stands: its form, and what stands there instead. In this order: an address may hold digits.
static FORMS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    const EMAIL: &str = r"(?i)[\w.+%'-]+@[\w-]+(\.[\w-]+)+";
    // What providers' keys begin with, JSON Web Tokens, and what follows the name of a secret.
    const KEY: &str = r"\b(sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|hf|AKIA|ASIA|AIza|eyJ)[-_A-Za-z0-9.]{8,}";
    const NAMED: &str = r"(?i)\b(bearer|password|passwd|secret|token|api[ _-]?key)( is|:|=)?\s+[^\s,;]*[0-9][^\s,;]*";
    const UUID: &str = r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b";
    const IBAN: &str = r"\b[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,3})?\b";
    // Letters and digits in one long word: encoded data.
    const ENCODED: &str = r"\b[A-Za-z0-9+/_=-]{20,}";
    // Telephone, card and account numbers: six digits and more, with what people put between them. Dates and codes have fewer in a row.
    const NUMBER: &str = r"\+?\(?[0-9][0-9 ()./-]{4,}[0-9]\b";
    let forms = [
        (EMAIL, "<email>"),
        (NAMED, "<secret>"),
        (KEY, "<secret>"),
        (UUID, "<id>"),
        (IBAN, "<number>"),
        (ENCODED, "<secret>"),
        (NUMBER, "<number>"),
    ];
    forms.into_iter().filter_map(|(form, name)| Some((Regex::new(form).ok()?, name))).collect()
});

/// Takes out of a text what has the form of an address, a number, an identifier or a secret.
pub fn redacted(text: &str) -> String {
    let mut text = text.to_owned();
    for (form, name) in FORMS.iter() {
        text = form
            .replace_all(&text, |found: &Captures<'_>| match found.get(0) {
                Some(found) if is_harmless(found.as_str(), name) => found.as_str().to_owned(),
                _ => (*name).to_owned(),
            })
            .into_owned();
    }
    text
}

/// A long name of words, and a number that is one of a few digits or a date, are nobody's.
fn is_harmless(found: &str, name: &str) -> bool {
    let digits = found.bytes().filter(u8::is_ascii_digit).count();
    match name {
        "<secret>" if !found.contains(' ') && digits == 0 => {
            found.contains(['_', '-', '/']) && !found.bytes().any(|byte| byte == b'+' || byte == b'=')
        }
        "<number>" if found.starts_with(|first: char| first.is_ascii_digit() || first == '+' || first == '(') => {
            digits < 6 || is_date(found)
        }
        _ => false,
    }
}

/// `2026-11-22`: what stands in a note as the form of a value.
fn is_date(found: &str) -> bool {
    let parts: Vec<usize> = found.split('-').map(str::len).collect();
    parts == [4, 2, 2] && found.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// What of a call must not stand in a note: the values of its arguments, but for those that the tool's schema has.
#[derive(Debug, Clone, Default)]
pub struct Personal {
    values: Option<AhoCorasick>,
}

impl Personal {
    /// The values in a call's arguments and in its answer.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a Value>, schemas: &[&Value]) -> Self {
        let mut own = HashSet::new();
        schemas.iter().for_each(|schema| each(schema, &mut |text| own.extend([text.to_lowercase()])));
        let mut found = BTreeSet::new();
        values.into_iter().for_each(|value| {
            each(value, &mut |text| {
                let is_told = text.chars().count() >= MIN_TEXT_CHARS && !own.contains(&text.to_lowercase());
                // Beyond ASCII the matcher knows no case.
                found.extend(is_told.then(|| [text.to_owned(), text.to_lowercase()]).into_iter().flatten());
            });
        });
        let mut matcher = AhoCorasick::builder();
        matcher.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest);
        Self { values: (!found.is_empty()).then(|| matcher.build(found).ok()).flatten() }
    }

    /// Takes those values out of a text, and what [`redacted`] takes out.
    pub fn redacted(&self, text: &str) -> String {
        let Some(values) = &self.values else { return redacted(text) };
        let mut without = String::with_capacity(text.len());
        values.replace_all_with(text, &mut without, |found, matched, without| {
            let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            let before = text.get(..found.start()).and_then(|before| before.chars().next_back());
            let after = text.get(found.end()..).and_then(|after| after.chars().next());
            // A part of a longer word is another word.
            without.push_str(if is_letter(before) || is_letter(after) { matched } else { "<value>" });
            true
        });
        redacted(&without)
    }
}

/// Tells the name of every member, and every text and number.
fn each(value: &Value, tell: &mut impl FnMut(&str)) {
    let (mut open, mut seen) = (vec![value], 0);
    while let Some(value) = open.pop() {
        seen += 1;
        if seen > MAX_VALUES {
            return;
        }
        match value {
            Value::String(text) => tell(text.trim()),
            Value::Number(number) => tell(&number.to_string()),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                members.keys().for_each(|name| tell(name));
                open.extend(members.values());
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_belongs_to_one_person_is_taken_out() {
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
    fn what_holds_in_general_stays() {
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

    #[test]
    fn values_of_the_call_are_taken_out_unless_the_schema_has_them() {
        let schema = json!({"properties": {"city": {"enum": ["Oslo", "Rome"]}, "name": {"type": "string"}, "n": {"default": 500}}});
        let arguments = json!({"city": "Oslo", "name": "Anna K.", "n": 500, "extra": {"who": ["Bob", 777, "is"]}});
        let personal = Personal::of([&arguments], &[&schema]);
        assert_eq!(
            personal.redacted("For Oslo and anna k., n is 500: Bob, bobbin, 777 and 7770; a name is needed"),
            "For Oslo and <value>, n is 500: <value>, bobbin, <value> and 7770; a name is needed"
        );
    }
}
