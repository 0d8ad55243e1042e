//! Deduplicates texts that several operations share.

use std::collections::HashSet;
use std::sync::Arc;

use callwright_types::DocText;

/// The distinct texts of one document. Its operations share most texts about errors and parameters.
#[derive(Debug, Default)]
pub(in super::super) struct DocumentationLibrary {
    known: HashSet<Arc<DocText>>,
}

impl DocumentationLibrary {
    /// Returns the same texts, with one shared allocation per distinct text.
    pub(in super::super) fn share(&mut self, texts: Vec<DocText>) -> Vec<Arc<DocText>> {
        texts.into_iter().map(|text| self.one(text)).collect()
    }

    fn one(&mut self, text: DocText) -> Arc<DocText> {
        if let Some(known) = self.known.get(&text) {
            return Arc::clone(known);
        }
        let text = Arc::new(text);
        self.known.insert(Arc::clone(&text));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_its_place_is_kept_once() {
        let text = |text: &str, source: &str| DocText { text: text.to_owned(), source: source.to_owned() };
        let mut library = DocumentationLibrary::default();
        let first = library.share(vec![text("gone", "a#/404"), text("gone", "a#/410")]);
        let second = library.share(vec![text("gone", "a#/404")]);
        assert!(Arc::ptr_eq(&first[0], &second[0]));
        assert!(!Arc::ptr_eq(&first[0], &first[1]));
        assert_eq!(second[0].source, "a#/404");
    }
}
