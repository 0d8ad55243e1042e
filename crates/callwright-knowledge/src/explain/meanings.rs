//! The meanings of passages, and how close what a failure says is to each of them.

use std::sync::Arc;

use callwright_search::embedding::{EmbedError, Embedder, Vector};

/// The vectors of one toolset's passages, in their order.
#[derive(Debug)]
pub(super) struct Meanings {
    embedder: Arc<dyn Embedder>,
    vectors: Vec<Vector>,
}

/// How close the passages are to what a failure says.
#[derive(Debug, Default)]
pub(super) struct Closeness {
    cosines: Vec<f32>,
    best: f32,
}

/// Passages that are looked at for their meaning alone.
const BEST_BY_MEANING: usize = 16;

impl Meanings {
    /// Asks for the vectors of passages.
    ///
    /// # Errors
    /// [`EmbedError`] of the embedder, or where it has not one vector for each text.
    pub(super) async fn of(embedder: &Arc<dyn Embedder>, texts: Vec<String>) -> Result<Self, EmbedError> {
        let count = texts.len();
        let vectors = embedder.embed(texts).await?;
        if vectors.len() == count {
            return Ok(Self { embedder: embedder.clone(), vectors });
        }
        let reason = format!("it gave {} vectors for {count} texts; use another model", vectors.len());
        Err(EmbedError { model: embedder.id().to_owned(), reason })
    }

    /// How close each passage is to a text.
    ///
    /// # Errors
    /// [`EmbedError`] of the embedder.
    pub(super) async fn closeness(&self, text: &str) -> Result<Closeness, EmbedError> {
        let asked = self.embedder.embed_query(text.to_owned()).await?;
        let cosine = |vector: &Vector| asked.cosine(vector);
        let cosines: Vec<f32> = self.vectors.iter().map(cosine).collect();
        let best = cosines.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        Ok(Closeness { cosines, best })
    }
}

impl Closeness {
    /// The passages that are worth a look for their meaning.
    pub(super) fn best(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cosines.len()).collect();
        let by_cosine = |left: &usize, right: &usize| self.of(*right).total_cmp(&self.of(*left)).then(left.cmp(right));
        if order.len() > BEST_BY_MEANING {
            order.select_nth_unstable_by(BEST_BY_MEANING, by_cosine);
            order.truncate(BEST_BY_MEANING);
        }
        order
    }

    /// The cosine of a passage; 0 where there are no vectors.
    pub(super) fn of(&self, passage: usize) -> f32 {
        self.cosines.get(passage).copied().unwrap_or_default()
    }

    /// The cosine as a share of the best one.
    pub(super) fn relative(&self, passage: usize) -> f32 {
        (self.of(passage) / self.best.max(f32::MIN_POSITIVE)).max(0.0)
    }
}
