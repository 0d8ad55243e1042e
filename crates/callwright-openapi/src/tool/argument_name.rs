//! Argument names that every provider accepts.

use std::collections::HashSet;

use super::naming::MAX_NAME;
use callwright_common::text::beginning_bytes;

/// Replacement for a name without any allowed character.
const NAMELESS: &str = "argument";

/// Returns an acceptable name for each of `names`, which are distinct and not in `taken`. A name that every provider
/// accepts is kept. Otherwise the refused characters are replaced (`filter[name]` becomes `filter_name`) and a number
/// is appended if the result is taken.
pub(crate) fn offered_names(names: &[&str], taken: &HashSet<String>) -> Vec<String> {
    let mut taken = taken.clone();
    taken.extend(names.iter().filter(|name| is_offered(name)).map(|name| (*name).to_owned()));
    let mut offered = Vec::with_capacity(names.len());
    for name in names {
        let name = if is_offered(name) { (*name).to_owned() } else { free_name(&plain(name), &taken) };
        taken.insert(name.clone());
        offered.push(name);
    }
    offered
}

/// Returns `preferred` if it is not in `taken`, else the first free name of `preferred_2`, `preferred_3`, ...
pub(crate) fn free_name(preferred: &str, taken: &HashSet<String>) -> String {
    let numbered = (2..).map(|number| {
        let end = format!("_{number}");
        format!("{}{end}", beginning_bytes(preferred, MAX_NAME - end.len()))
    });
    std::iter::once(preferred.to_owned()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or_default()
}

fn is_offered(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain)
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-')
}

fn plain(name: &str) -> String {
    let words: Vec<&str> = name.split(|letter| !is_plain(letter)).filter(|word| !word.is_empty()).collect();
    let joined = words.join("_");
    if joined.is_empty() { NAMELESS.to_owned() } else { beginning_bytes(&joined, MAX_NAME).to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_provider_would_refuse_are_changed_and_stay_distinct() {
        let long = "x".repeat(70);
        let longer = "x".repeat(71);
        let names =
            ["id", "filter[name]", "filter_name", "$top", "top", "@", "größe", "", &long, &longer, "a b\r\nc", "$top "];
        let offered = offered_names(&names, &HashSet::from(["argument".to_owned()]));
        let expected = [
            "id",
            "filter_name_2",
            "filter_name",
            "top_2",
            "top",
            "argument_2",
            "gr_e",
            "argument_3",
            &"x".repeat(64),
            &format!("{}_2", "x".repeat(62)),
            "a_b_c",
            "top_3",
        ];
        assert_eq!(offered, expected);
        assert!(offered.iter().all(|name| is_offered(name)));
    }

    #[test]
    fn names_accepted_by_every_provider_are_unchanged() {
        for name in ["id", "X-Request-ID", "a.b", "_", "9", &"x".repeat(64)] {
            assert_eq!(offered_names(&[name], &HashSet::new()), [name]);
        }
    }
}
