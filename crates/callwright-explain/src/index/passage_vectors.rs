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

impl PassageVectors {
    /// Embeds passages.
    ///
    /// # Errors
    /// Returns [`EmbedError`] if the embedder fails.
    pub(crate) async fn embed(embedder: &Arc<dyn Embedder>, texts: Vec<String>) -> Result<Self, EmbedError> {
        let vectors = embedder.embed(texts).await?;
        let (mean, deviation) = spread(&vectors);
        Ok(Self { embedder: embedder.clone(), vectors, mean, deviation })
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
    pub(crate) fn best(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cosines.len()).collect();
        let by_cosine =
            |left: &usize, right: &usize| self.cosine(*right).total_cmp(&self.cosine(*left)).then(left.cmp(right));
        if order.len() > count {
            order.select_nth_unstable_by(count, by_cosine);
            order.truncate(count);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use serde_json::Map;

    use super::*;
    use crate::{Explainer, OperationDocs, Settings};
    use callwright_types::outcome::ApiAnswer;
    use callwright_types::{DocText, OperationRef, Outcome};

    /// Embeds two subjects, each by its words.
    #[derive(Debug, Default)]
    struct Subjects {
        requests: AtomicUsize,
        fails: bool,
    }

    impl Embedder for Subjects {
        fn id(&self) -> &'static str {
            "subjects"
        }

        fn dimensions(&self) -> usize {
            2
        }

        fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let vector = |text: String| {
                let is = |words: [&str; 2]| if words.iter().any(|word| text.contains(word)) { 1.0 } else { 0.1 };
                Vector::new(vec![is(["badge", "token"]), is(["parcel", "package"])]).unwrap()
            };
            let vectors = texts.into_iter().map(vector).collect();
            let error = EmbedError { model: "subjects".into(), reason: "it is away".into() };
            Box::pin(std::future::ready(if self.fails { Err(error) } else { Ok(vectors) }))
        }
    }

    fn docs(toolset: &str) -> OperationDocs {
        let texts = ["Every badge opens doors.", "The parcel is ten kilograms.", "Vans leave at noon."];
        let texts = texts.map(|text| DocText { text: text.into(), source: "source".into() }).to_vec();
        OperationDocs { toolset: toolset.into(), tool: "tool".into(), texts }
    }

    fn settings() -> Settings {
        Settings { min_confidence: 0.0, ..Settings::default() }
    }

    fn built(toolsets: &[&str], settings: &Settings, fails: bool) -> (Explainer, Option<EmbedError>, usize) {
        let subjects = Arc::new(Subjects { fails, ..Subjects::default() });
        let embedder: Arc<dyn Embedder> = subjects.clone();
        let docs = toolsets.iter().map(|toolset| docs(toolset)).collect();
        let mut explainer = Explainer::build(docs, Vec::new(), settings);
        let error = explainer.embed_passages(&embedder).now_or_never().unwrap().err();
        (explainer, error, subjects.requests.load(Ordering::Relaxed))
    }

    /// Returns the passage that explains a message with a word for a parcel that no passage has.
    fn parcel_passage(explainer: &Explainer) -> Option<String> {
        let operation = OperationRef { toolset: "a".into(), tool: "tool".into() };
        let outcome = Outcome::Answered(ApiAnswer::new(400, "heavy package".to_owned()));
        let explanation = explainer.explain(&operation, &outcome, &Map::new()).now_or_never().unwrap();
        explanation.passages.first().map(|passage| passage.text.clone())
    }

    #[test]
    fn a_passage_is_found_by_its_meaning() {
        let (explainer, error, requests) = built(&["a"], &settings(), false);
        assert_eq!((parcel_passage(&explainer).as_deref(), error), (Some("The parcel is ten kilograms."), None));
        assert_eq!(requests, 1, "for all passages");
    }

    #[test]
    fn a_failed_embedder_is_queried_once_and_words_decide() {
        let (explainer, error, requests) = built(&["a", "b"], &settings(), true);
        let by_words = parcel_passage(&Explainer::build(vec![docs("a")], Vec::new(), &settings()));
        assert_eq!((parcel_passage(&explainer), requests), (by_words, 1));
        assert!(error.is_some_and(|error| error.to_string() == "subjects: it is away"));
    }

    #[test]
    fn no_more_texts_are_embedded_than_the_settings_allow() {
        let (explainer, ..) = built(&["a"], &Settings { max_embedded_texts: 1, ..settings() }, false);
        assert_ne!(parcel_passage(&explainer).as_deref(), Some("The parcel is ten kilograms."));
    }
}
