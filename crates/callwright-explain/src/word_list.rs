//! Lists of words.

/// Words of a vocabulary as one text, separated by white space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordList(pub(crate) &'static str);

impl WordList {
    /// Whether the list has a word.
    pub(crate) fn contains(self, word: &str) -> bool {
        self.words().any(|listed| listed == word)
    }

    /// Returns the words in order.
    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
        self.0.split_ascii_whitespace()
    }
}
