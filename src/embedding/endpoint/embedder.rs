//! A model behind an endpoint.

use std::path::Path;

use futures_util::future::BoxFuture;

use super::Client;
use crate::embedding::batches::{Answers, Portion};
use crate::embedding::{BuildError, EmbedError, Embedder, Settings, Vector};
use crate::openai::{embeddings_request, read_embeddings};

/// A model behind an OpenAI-compatible endpoint. Batches are asked for one after the other.
#[derive(Debug)]
pub(in crate::embedding) struct EndpointEmbedder {
    id: String,
    model: String,
    dimensions: usize,
    portion: Portion,
    client: Client,
}

impl EndpointEmbedder {
    /// Nothing is sent yet: the endpoint may come up after the proxy.
    pub(in crate::embedding) fn build(settings: &Settings, base_dir: &Path) -> Result<Self, BuildError> {
        let endpoint = &settings.endpoint;
        if endpoint.dimensions == 0 {
            let reason = "name how many components the model's vectors have".to_owned();
            return Err(BuildError::Setting { key: "embedding.endpoint.dimensions", reason });
        }
        let client = Client::build(endpoint, base_dir)?;
        Ok(Self {
            id: format!("{}@{}/{}", endpoint.model, client.host(), endpoint.dimensions),
            model: endpoint.model.clone(),
            dimensions: endpoint.dimensions,
            portion: Portion::new(settings),
            client,
        })
    }

    async fn vectors(&self, texts: Vec<String>) -> Result<Vec<Vector>, String> {
        let mut answers = Answers::new(texts.len(), self.dimensions);
        for batch in self.portion.batches(texts) {
            let (texts, positions) = batch.into_parts();
            let answer = self.client.ask(embeddings_request(&self.model, &texts)).await?;
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
}

impl Embedder for EndpointEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(
            async move { self.vectors(texts).await.map_err(|reason| EmbedError { model: self.id.clone(), reason }) },
        )
    }
}
