//! Text embeddings, and retrieval of tools and passages for a query.
//!
//! Owns embedding models, tokenisation and ranking. Must not depend on the origin of the texts.

pub mod embedding;
pub mod retrieval;
