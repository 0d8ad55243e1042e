//! Embedder for a model behind an endpoint.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use futures_util::future::BoxFuture;

use super::EmbeddingClient;
use super::refusal::EmbeddingFailure;
use crate::embedding::batches::{EmbeddedTexts, Portion, TextBatch};
use crate::embedding::{BuildError, EmbedError, Embedder, Settings, Vector};
use callwright_wire::{embeddings_request, read_embeddings};

/// A model behind an OpenAI-compatible endpoint. Batches are requested sequentially.
#[derive(Debug)]
pub(in crate::embedding) struct EndpointEmbedder {
    id: String,
    model: String,
    dimensions: usize,
    portion: Portion,
    client: EmbeddingClient,
    query_timeout: Duration,
    pause: Pause,
}

impl EndpointEmbedder {
    /// Builds the embedder without sending a request: the endpoint may start after the proxy.
    pub(in crate::embedding) fn build(settings: &Settings, base_dir: &Path) -> Result<Self, BuildError> {
        let endpoint = &settings.endpoint;
        if endpoint.dimensions == 0 {
            let reason = "set it to the number of components of the model's vectors";
            return Err(BuildError::setting("embedding.endpoint.dimensions", reason));
        }
        let client = EmbeddingClient::build(endpoint, base_dir)?;
        Ok(Self {
            id: format!("{}@{}#{}", endpoint.model, client.url(), endpoint.dimensions),
            model: endpoint.model.clone(),
            dimensions: endpoint.dimensions,
            portion: Portion::new(settings),
            client,
            query_timeout: Duration::from_secs(endpoint.query_timeout_seconds),
            pause: Pause::new(Duration::from_secs(endpoint.pause_seconds)),
        })
    }

    async fn vectors(&self, texts: Vec<String>) -> Result<Vec<Vector>, String> {
        let mut answers = EmbeddedTexts::new(texts.len(), self.dimensions);
        for TextBatch { texts, positions } in self.portion.batches(texts) {
            let answer = self.client.send(embeddings_request(&self.model, &texts)).await;
            self.pause.note(&answer, Instant::now());
            let answer = answer.map_err(|failure| failure.reason)?;
            let rows = read_embeddings(&answer, texts.len()).map_err(|error| error.message)?;
            if let Some(row) = rows.iter().find(|row| row.len() != self.dimensions) {
                return Err(format!(
                    "the model's vectors have {} components; set `embedding.endpoint.dimensions` to that (it is {})",
                    row.len(),
                    self.dimensions
                ));
            }
            answers.put(&positions, rows)?;
        }
        Ok(answers.finish())
    }

    /// Returns the vector of a text that a request waits for. It uses a short timeout, and fails at once during the
    /// pause after a failure.
    async fn query(&self, text: String) -> Result<Vector, String> {
        if let Some(reason) = self.pause.reason(Instant::now()) {
            return Err(format!("no request within `embedding.endpoint.pause_seconds` of a failure: {reason}"));
        }
        let Ok(vectors) = tokio::time::timeout(self.query_timeout, self.vectors(vec![text])).await else {
            let host = self.client.host();
            let reason = format!("{host} did not answer within `embedding.endpoint.query_timeout_seconds`");
            self.pause.note::<()>(&Err(EmbeddingFailure::lasting(reason.clone())), Instant::now());
            return Err(reason);
        };
        Ok(vectors?.pop().unwrap_or_else(|| Vector::zero(self.dimensions)))
    }

    fn error(&self, reason: String) -> EmbedError {
        EmbedError { model: self.id.clone(), reason }
    }
}

impl Embedder for EndpointEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move { self.vectors(texts).await.map_err(|reason| self.error(reason)) })
    }

    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vector, EmbedError>> {
        Box::pin(async move { self.query(text).await.map_err(|reason| self.error(reason)) })
    }
}

/// A pause that starts with a failure and ends with a success.
#[derive(Debug)]
pub(super) struct Pause {
    length: Duration,
    began: ArcSwapOption<PauseStart>,
}

/// Start and reason of a pause.
#[derive(Debug)]
struct PauseStart {
    at: Instant,
    reason: String,
}

impl Pause {
    /// Creates a pause of this length; zero disables it.
    pub(super) fn new(length: Duration) -> Self {
        Self { length, began: ArcSwapOption::empty() }
    }

    /// Returns the reason of the current pause, if there is one.
    pub(super) fn reason(&self, now: Instant) -> Option<String> {
        let began = self.began.load();
        let began = began.as_ref().filter(|began| now.saturating_duration_since(began.at) < self.length)?;
        Some(began.reason.clone())
    }

    /// Records the result of a request.
    pub(super) fn note<T>(&self, result: &Result<T, EmbeddingFailure>, now: Instant) {
        match result {
            Ok(_) => self.began.store(None),
            Err(failure) if failure.lasts => {
                self.began.store(Some(Arc::new(PauseStart { at: now, reason: failure.reason.clone() })));
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_until_its_time_is_over_or_a_request_succeeds() {
        let pause = Pause::new(Duration::from_secs(30));
        let start = Instant::now();
        let reason = |seconds| pause.reason(start + Duration::from_secs(seconds));
        assert_eq!(reason(0), None);
        pause.note::<()>(&Err(EmbeddingFailure::passing("these texts".to_owned())), start);
        assert_eq!(reason(0), None);
        pause.note::<()>(&Err(EmbeddingFailure::lasting("down".to_owned())), start);
        assert_eq!((reason(29), reason(30)), (Some("down".to_owned()), None));
        pause.note(&Ok(()), start);
        assert_eq!(reason(0), None);
    }

    #[test]
    fn there_may_be_no_pause_at_all() {
        let pause = Pause::new(Duration::ZERO);
        let now = Instant::now();
        pause.note::<()>(&Err(EmbeddingFailure::lasting("down".to_owned())), now);
        assert_eq!(pause.reason(now), None);
    }
}
