//! The general sentence that is made of telling words, and the words that such a sentence was made of.

/// What the sentence begins with.
const OPENING: &str = "Requests that speak of ";

/// A sentence about words; nothing where there are none.
pub(super) fn write(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((only, [])) => format!("{OPENING}{only}"),
        Some((last, others)) => format!("{OPENING}{} and {last}", others.join(", ")),
    }
}

/// The words of a sentence that [`write()`] wrote; `None` of any other.
pub(super) fn read(sentence: &str) -> Option<Vec<&str>> {
    let words = sentence.strip_prefix(OPENING)?;
    Some(words.split(", ").flat_map(|part| part.split(" and ")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_gives_its_words_back() {
        for words in [&["lost"][..], &["lost", "card"], &["lost", "card", "stolen"]] {
            assert_eq!(read(&write(words)).unwrap(), words);
        }
        assert_eq!(write(&["lost", "card", "stolen"]), "Requests that speak of lost, card and stolen");
        assert_eq!((write(&[] as &[&str]), read("Lost cards.")), (String::new(), None));
    }
}
