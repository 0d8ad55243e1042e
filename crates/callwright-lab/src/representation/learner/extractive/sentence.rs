//! Builds a general sentence from discriminative words and phrases, and parses it again.

/// Beginning of the sentence.
const OPENING: &str = "Requests about ";

/// Word before the last phrase. No phrase contains it.
pub(super) const CONJUNCTION: &str = "and";

/// Returns a sentence with the phrases; empty without phrases.
pub(super) fn build(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((only, [])) => format!("{OPENING}{only}"),
        Some((last, others)) => format!("{OPENING}{} {CONJUNCTION} {last}", others.join(", ")),
    }
}

/// Returns the phrases of a sentence of [`build()`]; `None` for any other sentence.
pub(super) fn parse(sentence: &str) -> Option<Vec<&str>> {
    let words = sentence.strip_prefix(OPENING)?;
    Some(words.split(", ").flat_map(|part| part.split(" and ")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_sentences_are_parsed_back() {
        for words in [&["lost"][..], &["lost", "card"], &["lost", "card", "stolen"]] {
            assert_eq!(parse(&build(words)).unwrap(), words);
        }
        assert_eq!(build(&["lost", "card", "stolen"]), "Requests about lost, card and stolen");
        assert_eq!((build(&[] as &[&str]), parse("Lost cards.")), (String::new(), None));
    }
}
