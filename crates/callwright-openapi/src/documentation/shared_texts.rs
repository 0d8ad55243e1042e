//! Deduplicates texts that several operations share.

use std::collections::HashSet;
use std::sync::Arc;

use callwright_types::DocText;

/// The distinct texts of one document. Its operations share most texts about errors and parameters.
#[derive(Debug, Default)]
pub(crate) struct SharedDocTexts {
    texts: HashSet<Arc<DocText>>,
}

impl SharedDocTexts {
    /// Returns the same texts, with one shared allocation per distinct text.
    pub(crate) fn share(&mut self, texts: Vec<DocText>) -> Vec<Arc<DocText>> {
        texts.into_iter().map(|text| self.one(text)).collect()
    }

    fn one(&mut self, text: DocText) -> Arc<DocText> {
        if let Some(shared) = self.texts.get(&text) {
            return Arc::clone(shared);
        }
        let text = Arc::new(text);
        self.texts.insert(Arc::clone(&text));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_with_equal_sources_are_stored_once() {
        let text = |text: &str, source: &str| DocText { text: text.to_owned(), source: source.to_owned() };
        let mut shared_texts = SharedDocTexts::default();
        let first = shared_texts.share(vec![text("gone", "a#/404"), text("gone", "a#/410")]);
        let second = shared_texts.share(vec![text("gone", "a#/404")]);
        assert!(Arc::ptr_eq(&first[0], &second[0]));
        assert!(!Arc::ptr_eq(&first[0], &first[1]));
        assert_eq!(second[0].source, "a#/404");
    }
}
