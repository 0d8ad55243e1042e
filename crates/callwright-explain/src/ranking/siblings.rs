//! Messages that differ from documented ones in one word: they are of the same pattern, and are not documented.
//!
//! A catalogue that explains `order not found` and `invoice not found` has most words of `customer not found`, and
//! explains it with neither. A paraphrase differs in more than one word, or in the order of the words.

use super::verbatim::{LEAST_WORDS, words};

/// Maximum number of words of a message that is compared. In a longer one, a word may be a value.
const MAX_WORDS: usize = 12;

/// Whether at least two passages have a message but for one word in its place, and none has all of it.
pub(crate) fn is_sibling_of(messages: &[String], passages: &[&str]) -> bool {
    let forms: Vec<Vec<String>> = messages.iter().flat_map(|message| forms(message)).collect();
    let mut siblings = vec![0_usize; forms.len()];
    if forms.is_empty() {
        return false;
    }
    for passage in passages {
        let passage: Vec<String> = words(passage).collect();
        for (form, siblings) in forms.iter().zip(&mut siblings) {
            let differences = passage.windows(form.len()).map(|part| difference(form, part));
            match differences.min().unwrap_or(Difference::Other) {
                Difference::None => return false,
                Difference::Word => *siblings += 1,
                Difference::Other => {}
            }
        }
    }
    siblings.iter().any(|siblings| *siblings > 1)
}

/// Difference of two texts with equally many words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    None,
    Word,
    Other,
}

fn difference(one: &[String], other: &[String]) -> Difference {
    let mut different = one.iter().zip(other).filter(|(one, other)| one != other);
    match (different.next(), different.next()) {
        (None, _) => Difference::None,
        // Numbers are values.
        (Some((one, other)), None) if !has_digit(one) && !has_digit(other) => Difference::Word,
        _ => Difference::Other,
    }
}

/// Returns the words of a message: of all of it, and of the part behind each label; without a remark in brackets.
fn forms(message: &str) -> Vec<Vec<String>> {
    let mut forms = Vec::new();
    let mut rest = message;
    loop {
        let text = rest.split_once(" (").map_or(rest, |(before, _)| before);
        let form: Vec<String> = words(text).take(MAX_WORDS + 1).collect();
        if (LEAST_WORDS..=MAX_WORDS).contains(&form.len()) {
            forms.push(form);
        }
        match rest.split_once(": ") {
            Some((_, behind)) => rest = behind,
            None => return forms,
        }
    }
}

fn has_digit(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPOT: [&str; 3] = [
        "7101: Locker not found\nThere is no locker with this number.",
        "7102 VAN_NOT_FOUND: Van not found. It belongs to another depot.",
        "7103 - The van takes at most 8 parcels",
    ];

    fn is_sibling(message: &str) -> bool {
        is_sibling_of(&[message.to_owned()], &DEPOT)
    }

    #[test]
    fn another_word_in_a_documented_pattern_is_not_documented() {
        for message in ["Depot not found", "Request failed: parcel not found (id 17)", "DRIVER NOT FOUND."] {
            assert!(is_sibling(message), "{message}");
        }
    }

    #[test]
    fn documented_messages_and_paraphrases_are_no_siblings() {
        for message in [
            "Van not found", "The van was not found here", "not found", "The van takes at most 9 parcels", "",
            "a: b: c",
        ] {
            assert!(!is_sibling(message), "{message}");
        }
        let one = is_sibling_of(&["Depot not found".to_owned()], &DEPOT[..1]);
        assert!(!one, "one passage is no pattern");
    }
}
