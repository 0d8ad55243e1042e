//! Selects one document of a YAML stream.

use std::ops::Range;

use crate::discovery;

/// Returns the selected document on its original lines if the stream has several documents: the first OpenAPI
/// document, otherwise the first that is not empty.
pub(super) fn one_document(text: &str) -> Option<String> {
    let documents: Vec<Range<usize>> =
        documents(text).into_iter().filter(|range| text.get(range.clone()).is_some_and(has_content)).collect();
    if documents.len() < 2 {
        return None;
    }
    let openapi = documents.iter().find(|range| text.get((*range).clone()).is_some_and(discovery::claims_in));
    let chosen = openapi.or(documents.first())?;
    let lines_before = text.get(..chosen.start)?.matches('\n').count();
    Some("\n".repeat(lines_before) + text.get(chosen.clone())?)
}

/// Returns the ranges of the documents in the stream, without the markers between them. A scalar cannot contain such
/// a marker (YAML 1.2.2, section 9.1.2).
fn documents(text: &str) -> Vec<Range<usize>> {
    let mut documents = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let rest = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace())) {
            documents.push(start..at);
            // The rest of the marker's line belongs to the document.
            start = at + 3;
        }
        at += line.len();
    }
    documents.push(start..at);
    documents
}

fn has_content(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with(['#', '%', '\u{feff}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_openapi_document_is_selected_and_keeps_its_lines() {
        assert_eq!(one_document("a: 1\n---\nopenapi: 3.0.0\n---\nb: 2\n").as_deref(), Some("\n\nopenapi: 3.0.0\n"));
        assert_eq!(one_document("--- {a: 1}\n--- {swagger: '2.0'}").as_deref(), Some("\n {swagger: '2.0'}"));
        assert_eq!(one_document("a: 1\n...\nb: 2\n").as_deref(), Some("a: 1\n"));
    }

    #[test]
    fn a_single_document_is_unchanged() {
        for text in [
            "",
            "a: 1\n",
            "# c\n%YAML 1.2\n---\na: 1\n",
            "a: 1\n---\n# nothing\n",
            "a: |\n  ---\n  b\n",
            "----\n---a: 1\n",
        ] {
            assert_eq!(one_document(text), None, "{text}");
        }
    }
}
