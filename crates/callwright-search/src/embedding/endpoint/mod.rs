//! Models behind an OpenAI-compatible `/v1/embeddings`.

mod client;
mod embedder;
mod refusal;

pub(super) use client::EmbeddingClient;
pub(super) use embedder::EndpointEmbedder;

#[cfg(test)]
mod tests;
