//! Collects possible keys from a conversation.

use std::collections::HashSet;

use serde_json::Value;

use crate::producers::words::{is_opaque, name_words};
use crate::tools::Schemas;
use callwright_common::json::scalar_text;
use callwright_common::text::{is_digits, letters};

/// Maximum number of words that are read. A longer conversation is assumed to contain a key.
const MAX_WORDS: usize = 20_000;

/// Words that precede an identifying number.
const NUMBER_SIGNS: [&str; 4] = ["no", "nr", "number", "#"];

/// Possible keys in a conversation.
#[derive(Debug, Clone, Default)]
pub struct ConversationKeys {
    /// Words that are written like keys (`8f2c`, `u_17`, `48151`) and quoted texts.
    keys: HashSet<String>,
    /// Short numbers with the preceding word: `room 12`.
    numbers: Vec<(String, String)>,
    /// Whether the conversation exceeded the maximum.
    is_long: bool,
}

impl ConversationKeys {
    /// Collects the possible keys of the texts.
    pub fn collect<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut collected = Self::default();
        let mut left = MAX_WORDS;
        for text in texts {
            collected.add_text(text, &mut left);
        }
        collected.is_long = left == 0;
        collected
    }

    fn add_text(&mut self, text: &str, left: &mut usize) {
        self.keys.extend(quoted(text).map(str::to_owned));
        let mut before = String::new();
        for word in text.split(|sign: char| sign.is_whitespace() || ",;()[]{}<>\"'`“”‘’".contains(sign)) {
            let numbered = word.trim_start_matches('#').len() < word.len();
            let word = word.trim_matches(|sign: char| !sign.is_alphanumeric() && !"%$€£¥".contains(sign));
            if word.is_empty() {
                continue;
            }
            *left = left.saturating_sub(1);
            match kind(word) {
                WordKind::Plain => {}
                WordKind::Key => drop(self.keys.insert(word.to_owned())),
                WordKind::Number => {
                    let before = if numbered { "#".to_owned() } else { std::mem::take(&mut before) };
                    self.numbers.push((before, word.to_owned()));
                }
            }
            before = name_words(word).pop().unwrap_or_default();
            if *left == 0 {
                return;
            }
        }
    }

    /// Whether the conversation contains a possible key of these things that fits the schema.
    pub(crate) fn may_contain(&self, form: KeyForm, things: &[String]) -> bool {
        self.is_long
            || self.keys.iter().any(|key| form.fits(key))
            || self.numbers_of(things).any(|number| form.fits(number))
    }

    /// Whether the conversation contains this value as a possible key of these things that fits the schema: whole, or as
    /// a part of a longer key that has the form of a key itself. Case and punctuation do not matter.
    pub(super) fn may_be(&self, value: &Value, form: KeyForm, things: &[String]) -> bool {
        let Some(text) = scalar_text(value) else { return false };
        if self.is_long {
            return true;
        }
        let is_part = kind(&text) != WordKind::Plain;
        let is_value = |key: &str| form.fits(key) && (is_same(key, &text) || is_part && key.contains(&text));
        self.keys.iter().any(|key| is_value(key)) || self.numbers_of(things).any(is_value)
    }

    /// Returns the short numbers that may identify one of these things.
    fn numbers_of<'a>(&'a self, things: &'a [String]) -> impl Iterator<Item = &'a str> {
        let of_things = self.numbers.iter().filter(|(before, _)| {
            things.contains(before) || is_opaque(before) || NUMBER_SIGNS.contains(&before.as_str())
        });
        of_things.map(|(_, number)| number.as_str())
    }
}

/// Whether two keys have the same letters and digits, ignoring case. Empty ones are not the same.
fn is_same(one: &str, other: &str) -> bool {
    let one = letters(one);
    !one.is_empty() && one == letters(other)
}

/// Whether a text is written like a word of a person and not like a key.
pub(super) fn is_plain(text: &str) -> bool {
    text.contains(char::is_whitespace) || kind(text) == WordKind::Plain
}

/// Class of a word by its spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// Word, date, time, amount or measure.
    Plain,
    /// Short number that may identify anything.
    Number,
    Key,
}

fn kind(word: &str) -> WordKind {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    if digits == 0 {
        let is_composed = word.contains(['_', '@', ':', '/']);
        return if is_composed { WordKind::Key } else { WordKind::Plain };
    }
    if word.contains(['%', '$', '€', '£', '¥']) || is_date_or_time(word) {
        return WordKind::Plain;
    }
    let parts: Vec<&str> = word.split(['.', '-']).collect();
    if parts.iter().all(|part| is_digits(part)) {
        let is_fraction = parts.len() == 2 && word.contains('.');
        let is_short = digits <= 2 || digits == 4 && is_year(word);
        return if is_fraction {
            WordKind::Plain
        } else if is_short {
            WordKind::Number
        } else {
            WordKind::Key
        };
    }
    if is_measure(word) { WordKind::Plain } else { WordKind::Key }
}

/// Whether a word is a date or time: `2024-08-15`, `8/15/24`, `10:30`, `2024-08-15T10:30:00Z`.
fn is_date_or_time(word: &str) -> bool {
    match word.split_once(['T', 't']) {
        Some((day, hour)) => is_date(day) && is_time(hour),
        None => is_date(word) || is_time(word),
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', '/', '.']).collect();
    (parts.len() == 3 || parts.len() == 2 && text.contains('/'))
        && parts.iter().all(|part| matches!(part.len(), 1 | 2 | 4) && is_digits(part))
}

fn is_time(text: &str) -> bool {
    let text = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    text.contains(':') && text.chars().all(|sign| sign.is_ascii_digit() || ":.+-".contains(sign))
}

fn is_year(word: &str) -> bool {
    word.parse().is_ok_and(|year: u32| (1900..=2100).contains(&year))
}

/// Whether a word is a number with a short unit or suffix: `5pm`, `3rd`, `10km`, `2x`.
fn is_measure(word: &str) -> bool {
    const MAX_LETTERS: usize = 3;
    let rest = word.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    rest.len() < word.len() && rest.chars().count() <= MAX_LETTERS && rest.chars().all(char::is_lowercase)
}

/// Returns the texts in quotation marks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    const MAX_BYTES: usize = 100;
    let alike = ['"', '`'].into_iter().flat_map(|mark| text.split(mark).skip(1).step_by(2));
    let curved = text.split('“').skip(1).filter_map(|rest| rest.split_once('”'));
    // Elsewhere than before a word, it is an apostrophe.
    let single = text.split(" '").skip(1).filter_map(|rest| rest.split_once('\''));
    let inside = alike.chain(curved.chain(single).map(|(inside, _)| inside)).map(str::trim);
    inside.filter(|inside| (1..MAX_BYTES).contains(&inside.len()))
}

/// Form of a key, as far as its schema states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyForm {
    Integer,
    Number,
    Uuid,
    Text,
}

impl KeyForm {
    pub(crate) fn new(schemas: &Schemas<'_>) -> Self {
        let types: Vec<&str> = schemas.types().filter(|name| *name != "null").collect();
        match types.as_slice() {
            ["integer"] => Self::Integer,
            ["number"] => Self::Number,
            _ if schemas.text("format") == Some("uuid") => Self::Uuid,
            _ => Self::Text,
        }
    }

    /// Whether a word can be a key of this form.
    fn fits(self, word: &str) -> bool {
        match self {
            Self::Integer => word.parse::<i64>().is_ok(),
            Self::Number => word.parse::<f64>().is_ok(),
            // 32 digits and 4 hyphens.
            Self::Uuid => word.len() == 36 && word.matches('-').count() == 4,
            // Quoted texts may be anything; a key has no spaces.
            Self::Text => !word.contains(char::is_whitespace),
        }
    }
}
