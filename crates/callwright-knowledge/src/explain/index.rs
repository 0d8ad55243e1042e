//! Index of one toolset's passages: words for ranking, codes and names for exact matches, and the operation or section
//! of each passage.

use std::collections::HashMap;
use std::sync::Arc;

use super::Settings;
use super::documents::Section;
use super::meanings::Meanings;
use super::passages::{Part, Piece, parts};
use super::places::{Place, Places};
use super::sentence_vectors::{SentenceVectors, wanted};
use super::shape::{Shape, shape_of};
use super::spellings::{folded, forms};
use callwright_search::embedding::{EmbedError, Embedder};
use callwright_search::retrieval::Bm25;
use callwright_types::DocText;

/// Indexed passage.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Text for display.
    pub(super) text: String,
    /// Location in the documentation.
    pub(super) source: String,
    /// Response that the passage describes.
    pub(super) response: Option<Response>,
    /// Operation or section that the passage belongs to.
    pub(super) place: Place,
    /// Shape of the codes that the passage defines; `None` if it is no catalogue entry.
    pub(super) shape: Option<Shape>,
}

/// Response of an operation that a text belongs to (OpenAPI 3.0.4, Responses Object).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Response {
    /// Exact status such as `404`.
    Status(u16),
    /// Class of statuses such as `4XX`, by its first digit.
    Class(u16),
    /// The `default` response.
    Default,
}

/// Passage that names a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named {
    /// Index of the passage.
    pub(super) passage: usize,
    /// Whether the passage defines the code instead of only mentioning it.
    pub(super) defines: bool,
}

/// Passages of one toolset, contiguous per operation or section.
#[derive(Debug)]
pub(super) struct Index {
    entries: Vec<Entry>,
    words: Bm25<()>,
    /// Index of the passages' beginnings, which contain an entry's title.
    leads: Bm25<()>,
    names: HashMap<String, Vec<Named>>,
    /// Passages by alternative spellings of the codes that they define.
    spellings: HashMap<String, Vec<usize>>,
    places: Places,
    meanings: Option<Meanings>,
}

impl Index {
    pub(super) fn builder(settings: &Settings) -> Builder<'_> {
        Builder {
            settings,
            stretches: Vec::new(),
            entries: Vec::new(),
            names: HashMap::new(),
            places: Places::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn passage(&self, number: usize) -> Option<&Entry> {
        self.entries.get(number)
    }

    pub(super) fn words(&self) -> &Bm25<()> {
        &self.words
    }

    pub(super) fn leads(&self) -> &Bm25<()> {
        &self.leads
    }

    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// Returns the vectors of the passages, if there are any.
    pub(super) fn meanings(&self) -> Option<&Meanings> {
        self.meanings.as_ref()
    }

    /// Embeds the first `most` passages.
    ///
    /// # Errors
    /// Returns [`EmbedError`]; the index then has no vectors.
    pub(super) async fn understand(&mut self, embedder: &Arc<dyn Embedder>, most: usize) -> Result<(), EmbedError> {
        let texts = self.entries.iter().take(most).map(|entry| entry.text.clone()).collect();
        self.meanings = Some(Meanings::of(embedder, texts).await?);
        Ok(())
    }

    /// Returns the passages that name a code or parameter, given in normal form.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = Named> {
        self.names.get(name).into_iter().flatten().copied()
    }

    /// Returns the passages that define a code in a different spelling.
    pub(super) fn spelt_otherwise(&self, code: &str) -> impl Iterator<Item = usize> {
        self.spellings.get(&folded(code)).into_iter().flatten().copied()
    }
}

pub(super) struct Builder<'a> {
    settings: &'a Settings,
    /// Parsed documentation in its original order, not yet split into passages.
    stretches: Vec<Stretch>,
    entries: Vec<Entry>,
    names: HashMap<String, Vec<Named>>,
    places: Places,
}

/// Parsed documentation of one operation or section.
struct Stretch {
    owner: Owner,
    texts: Vec<Text>,
}

enum Owner {
    Operation(String),
    Section { path: Vec<String>, tools: Arc<[String]> },
}

/// Parsed text.
struct Text {
    parts: Vec<Part>,
    source: String,
    response: Option<Response>,
}

impl Builder<'_> {
    /// Parses the documentation of one operation.
    pub(super) fn add_operation(&mut self, tool: &str, texts: &[DocText]) {
        let mut room = self.settings.max_document_chars;
        let read = |DocText { text, source }: &DocText| {
            let taken: String = text.chars().take(room).collect();
            room = room.saturating_sub(taken.chars().count());
            let (labelled, rest) = split_label(&taken);
            let response = response_of(source).or(labelled);
            Text { parts: parts(rest, self.settings), source: source.clone(), response }
        };
        let texts = texts.iter().map(read).collect();
        self.stretches.push(Stretch { owner: Owner::Operation(tool.to_owned()), texts });
    }

    /// Adds a section of documentation outside of OpenAPI documents.
    pub(super) fn add_section(&mut self, section: Section) {
        let source = section.source();
        let Section { path, tools, parts, .. } = section;
        let texts = vec![Text { parts, source, response: None }];
        self.stretches.push(Stretch { owner: Owner::Section { path, tools }, texts });
    }

    /// Returns the sentences to embed for splitting runs, up to the limit in the settings.
    pub(super) fn wanted_sentences(&self) -> Vec<String> {
        let parts = self.stretches.iter().flat_map(|stretch| &stretch.texts).flat_map(|text| &text.parts);
        let runs = parts.filter_map(|part| match part {
            Part::Run(run) => Some(run),
            Part::Passage(_) => None,
        });
        wanted(runs, self.settings.max_embedded_texts)
    }

    fn add_stretch(&mut self, Stretch { owner, texts }: Stretch, vectors: &SentenceVectors) {
        let (start, place) = (self.entries.len(), self.places.next());
        for Text { parts, source, response } in texts {
            for piece in parts.into_iter().flat_map(|part| vectors.passages(part)) {
                self.add_piece(piece, &source, response, place);
            }
        }
        let passages = start..self.entries.len();
        match owner {
            Owner::Operation(tool) => self.places.push_operation(&tool, passages),
            Owner::Section { path, tools } => self.places.push_section(&path, &tools),
        }
    }

    fn add_piece(&mut self, piece: Piece, source: &str, response: Option<Response>, place: Place) {
        let passage = self.entries.len();
        let shape = piece.defines.iter().filter_map(|code| shape_of(code)).max();
        self.places.count(place, &piece.defines);
        let defined = piece.defines.into_iter().map(|name| (name, true));
        for (name, defines) in defined.chain(piece.mentions.into_iter().map(|name| (name, false))) {
            let named = self.names.entry(name).or_default();
            // Definitions come first, so a mention in the same passage is redundant.
            if named.last().is_none_or(|last| last.passage != passage) {
                named.push(Named { passage, defines });
            }
        }
        self.entries.push(Entry { text: piece.text, source: source.to_owned(), response, place, shape });
    }

    /// Splits the texts by words only and indexes them.
    pub(super) fn build(self) -> Index {
        self.build_by(&SentenceVectors::default())
    }

    /// Splits the texts, by the meanings of sentences where vectors are available, and indexes them.
    pub(super) fn build_by(mut self, vectors: &SentenceVectors) -> Index {
        for stretch in std::mem::take(&mut self.stretches) {
            self.add_stretch(stretch, vectors);
        }
        let words = Bm25::build(self.entries.iter().map(|entry| ((), entry.text.as_str())));
        let leads = Bm25::build(self.entries.iter().map(|entry| ((), lead(&entry.text))));
        self.places.finish();
        let mut spellings: HashMap<String, Vec<usize>> = HashMap::new();
        for (name, named) in &self.names {
            let defining = || named.iter().filter(|named| named.defines).map(|named| named.passage);
            for form in forms(name).filter(|_| defining().next().is_some()) {
                spellings.entry(form).or_default().extend(defining());
            }
        }
        Index { entries: self.entries, words, leads, names: self.names, spellings, places: self.places, meanings: None }
    }
}

/// Number of characters that count as a passage's beginning, enough for a code, a name and a title.
pub(super) const LEAD_CHARS: usize = 160;

/// Maximum number of lines that count as a passage's beginning.
const LEAD_LINES: usize = 2;

fn lead(text: &str) -> &str {
    let of_lines = text.match_indices('\n').nth(LEAD_LINES - 1).and_then(|(end, _)| text.get(..end)).unwrap_or(text);
    of_lines.char_indices().nth(LEAD_CHARS).and_then(|(end, _)| of_lines.get(..end)).unwrap_or(of_lines)
}

/// Parses the response from a source such as `api.yaml#/paths/~1x/get/responses/404/description`.
fn response_of(source: &str) -> Option<Response> {
    let (_, behind) = source.split_once("/responses/")?;
    response(behind.split('/').next()?)
}

/// Strips the label of a response from a text such as `404: There is no such room.`. The label is the only place with
/// the status of a response that several operations share.
fn split_label(text: &str) -> (Option<Response>, &str) {
    let labelled = text.split_once(": ").and_then(|(key, rest)| Some((response(key)?, rest)));
    match labelled {
        Some((response, rest)) => (Some(response), rest),
        None => (text.split([',', ':']).next().and_then(response), text),
    }
}

/// Parses a key of the Responses Object.
fn response(key: &str) -> Option<Response> {
    match key.as_bytes() {
        b"default" => Some(Response::Default),
        [class @ b'1'..=b'5', b'X' | b'x', b'X' | b'x'] => Some(Response::Class(u16::from(class - b'0'))),
        [b'1'..=b'5', _, _] => key.parse().ok().map(Response::Status),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_is_read_from_the_source() {
        let cases = [
            ("a.yaml#/paths/~1x/get/responses/404/description", Some(Response::Status(404))),
            ("a.yaml#/paths/~1x/get/responses/4XX/content", Some(Response::Class(4))),
            ("a.yaml#/paths/~1x/get/responses/default", Some(Response::Default)),
            ("a.yaml#/components/responses/NotFound/description", None),
            ("a.yaml#/components/responses/4é", None),
            ("a.yaml#/paths/~1x/get/description", None),
        ];
        for (source, expected) in cases {
            assert_eq!(response_of(source), expected, "{source}");
        }
    }

    #[test]
    fn the_response_is_read_from_the_label_and_the_label_is_taken_off() {
        let cases = [
            ("404: `E_X`: no such room.", Some(Response::Status(404)), "`E_X`: no such room."),
            ("default: Any error.", Some(Response::Default), "Any error."),
            ("400, for example: {}", Some(Response::Status(400)), "400, for example: {}"),
            ("E_X: no such room.", None, "E_X: no such room."),
            ("404 rooms are free.", None, "404 rooms are free."),
        ];
        for (text, response, rest) in cases {
            assert_eq!(split_label(text), (response, rest), "{text}");
        }
    }

    #[test]
    fn the_stretch_of_an_operation_and_its_names_are_known() {
        let settings = Settings::default();
        let mut builder = Index::builder(&settings);
        let text = |text: &str| DocText { text: text.into(), source: "a".into() };
        builder.add_operation("first", &[text("`E_A`: see `E_B`."), text("Free text.")]);
        builder.add_operation("second", &[text("More.")]);
        let index = builder.build();
        let stretch = |tool: &str| index.places().operation(tool);
        assert_eq!((stretch("first"), stretch("second"), index.len()), (Some(0..2), Some(2..3), 3));
        assert_eq!(index.named("e_a").collect::<Vec<_>>(), [Named { passage: 0, defines: true }]);
        assert_eq!(index.named("e_b").collect::<Vec<_>>(), [Named { passage: 0, defines: false }]);
    }

    #[test]
    fn documentation_beyond_the_bound_is_left_out() {
        let settings = Settings { max_document_chars: 10, passage_chars: 5, ..Settings::default() };
        let mut builder = Index::builder(&settings);
        builder.add_operation("x", &[DocText { text: "x".repeat(1_000), source: String::new() }]);
        assert_eq!(builder.build().places().operation("x"), Some(0..2));
    }
}
