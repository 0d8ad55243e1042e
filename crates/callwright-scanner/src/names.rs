//! Comparison of names: residue of templates, similarity, spelling variants. [`callwright_types::tool_names`] has the
//! forms of one name.

use std::hash::{Hash, Hasher};

use callwright_common::limits::NAME_LENGTH;
use callwright_common::text::{beginning, is_digits};

pub use callwright_types::tool_names::{
    fold, of_call_id, partly_qualified, without_namespace, without_number, without_scope, words,
};

/// Content types that the harmony format puts between a tool's name and the arguments.
pub const CONTENT_TYPES: [&str; 2] = ["json", "code"];

/// Returns the name without chat-template residue: tokens (`x<|channel|>commentary`, `x[ARGS]`), tags
/// (`x</arg_value>`), the content type of the arguments (`x json`) and the number of the call (`x:0`). `None` if there
/// is no residue or nothing else remains.
pub fn without_debris(name: &str) -> Option<&str> {
    let mut rest = name.trim();
    while let Some(length) = template_token(rest).or_else(|| bracket_token(rest)) {
        rest = rest.get(length..)?.trim_start();
    }
    let mut brackets = rest.match_indices(['<', '[']);
    if let Some((at, length)) = brackets.find_map(|(at, _)| Some((at, template_token(rest.get(at..)?)?))) {
        // After the token, only words may follow: brackets and quotes indicate arguments.
        let behind = rest.get(at + length..)?;
        if behind.contains(['(', '{', '[', '"', '\'', '=']) {
            return None;
        }
        rest = rest.get(..at)?.trim_end();
    }
    if let Some(at) = rest.rfind('[').filter(|at| rest.get(*at..).and_then(bracket_token) == Some(rest.len() - at)) {
        rest = rest.get(..at)?.trim_end();
    }
    if let Some((before, word)) = rest.rsplit_once(' ')
        && CONTENT_TYPES.contains(&word)
    {
        rest = before.trim_end();
    }
    if let Some((before, number)) = rest.rsplit_once(':')
        && is_digits(number)
    {
        rest = before;
    }
    (rest != name && !fold(rest).is_empty()).then_some(rest)
}

/// Tokens in square brackets that divide a call.
const BRACKET_TOKENS: [&str; 3] = ["[ARGS]", "[CALL_ID]", "[TOOL_CALLS]"];

/// Returns the length in bytes of the complete token (`<|end|>`, `<｜end｜>`, `[ARGS]`) or tag (`<arg_key>`,
/// `</arg_key>`) at the start of `text`.
pub fn template_token(text: &str) -> Option<usize> {
    if text.starts_with('[') {
        return BRACKET_TOKENS.iter().find(|token| text.starts_with(**token)).map(|token| token.len());
    }
    let inner = text.strip_prefix('<')?;
    let end = inner.bytes().take(MAX_TOKEN).position(|byte| byte == b'>')?;
    let word = inner.get(..end)?;
    let plain = word.trim_matches(['/', '|', '｜']);
    let is_word = plain.chars().all(|letter| letter.is_alphanumeric() || "_-:.▁".contains(letter));
    (!plain.is_empty() && is_word).then_some(end + 2)
}

/// Returns the length in bytes of the control token in brackets (`[ARGS]`, `[TOOL_CALLS]`) at the start of `text`.
pub fn bracket_token(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let end = inner.bytes().take(MAX_TOKEN).position(|byte| byte == b']')?;
    let word = inner.get(..end)?;
    let is_word = word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    is_word.then_some(end + 2)
}

/// Maximum length of a token or tag in bytes.
const MAX_TOKEN: usize = 64;

/// A name prepared for many comparisons.
#[derive(Debug, Clone)]
pub struct Name {
    folded: String,
    /// Number of characters of the folded name.
    length: usize,
    /// Sorted hashes of the words. Equal hashes count as equal words.
    words: Vec<u64>,
    /// Number of occurrences of each letter, by [`bucket`].
    letters: [u8; BUCKETS],
}

/// Buckets for the letters `a` to `z`, the digits, and one for all other characters.
const BUCKETS: usize = 26 + 10 + 1;

fn bucket(letter: char) -> usize {
    match letter {
        'a'..='z' => letter as usize - 'a' as usize,
        '0'..='9' => 26 + letter as usize - '0' as usize,
        _ => BUCKETS - 1,
    }
}

impl Name {
    /// Prepares a name for comparison. Truncates long names.
    pub fn read(name: &str) -> Self {
        let name = clip(name);
        let folded = fold(name);
        let mut letters = [0_u8; BUCKETS];
        for letter in folded.chars() {
            if let Some(count) = letters.get_mut(bucket(letter)) {
                *count = count.saturating_add(1);
            }
        }
        let mut words: Vec<u64> = words(name).iter().map(hash).collect();
        words.sort_unstable();
        Self { length: folded.chars().count(), folded, words, letters }
    }

    /// Returns the similarity of two names, 0 to 1. It is the higher of spelling (optimal string alignment distance of
    /// the folded names, normalised by the longer) and words (Sørensen-Dice coefficient). Thus both `get_wether` and
    /// `weather_get` are close to `get_weather`.
    fn similarity(&self, other: &Self) -> f64 {
        let longer = self.length.max(other.length);
        if longer == 0 {
            return 0.0;
        }
        let distance = strsim::osa_distance(&self.folded, &other.folded);
        share(longer - distance.min(longer), longer).max(self.dice(other))
    }

    /// Returns an upper bound of the similarity at a fraction of its cost. Each edit changes one letter, so every
    /// letter that is not shared costs one edit. If the lengths alone rule out a similarity of `floor`, the letters are
    /// not compared.
    fn bound(&self, other: &Self, floor: f64) -> f64 {
        let longer = self.length.max(other.length);
        let by_length = share(self.length.min(other.length), longer.max(1));
        if by_length < floor {
            return by_length.max(self.dice(other));
        }
        let common: usize =
            self.letters.iter().zip(&other.letters).map(|(one, other)| usize::from(*one.min(other))).sum();
        share(common.min(longer), longer.max(1)).max(self.dice(other))
    }

    fn dice(&self, other: &Self) -> f64 {
        let all = self.words.len() + other.words.len();
        let (mut one, mut two, mut shared) = (self.words.as_slice(), other.words.as_slice(), 0);
        while let ([first, rest @ ..], [second, others @ ..]) = (one, two) {
            if first == second {
                shared += 1;
            }
            if first <= second {
                one = rest;
            }
            if second <= first {
                two = others;
            }
        }
        if shared == 0 { 0.0 } else { share(2 * shared, all) }
    }
}

fn hash(word: &String) -> u64 {
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

fn share(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "names are clipped to a few hundred letters")]
    let share = part as f64 / whole as f64;
    share
}

/// Returns the similarity of two names, 0 to 1.
#[cfg(test)]
pub fn similarity(one: &str, other: &str) -> f64 {
    Name::read(one).similarity(&Name::read(other))
}

/// Whether `name` is `known` with a typing error: a letter that is missing, added, replaced or swapped with the next one.
/// Each word may have one. The first letter and all digits must be the same, and a further word is no typing error
/// (`timeout_ms`).
pub fn is_typing_error(name: &str, known: &str) -> bool {
    let (name, known) = (clip(name), clip(known));
    let (folded, folded_known) = (fold(name), fold(known));
    if folded == folded_known {
        return false;
    }
    let (words, known_words) = (words(name), words(known));
    let is_word_by_word = words.len() == known_words.len()
        && words.iter().zip(&known_words).all(|(word, known)| word == known || is_typo(word, known));
    is_word_by_word || is_typo(&folded, &folded_known)
}

fn is_typo(word: &str, known: &str) -> bool {
    known.chars().nth(LETTERS_PER_EDIT - 1).is_some()
        && may_be_same_word(word, known)
        && strsim::osa_distance(word, known) == 1
}

/// Whether two words begin alike and have the same digits: otherwise they differ in more than their spelling.
fn may_be_same_word(one: &str, other: &str) -> bool {
    one.chars().next() == other.chars().next()
        && one.chars().filter(|letter| letter.is_numeric()).eq(other.chars().filter(|letter| letter.is_numeric()))
}

/// List of names prepared for comparison.
#[derive(Debug, Clone, Default)]
pub struct NameList(Vec<Name>);

/// Maximum number of names per lookup that are compared letter by letter: those with the highest upper bounds. Only a
/// handful of real names get this far.
const MAX_COMPARED: usize = 32;

impl NameList {
    /// Prepares names for comparison.
    pub fn read<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(Name::read).collect())
    }

    /// Returns up to `limit` names that are most similar to `name`, as positions with similarities, best first.
    /// Considers only positions for which `wanted` returns true and similarities of at least `floor`. Ties keep their
    /// order.
    pub fn nearest(&self, name: &str, limit: usize, floor: f64, wanted: impl Fn(usize) -> bool) -> Vec<(usize, f64)> {
        let name = Name::read(name);
        let mut ranked = self.rank(&name, limit, floor, wanted, |other| name.similarity(other));
        ranked.retain(|(_, similarity)| *similarity >= floor);
        ranked
    }

    fn rank(
        &self,
        name: &Name,
        limit: usize,
        floor: f64,
        wanted: impl Fn(usize) -> bool,
        mut compare: impl FnMut(&Name) -> f64,
    ) -> Vec<(usize, f64)> {
        // The upper bound excludes most names before the costly comparison and the sort.
        let numbered = self.0.iter().enumerate().map(|(index, other)| (index, other, name.bound(other, floor)));
        let mut bounded: Vec<(usize, &Name, f64)> =
            numbered.filter(|(index, _, bound)| *bound >= floor && wanted(*index)).collect();
        bounded.sort_by(|one, other| other.2.total_cmp(&one.2).then(one.0.cmp(&other.0)));
        let mut best: Vec<(usize, f64)> = Vec::with_capacity(limit + 1);
        for (index, other, bound) in bounded.into_iter().take(MAX_COMPARED.max(limit)) {
            if best.len() == limit && best.last().is_some_and(|(_, worst)| bound < *worst) {
                break;
            }
            best.push((index, compare(other)));
            best.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
            best.truncate(limit);
        }
        best
    }
}

fn clip(name: &str) -> &str {
    beginning(name, NAME_LENGTH)
}

/// Number of letters per edit of a spelling variant or typing error. Shorter words have none: `get` and `set` are two
/// words.
const LETTERS_PER_EDIT: usize = 4;

/// Whether one name may be a misspelling of the other, so that both are the same tool: they have the same words,
/// possibly in rotated order (`weather_get`), or words that differ in their spelling only. Names that differ in a whole
/// word (`delete_row`, `update_row`), a digit or the beginning of a word (`enable`, `disable`) are names of two tools.
pub fn is_misspelling(one: &str, other: &str) -> bool {
    let (one, other) = (words(clip(one)), words(clip(other)));
    if one.is_empty() || other.is_empty() {
        return false;
    }
    if one.len() == other.len() {
        return (0..one.len()).any(|start| {
            let rotated = other.iter().cycle().skip(start);
            one.iter().zip(rotated).all(|(word, meant)| word == meant || is_variant(word, meant, usize::MAX))
        });
    }
    // Words were joined or divided. One edit may remain, unless it is a word.
    let shortest = one.iter().chain(&other).map(|word| word.chars().count()).min().unwrap_or_default();
    let (one, other) = (one.concat(), other.concat());
    one == other || shortest > 1 && is_variant(&one, &other, 1)
}

/// Whether two words differ in spelling only: they begin alike, have the same digits, and few edits lead from one to the
/// other. A replaced letter counts as two edits, because it often makes another word (`upload`, `unload`). Words that
/// differ at the beginning are often opposites, because that is where negations are.
fn is_variant(one: &str, other: &str, max_edits: usize) -> bool {
    let longer = one.chars().count().max(other.chars().count());
    let edits = (longer / LETTERS_PER_EDIT).min(max_edits);
    may_be_same_word(one, other) && edits_between(one, other) <= edits
}

/// Returns the number of inserted, deleted or transposed letters between two words.
fn edits_between(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, meant) in other.iter().enumerate() {
            let at = |line: &[usize], at: usize| line.get(at).copied().unwrap_or(usize::MAX - 1);
            let mut edits = (at(&last, column + 1).min(at(&current, column))) + 1;
            if letter == meant {
                edits = edits.min(at(&last, column));
            }
            let is_swapped =
                column > 0 && row > 0 && one.get(row - 1) == Some(meant) && other.get(column - 1) == Some(letter);
            if is_swapped {
                edits = edits.min(at(&before, column - 1) + 1);
            }
            current.push(edits);
        }
        before = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_keeps_every_word_and_digit() {
        for (wrong, meant) in [
            ("get_wether", "get_weather"),
            ("weather_get", "get_weather"),
            ("get_weathers", "get_weather"),
            ("getwether", "get_weather"),
            ("recieve_mail", "receive_mail"),
            ("planRute", "planRoute"),
            ("delete_usr", "delete_user"),
            ("list_paymnet_methods", "list_payment_methods"),
        ] {
            assert!(is_misspelling(wrong, meant) && is_misspelling(meant, wrong), "{wrong}");
        }
        for (one, other) in [
            ("tool_5", "tool_7"),
            ("tool5", "tool7"),
            ("tool", "tool_7"),
            ("get_user_v1", "get_user_v2"),
            ("delete_row", "update_row"),
            ("enable_alarm", "disable_alarm"),
            ("enable", "disable"),
            ("get_value", "set_value"),
            ("activate_card", "deactivate_card"),
            ("subscribe", "unsubscribe"),
            ("increase_limit", "decrease_limit"),
            ("lock_door", "unlock_door"),
            ("upload_file", "unload_file"),
            ("usd_to_eur", "eur_to_usd"),
            ("delete_user", "delete_user_role"),
            ("customer_unlock", "customerlock"),
            ("get_user_v", "get_user"),
            ("erase_account", "delete_user"),
            ("delete_person", "delete_user"),
            ("", "f"),
        ] {
            assert!(!is_misspelling(one, other) && !is_misspelling(other, one), "{one}, {other}");
        }
        assert!(!is_misspelling(&"a_".repeat(10_000), &"b_".repeat(10_000)), "hostile names end at once");
    }

    #[test]
    fn debris_of_templates_is_recognised_and_nothing_else() {
        for (name, clean) in [
            ("login<|channel|>commentary", "login"),
            ("login<|constrain|>json", "login"),
            ("login</arg_value>", "login"),
            ("login</arg_key><arg_value>", "login"),
            ("<tool_call>login", "login"),
            ("<｜tool▁call▁begin｜>login", "login"),
            ("functions.login:0", "functions.login"),
            ("login:12<|im_end|>", "login"),
            ("login[ARGS]", "login"),
            ("[TOOL_CALLS]login[ARGS]", "login"),
            ("login code", "login"),
            ("functions.login:0 json", "functions.login"),
        ] {
            assert_eq!(without_debris(name), Some(clean), "{name}");
        }
        for name in [
            "login", "login:", "user:login", "a<b", "login<arg_key", "<|end|>", "f</a>(x=1)", "a < b >", "", "[ARGS]",
            "json", "loginjson", "login[0]", "login[args]", "login[ARGS]{\"a\"",
        ] {
            assert_eq!(without_debris(name), None, "{name}");
        }
    }

    #[test]
    fn spelling_and_order_of_words_make_names_alike() {
        assert!(similarity("get_wether", "get_weather") > 0.85);
        assert!((similarity("weatherGet", "get_weather") - 1.0).abs() < f64::EPSILON);
        assert!(similarity("get_weather", "delete_user") < 0.5);
        assert!(similarity("", "x") < 0.1);
    }

    fn nearest<'a>(name: &str, offered: &[&'a str], limit: usize) -> Vec<&'a str> {
        let ranked = NameList::read(offered.iter().copied()).nearest(name, limit, 0.0, |_| true);
        ranked.into_iter().map(|(index, _)| offered[index]).collect()
    }

    #[test]
    fn a_typing_error_is_no_other_word() {
        for (name, known) in [
            ("num_dayz", "num_days"),
            ("numdayz", "num_days"),
            ("citty", "city"),
            ("timeuot", "timeout"),
            ("organizaton_nmae", "organization_name"),
        ] {
            assert!(is_typing_error(name, known), "{name} {known}");
        }
        for (name, known) in [
            ("timeout_ms", "timeout"),
            ("timeout", "timeout"),
            ("Timeout", "timeout"),
            ("file1", "file2"),
            ("file1", "file"),
            ("xpath", "path"),
            ("zap", "zip"),
            ("start_date", "end_date"),
            ("", "city"),
        ] {
            assert!(!is_typing_error(name, known), "{name} {known}");
        }
    }

    #[test]
    fn the_nearest_names_come_first() {
        let offered = ["cancel_order", "get_weather", "fetch_forecast"];
        assert_eq!(nearest("fetch_weather", &offered, 2), ["get_weather", "fetch_forecast"]);
        assert_eq!(nearest(&"x".repeat(100_000), &offered, 1).len(), 1);
        assert!(nearest("x", &[], 3).is_empty() && nearest("x", &offered, 0).is_empty());
        let ranked = NameList::read(offered).nearest("fetch_weather", 2, 0.0, |index| index != 1);
        assert_eq!(ranked[0].0, 2);
    }

    #[test]
    fn letters_that_are_not_shared_bound_the_similarity() {
        let names = ["get_weather", "weatherGet", "getw", "天气", "天气预报_x", "", "a1b2", "tteeaagghhrrww"];
        for one in names.map(Name::read) {
            for other in names.map(Name::read) {
                assert!(one.similarity(&other) <= one.bound(&other, 0.0) + 1e-9);
                assert!(one.similarity(&other) < 0.5 || one.bound(&other, 0.5) + 1e-9 >= one.similarity(&other));
                assert!((one.similarity(&other) - other.similarity(&one)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn few_names_are_compared_letter_by_letter_at_any_number() {
        let verbs = ["get", "set", "list", "create", "delete", "update", "find", "cancel"];
        let offered: Vec<String> =
            (0..400).map(|index| format!("{}_{}_{index}", verbs[index % 8], "entity".repeat(index % 3))).collect();
        let hostile: Vec<String> = (0..400).map(|index| format!("{:09b}", index)).collect();
        for names in [offered, hostile] {
            let book = NameList::read(names.iter().map(String::as_str));
            let mut compared = 0;
            for unknown in &names {
                let name = Name::read(&format!("{unknown}x"));
                book.rank(
                    &name,
                    2,
                    0.0,
                    |_| true,
                    |other| {
                        compared += 1;
                        name.similarity(other)
                    },
                );
            }
            assert!(compared <= names.len() * MAX_COMPARED, "{compared}");
        }
    }

    #[test]
    fn the_bound_changes_no_result_where_few_names_can_be_meant() {
        let offered = ["get_weather", "get_wether_map", "weather", "set_weather", "fetch_forecast", "cancel_order"];
        let book = NameList::read(offered);
        for name in ["get_wheather", "weather_get", "cancelorders", "forecast", "zzz", ""] {
            let mut all: Vec<(usize, f64)> =
                offered.iter().enumerate().map(|(index, other)| (index, similarity(name, other))).collect();
            all.sort_by(|one, other| other.1.total_cmp(&one.1));
            all.truncate(3);
            assert_eq!(book.nearest(name, 3, 0.0, |_| true), all, "{name}");
            all.retain(|(_, similarity)| *similarity >= 0.6);
            assert_eq!(book.nearest(name, 3, 0.6, |_| true), all, "{name}");
        }
    }
}
