//! Index of one toolset's passages: words for ranking, codes and names for exact matches, and the operation or section
//! of each passage.

pub(crate) mod codes;
pub(crate) mod passage_vectors;
pub(crate) mod units;

use std::collections::HashMap;
use std::sync::Arc;

use crate::Settings;
use crate::documents::{Section, passages};
use crate::passages::Piece;
use callwright_common::text::{beginning, letters};
use callwright_search::embedding::{EmbedError, Embedder};
use callwright_search::retrieval::Bm25;
use callwright_types::DocText;
use codes::{CodeLikelihood, CodeShape, forms, normal_form, shape_of, strength};
use passage_vectors::PassageVectors;
use units::{DocumentUnits, UnitId};

#[derive(Debug, Clone)]
pub(crate) struct IndexedPassage {
    /// Text for display.
    pub(crate) text: String,
    /// Location in the documentation.
    pub(crate) source: String,
    /// Response that the passage describes.
    pub(crate) response: Option<DocumentedResponse>,
    /// Operation or section that the passage belongs to.
    pub(crate) unit: UnitId,
    /// Shape of the codes that the passage defines; `None` if it is no catalogue entry.
    pub(crate) shape: Option<CodeShape>,
}

/// Response of an operation that a text belongs to (OpenAPI 3.0.4, Responses Object).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentedResponse {
    /// Exact status such as `404`.
    Status(u16),
    /// Class of statuses such as `4XX`, by its first digit.
    Class(u16),
    /// The `default` response.
    Default,
}

impl DocumentedResponse {
    /// Whether the response has this status.
    pub(crate) fn includes(self, status: u16) -> bool {
        match self {
            Self::Status(documented) => documented == status,
            Self::Class(class) => class == status / 100,
            Self::Default => true,
        }
    }
}

/// Passage that names a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeMention {
    /// Index of the passage.
    pub(crate) passage: usize,
    /// Whether the passage defines the code instead of only mentioning it.
    pub(crate) defines: bool,
}

/// Passages of one toolset, contiguous per operation or section.
#[derive(Debug)]
pub(crate) struct Index {
    entries: Vec<IndexedPassage>,
    pub(crate) words: Bm25<()>,
    /// Index of the passages' beginnings, which contain an entry's title.
    pub(crate) leads: Bm25<()>,
    names: HashMap<String, Vec<CodeMention>>,
    /// Passages by alternative spellings of the codes that they define.
    spellings: HashMap<String, Vec<usize>>,
    /// Number of entries for each shape of codes.
    pub(crate) shapes: HashMap<CodeShape, usize>,
    pub(crate) units: DocumentUnits,
    /// Vectors of the passages, if there are any.
    pub(crate) vectors: Option<PassageVectors>,
}

impl Index {
    pub(crate) fn builder(settings: &Settings) -> PassageIndexBuilder<'_> {
        PassageIndexBuilder { settings, entries: Vec::new(), names: HashMap::new(), units: DocumentUnits::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn passage(&self, number: usize) -> Option<&IndexedPassage> {
        self.entries.get(number)
    }

    /// Embeds the first `limit` passages.
    ///
    /// # Errors
    /// Returns [`EmbedError`]; the index then has no vectors.
    pub(crate) async fn embed_passages(
        &mut self,
        embedder: &Arc<dyn Embedder>,
        limit: usize,
    ) -> Result<(), EmbedError> {
        let texts = self.entries.iter().take(limit).map(|entry| entry.text.clone()).collect();
        self.vectors = Some(PassageVectors::embed(embedder, texts).await?);
        Ok(())
    }

    /// Returns the passages that name a code or parameter, given in normal form.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = CodeMention> {
        self.names.get(name).into_iter().flatten().copied()
    }

    /// Returns the passages that define a code in a different spelling.
    pub(crate) fn defined_in_other_spelling(&self, code: &str) -> impl Iterator<Item = usize> {
        self.spellings.get(&letters(code)).into_iter().flatten().copied()
    }
}

pub(crate) struct PassageIndexBuilder<'a> {
    settings: &'a Settings,
    entries: Vec<IndexedPassage>,
    names: HashMap<String, Vec<CodeMention>>,
    units: DocumentUnits,
}

impl PassageIndexBuilder<'_> {
    /// Adds the documentation of one operation.
    pub(crate) fn add_operation(&mut self, tool: &str, texts: &[DocText]) {
        let (start, unit) = (self.entries.len(), self.units.next_id());
        let mut chars_left = self.settings.max_document_chars;
        for DocText { text, source } in texts {
            let taken = beginning(text, chars_left);
            chars_left -= taken.chars().count();
            let (labelled, rest) = split_label(taken);
            let response = response_of(source).or(labelled);
            for piece in passages(rest, self.settings) {
                self.add_piece(piece, source, response, unit);
            }
        }
        self.units.push_operation(tool, start..self.entries.len());
    }

    /// Adds a section of documentation outside of OpenAPI documents.
    pub(crate) fn add_section(&mut self, section: &Section) {
        let (source, unit) = (section.source(), self.units.next_id());
        for piece in &section.passages {
            self.add_piece(piece.clone(), &source, None, unit);
        }
        self.units.push_section(&section.path, &section.tools);
    }

    fn add_piece(&mut self, piece: Piece, source: &str, response: Option<DocumentedResponse>, unit: UnitId) {
        if is_bare(&piece) {
            return;
        }
        let passage = self.entries.len();
        let shape = piece.defines.iter().filter_map(|code| shape_of(code)).max();
        self.units.count(&piece.defines);
        let defined = piece.defines.into_iter().map(|name| (name, true));
        for (name, defines) in defined.chain(piece.mentions.into_iter().map(|name| (name, false))) {
            let named = self.names.entry(name).or_default();
            // Definitions come first, so a mention in the same passage is redundant.
            if named.last().is_none_or(|last| last.passage != passage) {
                named.push(CodeMention { passage, defines });
            }
        }
        self.entries.push(IndexedPassage { text: piece.text, source: source.to_owned(), response, unit, shape });
    }

    pub(crate) fn build(mut self) -> Index {
        let words = Bm25::build(self.entries.iter().map(|entry| ((), entry.text.as_str())));
        let leads = Bm25::build(self.entries.iter().map(|entry| ((), lead(&entry.text))));
        self.units.finish();
        let mut spellings: HashMap<String, Vec<usize>> = HashMap::new();
        for (name, named) in &self.names {
            let defining: Vec<usize> = named.iter().filter(|named| named.defines).map(|named| named.passage).collect();
            for form in forms(name).filter(|_| !defining.is_empty()) {
                spellings.entry(form).or_default().extend(&defining);
            }
        }
        let mut shapes: HashMap<CodeShape, usize> = HashMap::new();
        for shape in self.entries.iter().filter_map(|entry| entry.shape) {
            *shapes.entry(shape).or_default() += 1;
        }
        let Self { entries, names, units, .. } = self;
        Index { entries, words, leads, names, spellings, shapes, units, vectors: None }
    }
}

/// Whether a passage is only a code, a name, or a heading of names, which explains nothing.
fn is_bare(piece: &Piece) -> bool {
    let mut words = piece.text.split_whitespace();
    words.clone().nth(1).is_none() && !piece.text.ends_with(['.', '!', '。']) && is_spaced(&piece.text)
        || words.all(|word| is_bare_word(word, piece))
}

/// Whether a word is a code or a name that the passage defines, and does not end a sentence.
fn is_bare_word(word: &str, piece: &Piece) -> bool {
    let is_name =
        normal_form(word).is_none_or(|name| piece.defines.contains(&name) || strength(word) > CodeLikelihood::Name);
    is_name && !word.ends_with(['.', '!', '。'])
}

/// Whether a script separates words with spaces, so that a text without spaces is one word.
fn is_spaced(text: &str) -> bool {
    text.chars().filter(|mark| mark.is_alphabetic()).all(|mark| mark.is_lowercase() || mark.is_uppercase())
}

/// Number of characters that count as a passage's beginning, enough for a code, a name and a title.
pub(crate) const LEAD_CHARS: usize = 160;

/// Returns the beginning of a passage, at most two lines.
fn lead(text: &str) -> &str {
    let of_lines = text.match_indices('\n').nth(1).and_then(|(end, _)| text.get(..end)).unwrap_or(text);
    beginning(of_lines, LEAD_CHARS)
}

/// Parses the response from a source such as `api.yaml#/paths/~1x/get/responses/404/description`.
fn response_of(source: &str) -> Option<DocumentedResponse> {
    let (_, behind) = source.split_once("/responses/")?;
    response(behind.split('/').next()?)
}

/// Strips the label of a response from a text such as `404: There is no such room.`. Only the label has
/// the status of a response that several operations share.
fn split_label(text: &str) -> (Option<DocumentedResponse>, &str) {
    let labelled = text.split_once(": ").and_then(|(key, rest)| Some((response(key)?, rest)));
    match labelled {
        Some((response, rest)) => (Some(response), rest),
        None => (text.split([',', ':']).next().and_then(response), text),
    }
}

/// Parses a key of the Responses Object.
fn response(key: &str) -> Option<DocumentedResponse> {
    match key.as_bytes() {
        b"default" => Some(DocumentedResponse::Default),
        [class @ b'1'..=b'5', b'X' | b'x', b'X' | b'x'] => Some(DocumentedResponse::Class(u16::from(class - b'0'))),
        [b'1'..=b'5', _, _] => key.parse().ok().map(DocumentedResponse::Status),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_is_read_from_the_source() {
        let cases = [
            ("a.yaml#/paths/~1x/get/responses/404/description", Some(DocumentedResponse::Status(404))),
            ("a.yaml#/paths/~1x/get/responses/4XX/content", Some(DocumentedResponse::Class(4))),
            ("a.yaml#/paths/~1x/get/responses/default", Some(DocumentedResponse::Default)),
            ("a.yaml#/components/responses/NotFound/description", None),
            ("a.yaml#/components/responses/4é", None),
            ("a.yaml#/paths/~1x/get/description", None),
        ];
        for (source, expected) in cases {
            assert_eq!(response_of(source), expected, "{source}");
        }
    }

    #[test]
    fn the_response_is_parsed_from_the_label_which_is_removed() {
        let cases = [
            ("404: `E_X`: no such room.", Some(DocumentedResponse::Status(404)), "`E_X`: no such room."),
            ("default: Any error.", Some(DocumentedResponse::Default), "Any error."),
            ("400, for example: {}", Some(DocumentedResponse::Status(400)), "400, for example: {}"),
            ("E_X: no such room.", None, "E_X: no such room."),
            ("404 rooms are free.", None, "404 rooms are free."),
        ];
        for (text, response, rest) in cases {
            assert_eq!(split_label(text), (response, rest), "{text}");
        }
    }

    #[test]
    fn passages_and_names_of_an_operation_are_indexed() {
        let settings = Settings::default();
        let mut builder = Index::builder(&settings);
        let text = |text: &str| DocText { text: text.into(), source: "a".into() };
        builder.add_operation("first", &[text("`E_A`: see `E_B`."), text("Free text.")]);
        builder.add_operation("second", &[text("More.")]);
        let index = builder.build();
        let passages = |tool: &str| index.units.operation(tool);
        assert_eq!((passages("first"), passages("second"), index.len()), (Some(0..2), Some(2..3), 3));
        assert_eq!(index.named("e_a").collect::<Vec<_>>(), [CodeMention { passage: 0, defines: true }]);
        assert_eq!(index.named("e_b").collect::<Vec<_>>(), [CodeMention { passage: 0, defines: false }]);
    }

    #[test]
    fn documentation_beyond_the_limit_is_omitted() {
        let settings = Settings { max_document_chars: 10, passage_chars: 5, ..Settings::default() };
        let mut builder = Index::builder(&settings);
        builder.add_operation("x", &[DocText { text: "it is ".repeat(1_000), source: String::new() }]);
        assert_eq!(builder.build().units.operation("x"), Some(0..2));
    }
}
