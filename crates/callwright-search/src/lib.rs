//! Text embeddings, and retrieval of the tools and passages that fit a query.

pub mod embedding;
pub mod retrieval;
