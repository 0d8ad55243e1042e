//! Texts → vectors whose closeness is closeness in meaning.
//!
//! Owns the models of meaning: [`Embedder`] is what the other rooms see of one. Must not know what the texts are, nor what is done with
//! the vectors.

mod embedder;
mod vector;

pub use embedder::{EmbedError, Embedder};
pub use vector::Vector;
