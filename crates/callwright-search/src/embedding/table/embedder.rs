//! Embedder that sums the vectors of a text's tokens.

use std::fmt;
use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;

use super::file::{self, TableRows};
use super::words::PieceVocabulary;
use crate::embedding::{EmbedError, Embedder, Vector};
use callwright_common::text::beginning;

/// The built-in table.
static FILE: &[u8] = include_bytes!("vectors.bin");

/// Parsed once per process, on first use, which takes some milliseconds.
static TABLE: LazyLock<Option<Arc<EmbeddingTable>>> = LazyLock::new(|| EmbeddingTable::parse(FILE).map(Arc::new));

/// Maximum number of bytes of texts that are embedded on the calling thread. More texts, which take milliseconds, are
/// embedded on a thread for blocking work.
const BYTES_AT_ONCE: usize = 128 * 1024;

struct EmbeddingTable {
    id: String,
    rows: TableRows,
    vocabulary: PieceVocabulary,
}

impl EmbeddingTable {
    fn parse(file: &'static [u8]) -> Option<Self> {
        let (rows, words) = file::parse(file)?;
        Some(Self { id: format!("static@{}", rows.hash), rows, vocabulary: PieceVocabulary::new(words.into_iter()) })
    }

    /// Returns the direction of the sum; zero if no word is known.
    fn vector(&self, text: &str) -> Vector {
        let mut sum = vec![0.0; self.rows.dimensions];
        self.vocabulary.tokens(text, |token| self.rows.add(token, &mut sum));
        Vector::new(sum).unwrap_or_else(|| Vector::zero(self.rows.dimensions))
    }
}

/// The built-in model.
#[derive(Clone)]
pub(in crate::embedding) struct TableEmbedder {
    table: Arc<EmbeddingTable>,
    /// Maximum number of characters of a text that are read.
    chars: usize,
}

impl TableEmbedder {
    /// Creates an embedder; `None` if the program was built with an invalid table.
    pub(in crate::embedding) fn new(max_text_chars: usize) -> Option<Self> {
        Some(Self { table: Arc::clone(TABLE.as_ref()?), chars: max_text_chars })
    }

    fn vectors(&self, texts: &[String]) -> Vec<Vector> {
        texts.iter().map(|text| self.table.vector(beginning(text, self.chars))).collect()
    }
}

impl Embedder for TableEmbedder {
    fn is_immediate(&self) -> bool {
        true
    }

    fn id(&self) -> &str {
        &self.table.id
    }

    fn dimensions(&self) -> usize {
        self.table.rows.dimensions
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move {
            if texts.iter().map(String::len).sum::<usize>() <= BYTES_AT_ONCE {
                return Ok(self.vectors(&texts));
            }
            let embedder = self.clone();
            let run = tokio::task::spawn_blocking(move || embedder.vectors(&texts));
            run.await.map_err(|error| EmbedError { model: self.id().to_owned(), reason: error.to_string() })
        })
    }
}

impl fmt::Debug for TableEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableEmbedder").field("id", &self.table.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::SMALL;
    use super::*;

    fn embedder() -> TableEmbedder {
        TableEmbedder::new(8192).unwrap()
    }

    async fn cosine(left: &str, right: &str) -> f32 {
        let vectors = embedder().embed(vec![left.to_owned(), right.to_owned()]).await.unwrap();
        vectors[0].cosine(&vectors[1])
    }

    #[test]
    fn a_text_is_the_direction_of_its_tokens_sum() {
        let table = EmbeddingTable::parse(SMALL).unwrap();
        let components = |text: &str| table.vector(text).components().to_vec();
        assert_eq!(components("get"), [1.0, 0.0]);
        assert_eq!(components("List, GET!"), components("get list"));
        assert_eq!(components("of nothing known"), [0.0, 0.0]);
    }

    #[tokio::test]
    async fn texts_of_one_meaning_are_closer_than_others() {
        for (text, close, far) in [
            ("cancel my subscription", "end a recurring payment plan", "get the weather of a city"),
            ("Retrieve the current weather forecast", "what will the weather be like tomorrow", "list invoices"),
            ("delete a user account", "remove a member", "convert an image to another format"),
        ] {
            let (close, far) = (cosine(text, close).await, cosine(text, far).await);
            assert!(close > far + 0.1, "{text}: {close} {far}");
        }
    }

    #[tokio::test]
    async fn blank_texts_are_similar_to_nothing() {
        for text in ["", " \n", "\u{0}\u{1}", "\u{e000}"] {
            assert!(cosine(text, "list users").await.abs() < 1e-6);
        }
    }

    #[tokio::test]
    async fn texts_have_the_same_vectors_in_a_batch_and_alone() {
        let texts: Vec<String> =
            (0..200).map(|number| format!("text {number} {}", "of many words ".repeat(60))).collect();
        let together = embedder().embed(texts.clone()).await.unwrap();
        for (text, vector) in texts.into_iter().zip(together) {
            assert_eq!(embedder().embed(vec![text]).await.unwrap(), [vector]);
        }
    }
}
