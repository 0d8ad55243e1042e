//! Vectors of passages, and their similarity to a failure's message.

use std::sync::Arc;

use callwright_search::embedding::{EmbedError, Embedder, Vector};

/// Vectors of one toolset's passages, in order.
#[derive(Debug)]
pub(crate) struct PassageVectors {
    embedder: Arc<dyn Embedder>,
    vectors: Vec<Vector>,
    /// Mean and standard deviation of the similarity of passages to one another.
    mean: f32,
    deviation: f32,
}

/// Similarity of the passages to a failure's message.
#[derive(Debug, Default)]
pub(crate) struct MessageSimilarity {
    cosines: Vec<f32>,
    best: f32,
    /// Mean and standard deviation of the similarity of passages to one another.
    mean: f32,
    deviation: f32,
}

/// Number of passages that are considered for their meaning alone.
const BEST_BY_MEANING: usize = 16;

impl PassageVectors {
    /// Embeds passages.
    ///
    /// # Errors
    /// Returns [`EmbedError`] if the embedder fails or does not return one vector per text.
    pub(crate) async fn embed(embedder: &Arc<dyn Embedder>, texts: Vec<String>) -> Result<Self, EmbedError> {
        let count = texts.len();
        let vectors = embedder.embed(texts).await?;
        if vectors.len() == count {
            let (mean, deviation) = spread(&vectors);
            return Ok(Self { embedder: embedder.clone(), vectors, mean, deviation });
        }
        let reason = format!("the embedder returned {} vectors for {count} texts; use another model", vectors.len());
        Err(EmbedError { model: embedder.id().to_owned(), reason })
    }

    /// Returns the similarity of each passage to a text.
    ///
    /// # Errors
    /// Returns [`EmbedError`] if the embedder fails.
    pub(crate) async fn similarity(&self, text: &str) -> Result<MessageSimilarity, EmbedError> {
        let query = self.embedder.embed_query(text.to_owned()).await?;
        let cosines: Vec<f32> = self.vectors.iter().map(|vector| query.cosine(vector)).collect();
        let best = cosines.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        Ok(MessageSimilarity { cosines, best, mean: self.mean, deviation: self.deviation })
    }
}

/// Returns the mean and standard deviation of the similarity of passages, from a sample of pairs.
fn spread(vectors: &[Vector]) -> (f32, f32) {
    let step = (vectors.len() / 2).max(1);
    let cosines: Vec<f32> = (0..vectors.len().min(MAX_PAIRS))
        .filter_map(|at| {
            let at = at * vectors.len() / vectors.len().min(MAX_PAIRS);
            Some(vectors.get(at)?.cosine(vectors.get((at + step) % vectors.len())?))
        })
        .collect();
    let count = cosines.len().max(1) as f32;
    let mean = cosines.iter().sum::<f32>() / count;
    let variance = cosines.iter().map(|cosine| (cosine - mean).powi(2)).sum::<f32>() / count;
    (mean, variance.sqrt())
}

/// Maximum number of pairs of passages from which their mutual similarity is estimated.
const MAX_PAIRS: usize = 1_000;

impl MessageSimilarity {
    /// Returns the passages with the most similar meaning.
    pub(crate) fn best(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cosines.len()).collect();
        let by_cosine =
            |left: &usize, right: &usize| self.cosine(*right).total_cmp(&self.cosine(*left)).then(left.cmp(right));
        if order.len() > BEST_BY_MEANING {
            order.select_nth_unstable_by(BEST_BY_MEANING, by_cosine);
            order.truncate(BEST_BY_MEANING);
        }
        order
    }

    /// Returns the cosine similarity of a passage; 0 without vectors.
    pub(crate) fn cosine(&self, passage: usize) -> f32 {
        self.cosines.get(passage).copied().unwrap_or_default()
    }

    /// Returns by how many standard deviations a passage is more similar to the message than passages are to one another
    /// on average, independent of the model's scale; 0 without vectors.
    pub(crate) fn prominence(&self, passage: usize) -> f32 {
        if self.deviation > f32::EPSILON { (self.cosine(passage) - self.mean) / self.deviation } else { 0.0 }
    }

    /// Whether there are vectors.
    pub(crate) fn is_available(&self) -> bool {
        !self.cosines.is_empty()
    }

    /// Returns the cosine similarity relative to the highest one.
    pub(crate) fn relative(&self, passage: usize) -> f32 {
        (self.cosine(passage) / self.best.max(f32::MIN_POSITIVE)).max(0.0)
    }
}
