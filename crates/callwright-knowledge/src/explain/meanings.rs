//! Vectors of passages, and their similarity to a failure's message.

use std::sync::Arc;

use callwright_search::embedding::{EmbedError, Embedder, Vector};

/// Vectors of one toolset's passages, in order.
#[derive(Debug)]
pub(super) struct Meanings {
    embedder: Arc<dyn Embedder>,
    vectors: Vec<Vector>,
}

/// Similarity of the passages to a failure's message.
#[derive(Debug, Default)]
pub(super) struct MessageSimilarity {
    cosines: Vec<f32>,
    best: f32,
}

/// Number of passages that are considered for their meaning alone.
const BEST_BY_MEANING: usize = 16;

impl Meanings {
    /// Embeds passages.
    ///
    /// # Errors
    /// Returns [`EmbedError`] if the embedder fails or does not return one vector per text.
    pub(super) async fn of(embedder: &Arc<dyn Embedder>, texts: Vec<String>) -> Result<Self, EmbedError> {
        let count = texts.len();
        let vectors = embedder.embed(texts).await?;
        if vectors.len() == count {
            return Ok(Self { embedder: embedder.clone(), vectors });
        }
        let reason = format!("the embedder returned {} vectors for {count} texts; use another model", vectors.len());
        Err(EmbedError { model: embedder.id().to_owned(), reason })
    }

    /// Returns the similarity of each passage to a text.
    ///
    /// # Errors
    /// Returns [`EmbedError`] if the embedder fails.
    pub(super) async fn closeness(&self, text: &str) -> Result<MessageSimilarity, EmbedError> {
        let asked = self.embedder.embed_query(text.to_owned()).await?;
        let cosine = |vector: &Vector| asked.cosine(vector);
        let cosines: Vec<f32> = self.vectors.iter().map(cosine).collect();
        let best = cosines.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        Ok(MessageSimilarity { cosines, best })
    }
}

impl MessageSimilarity {
    /// Returns the passages with the most similar meaning.
    pub(super) fn best(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cosines.len()).collect();
        let by_cosine = |left: &usize, right: &usize| self.of(*right).total_cmp(&self.of(*left)).then(left.cmp(right));
        if order.len() > BEST_BY_MEANING {
            order.select_nth_unstable_by(BEST_BY_MEANING, by_cosine);
            order.truncate(BEST_BY_MEANING);
        }
        order
    }

    /// Returns the cosine similarity of a passage; 0 without vectors.
    pub(super) fn of(&self, passage: usize) -> f32 {
        self.cosines.get(passage).copied().unwrap_or_default()
    }

    /// Returns the cosine similarity relative to the highest one.
    pub(super) fn relative(&self, passage: usize) -> f32 {
        (self.of(passage) / self.best.max(f32::MIN_POSITIVE)).max(0.0)
    }
}
