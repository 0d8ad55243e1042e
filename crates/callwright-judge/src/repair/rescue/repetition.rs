//! Checks whether a request contains the calls of an answer, in any notation and writing.
//!
//! A call is compared as it was resolved: a text contains it if the tool's name and all its values of four or more
//! letters are near each other, after escapes were resolved and everything but letters and digits was removed
//! (`folding.rs`). The result is independent of the notation, of the order of the members, and of the writing.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use super::call_names::{ARGUMENTS, NAMES, NEUTRAL, WRAPPERS};
use super::decision::{Doubt, Effect};
use super::folding::{Decoding, Folded, Gap};
use super::layout::MAX_CALLS;
use callwright_common::json::scalar_text;
use callwright_scanner::names::without_namespace;
use callwright_scanner::{Conversation, JudgementBudget};
use callwright_types::{Call, RequestPart, TextAuthor};

/// Maximum number of values of a call that are searched for.
const MAX_VALUES: usize = 16;

/// Minimum number of bytes of a value that identifies a call.
const MIN_VALUE: usize = 4;

/// Minimum number of bytes of a name that is also found within longer words.
const MIN_JOINED_NAME: usize = 8;

/// Maximum number of bytes of a part of a long value that is searched for. Of a value of half as many, one half suffices,
/// because a text in two pieces divides it.
const MAX_PART: usize = 32;

/// Maximum distance of a value from the name, apart from the lengths of all arguments.
const NEAR: usize = 512;

/// Distance that a notation adds for each value.
const NEAR_PER_VALUE: usize = 128;

/// Maximum number of letters between the two pieces of a name or value, and of places near which they are searched for.
const MAX_DIVIDED: usize = 64;

/// Maximum number of occurrences that are compared. If there are more, the text counts as containing the call.
const MAX_OCCURRENCES: usize = 1 << 20;

/// Size of the pieces in which a text is folded; the budget is checked for each.
const PIECE: usize = 64 << 10;

/// Words of notations besides the names of members.
const NOTATION_WORDS: [&str; 12] =
    ["invoke", "param", "arg", "key", "value", "json", "python", "true", "false", "null", "none", "string"];

/// Returns the evidence of a request against the calls of an answer; `written` are the texts of the calls.
pub(super) fn doubt<'a>(
    calls: &[Call],
    written: impl Iterator<Item = &'a str>,
    effect: Effect,
    conversation: &dyn Conversation,
    budget: Option<&JudgementBudget>,
) -> Doubt {
    let written: Vec<Folded> = written.take(MAX_CALLS).map(Folded::of).collect();
    let calls_sought: Vec<SoughtCall> = calls.iter().take(MAX_CALLS).map(SoughtCall::new).collect();
    let mut doubt = if calls.len() > MAX_CALLS { Doubt::Possible } else { Doubt::None };
    for decoding in [Decoding::Escapes, Decoding::Bytes] {
        let texts = RequestTexts::read(conversation, decoding, budget);
        if texts.is_hidden || (texts.is_foreign && effect == Effect::Changes) {
            doubt = Doubt::Possible;
        }
        if written.iter().any(|written| texts.quotes(written, &calls_sought)) {
            return Doubt::Quoted;
        }
        if doubt == Doubt::None && calls_sought.iter().any(|call| texts.contain(call, budget)) {
            doubt = Doubt::Possible;
        }
    }
    doubt
}

/// The texts of a request, folded.
#[derive(Default)]
struct RequestTexts {
    /// Texts of the user.
    of_user: Folded,
    /// Texts of the client, and foreign ones.
    given: Folded,
    /// Texts of the model, definitions of tools, and arguments of earlier calls.
    own: Folded,
    /// Whether there is foreign content since the last message of the user began.
    is_foreign: bool,
    /// Whether there is content that only the provider can read.
    is_hidden: bool,
}

impl RequestTexts {
    fn read(conversation: &dyn Conversation, decoding: Decoding, budget: Option<&JudgementBudget>) -> Self {
        let mut texts = Self::default();
        conversation.visit_request(&mut |part| texts.add(part, decoding, budget));
        texts
    }

    fn add(&mut self, part: RequestPart<'_>, decoding: Decoding, budget: Option<&JudgementBudget>) {
        let (folded, text) = match part {
            RequestPart::UserMessage => {
                self.is_foreign = false;
                return;
            }
            RequestPart::Media => {
                self.is_foreign = true;
                return;
            }
            RequestPart::Hidden => {
                self.is_hidden = true;
                return;
            }
            RequestPart::Text(TextAuthor::User, text) => (&mut self.of_user, text),
            RequestPart::Text(TextAuthor::Model, text) => (&mut self.own, text),
            RequestPart::Text(TextAuthor::Client, text) => (&mut self.given, text),
            RequestPart::Text(TextAuthor::Foreign, text) => {
                self.is_foreign = true;
                (&mut self.given, text)
            }
            RequestPart::Separate(text) => (&mut self.own, text),
        };
        let is_separate = matches!(part, RequestPart::Separate(_));
        if is_separate {
            folded.end();
        }
        for piece in pieces(text) {
            if !budget.is_none_or(JudgementBudget::step) {
                return;
            }
            folded.push(piece, decoding);
        }
        if is_separate {
            folded.end();
        }
    }

    /// Whether a text that the model did not write contains the text of a call as it was written. Signs count at its
    /// ends alone, and only if it has no other letters than the tool's name.
    fn quotes(&self, written: &Folded, calls: &[SoughtCall]) -> bool {
        let letters = written.letters();
        let is_only_name = calls.iter().any(|call| letters.len() <= call.name.len());
        let is_same_edge =
            |texts: &Folded, own, at| written.gap(own) != Gap::Structure || texts.gap(at) == Gap::Structure;
        !letters.is_empty()
            && [&self.given, &self.of_user].iter().any(|texts| {
                memchr::memmem::find_iter(texts.letters(), letters).any(|at| {
                    let end = at + letters.len();
                    !is_only_name
                        || (is_same_edge(texts, 0, at)
                            && is_same_edge(texts, letters.len(), end)
                            && is_beside_structure(texts, &(at..end)))
                })
            })
    }

    /// Whether a text contains the call. The user may name a tool and its values in a request, but the user's text
    /// contains a call only if it is written as one.
    fn contain(&self, call: &SoughtCall, budget: Option<&JudgementBudget>) -> bool {
        call.is_in(&self.given, false, budget)
            || call.is_in(&self.own, false, budget)
            || call.is_in(&self.of_user, true, budget)
    }
}

/// Divides a text where no escape can be.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let near = rest.as_bytes().get(PIECE..).unwrap_or_default();
        let end = near.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b',' | b'>'));
        let (piece, behind) = rest.split_at(end.map_or(rest.len(), |end| PIECE + end + 1));
        rest = behind;
        Some(piece)
    })
}

/// A call that is searched for.
struct SoughtCall {
    /// Letters of the tool's name, without its namespace.
    name: Vec<u8>,
    /// Values that identify the call. Of each, one of the parts must be found.
    values: Vec<Vec<Vec<u8>>>,
    /// Other values.
    short_values: Vec<Vec<u8>>,
    /// Words that a call may have besides its name and its values.
    words: HashSet<String>,
    /// Maximum distance of a value from the name.
    near: usize,
}

impl SoughtCall {
    fn new(call: &Call) -> Self {
        let name = without_namespace(&call.name).unwrap_or(&call.name);
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let (mut found, mut keys) = (Vec::new(), Vec::new());
        leaves(&arguments, &mut found, &mut keys);
        let (mut values, short_values): (Vec<_>, Vec<_>) = found
            .iter()
            .map(|text| letters_of(text))
            .filter(|value| !value.is_empty())
            .partition(|value| value.len() >= MIN_VALUE);
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.truncate(MAX_VALUES);
        let members = [&NAMES[..], &ARGUMENTS, &WRAPPERS, &NEUTRAL, &NOTATION_WORDS].into_iter().flatten().copied();
        let members = members.chain(keys.iter().copied()).chain(found.iter().map(String::as_str));
        Self {
            name: Folded::of(name).letters().to_vec(),
            near: NEAR + NEAR_PER_VALUE * values.len() + 2 * call.arguments.len(),
            values: values.into_iter().map(parts).collect(),
            words: members
                .flat_map(|text| text.split(|letter: char| !letter.is_alphanumeric()))
                .map(str::to_lowercase)
                .collect(),
            short_values,
        }
    }

    /// Whether the texts contain the call. In texts of requests, the name and the values alone are not sufficient.
    fn is_in(&self, texts: &Folded, is_request: bool, budget: Option<&JudgementBudget>) -> bool {
        let Some(names) = occurrences(texts, std::slice::from_ref(&self.name)) else { return true };
        let Some(values) = self.values.iter().map(|parts| occurrences(texts, parts)).collect::<Option<Vec<_>>>() else {
            return true;
        };
        let missing = values.iter().filter(|places| places.is_empty()).count();
        if names.is_empty() {
            return missing == 0 && self.has_divided_name(texts, &values);
        }
        if missing > 1 {
            return false;
        }
        let mut left = MAX_DIVIDED;
        names.into_iter().filter(|name| self.is_whole(texts, name)).any(|name| {
            budget.is_none_or(JudgementBudget::step) && self.is_near(texts, &name, &values, is_request, &mut left)
        })
    }

    /// Whether the values are near this name.
    fn is_near(
        &self,
        texts: &Folded,
        name: &Range<usize>,
        values: &[Vec<Range<usize>>],
        is_request: bool,
        left: &mut usize,
    ) -> bool {
        let near = self.near(texts, name);
        if self.values.is_empty() {
            return is_beside_structure(texts, name) && self.has_short_values(texts, near);
        }
        let mut found = Vec::with_capacity(values.len());
        let mut missing = None;
        for (parts, places) in self.values.iter().zip(values) {
            match nearest(places, name, &near) {
                Some(place) => found.push(place),
                None if missing.is_none() => missing = parts.first(),
                None => return false,
            }
        }
        if let Some(missing) = missing {
            let Some(next) = left.checked_sub(1) else { return false };
            *left = next;
            match divided(texts, missing, &near) {
                Some(place) => found.push(place),
                None => return false,
            }
        }
        !is_request || self.is_written(texts, name, &found)
    }

    /// Whether a name in two pieces is near the values. They must be written as values, because the words of a name may
    /// be words of a sentence.
    fn has_divided_name(&self, texts: &Folded, values: &[Vec<Range<usize>>]) -> bool {
        let Some((first, others)) = values.split_first() else { return false };
        first.iter().take(MAX_DIVIDED).any(|value| {
            let near = self.near(texts, value);
            let others: Option<Vec<_>> = others.iter().map(|places| nearest(places, value, &near)).collect();
            others.is_some_and(|others| others.iter().chain([value]).all(|value| is_between_structure(texts, value)))
                && divided(texts, &self.name, &near).is_some()
        })
    }

    /// Whether a name is a word of its own. A long one is not part of another word by chance.
    fn is_whole(&self, texts: &Folded, name: &Range<usize>) -> bool {
        self.name.len() >= MIN_JOINED_NAME || (begins_word(texts, name.start) && begins_word(texts, name.end))
    }

    fn near(&self, texts: &Folded, name: &Range<usize>) -> Range<usize> {
        let text = texts.neighbours(name.start);
        text.start.max(name.start.saturating_sub(self.near))..text.end.min(name.end + self.near)
    }

    fn has_short_values(&self, texts: &Folded, near: Range<usize>) -> bool {
        let letters = texts.letters().get(near.clone()).unwrap_or_default();
        self.short_values.iter().all(|value| {
            memchr::memmem::find_iter(letters, value).any(|at| {
                let start = near.start + at;
                begins_word(texts, start) && begins_word(texts, start + value.len())
            })
        })
    }

    /// Whether name and values are written as a call: between the signs of a notation, or without other words.
    fn is_written(&self, texts: &Folded, name: &Range<usize>, values: &[Range<usize>]) -> bool {
        let is_structured = is_beside_structure(texts, name)
            && values.iter().all(|value| is_beside_structure(texts, value))
            && values.iter().any(|value| is_between_structure(texts, value));
        is_structured || self.has_no_other_word(texts, name, values)
    }

    fn has_no_other_word(&self, texts: &Folded, name: &Range<usize>, values: &[Range<usize>]) -> bool {
        let places: Vec<&Range<usize>> = values.iter().chain([name]).collect();
        let start = places.iter().map(|place| place.start).min().unwrap_or_default();
        let end = places.iter().map(|place| place.end).max().unwrap_or_default();
        let mut word = Vec::new();
        for at in start..=end {
            let is_explained = places.iter().any(|place| place.contains(&at));
            if texts.gap(at) != Gap::None || at == end || is_explained {
                if !self.is_own_word(&word) {
                    return false;
                }
                word.clear();
            }
            if !is_explained {
                word.extend(texts.letters().get(at).copied());
            }
        }
        true
    }

    fn is_own_word(&self, word: &[u8]) -> bool {
        word.len() <= 1
            || word.iter().all(u8::is_ascii_digit)
            || std::str::from_utf8(word).is_ok_and(|word| self.words.contains(word))
    }
}

/// Returns the letters of a string or a number.
fn letters_of(text: &str) -> Vec<u8> {
    Folded::of(text.strip_suffix(".0").unwrap_or(text)).letters().to_vec()
}

/// Collects the strings and numbers of the arguments, and the names of their members.
fn leaves<'a>(value: &'a Value, found: &mut Vec<String>, keys: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found, keys)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            keys.push(key);
            leaves(value, found, keys);
        }),
        value => found.extend(scalar_text(value)),
    }
}

/// Returns the parts of a value, one of which suffices.
fn parts(value: Vec<u8>) -> Vec<Vec<u8>> {
    let half = value.len() / 2;
    let ranges = match value.len() {
        length if length < MAX_PART / 2 => return vec![value],
        length if length <= 2 * MAX_PART => vec![0..half, half..length],
        length => vec![0..MAX_PART, half..half + MAX_PART, length - MAX_PART..length],
    };
    ranges.into_iter().filter_map(|range| value.get(range)).map(<[u8]>::to_vec).collect()
}

/// Returns the occurrences of any of the needles, in order; `None` if there are too many.
fn occurrences(texts: &Folded, needles: &[Vec<u8>]) -> Option<Vec<Range<usize>>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for needle in needles.iter().filter(|needle| !needle.is_empty()) {
        for at in memchr::memmem::find_iter(texts.letters(), needle) {
            if found.len() == MAX_OCCURRENCES {
                return None;
            }
            found.push(at..at + needle.len());
        }
    }
    found.sort_unstable_by_key(|place| place.start);
    Some(found)
}

/// Returns the place nearest to the name, within `near`.
fn nearest(places: &[Range<usize>], name: &Range<usize>, near: &Range<usize>) -> Option<Range<usize>> {
    let next = places.partition_point(|place| place.start < name.start);
    let candidates = [next.checked_sub(1).and_then(|last| places.get(last)), places.get(next)];
    let candidates =
        candidates.into_iter().flatten().filter(|place| place.start >= near.start && place.end <= near.end);
    candidates.min_by_key(|place| place.start.abs_diff(name.start)).cloned()
}

/// Returns the place of a name or value that other words divide in two pieces.
fn divided(texts: &Folded, needle: &[u8], near: &Range<usize>) -> Option<Range<usize>> {
    let letters = texts.letters().get(near.clone())?;
    (1..needle.len().min(MAX_PART)).find_map(|split| {
        let (before, after) = needle.split_at(split);
        memchr::memmem::find_iter(letters, before).find_map(|at| {
            let (start, end) = (near.start + at, near.start + at + split);
            if texts.gap(start) == Gap::None && start > 0 || texts.gap(end) == Gap::None {
                return None;
            }
            let behind = texts.letters().get(end..near.end.min(end + MAX_DIVIDED))?;
            memchr::memmem::find_iter(behind, after).find_map(|at| {
                let (rest, rest_end) = (end + at, end + at + after.len());
                (texts.gap(rest) != Gap::None && texts.gap(rest_end) != Gap::None).then_some(start..rest_end)
            })
        })
    })
}

/// Whether a word begins or ends at a position. Scripts without spaces join a name to the words around it.
fn begins_word(texts: &Folded, at: usize) -> bool {
    let letters = texts.letters();
    let before = at.checked_sub(1).and_then(|last| letters.get(last));
    texts.gap(at) != Gap::None || !(before.is_some_and(u8::is_ascii) && letters.get(at).is_some_and(u8::is_ascii))
}

fn is_beside_structure(texts: &Folded, place: &Range<usize>) -> bool {
    texts.gap(place.start) == Gap::Structure || texts.gap(place.end) == Gap::Structure
}

fn is_between_structure(texts: &Folded, place: &Range<usize>) -> bool {
    texts.gap(place.start) == Gap::Structure && texts.gap(place.end) == Gap::Structure
}
