//! Texts → vectors whose closeness is closeness in meaning.
//!
//! Owns the models of meaning: [`Embedder`] is what the other rooms see of one. Must not know what the texts are, nor what is done with
//! the vectors.

mod batches;
mod build;
mod embedder;
mod local;
mod settings;
mod vector;

pub use build::{BuildError, build, open_folder};
pub use embedder::{EmbedError, Embedder};
pub use local::RuntimeAbsent;
pub use settings::{Kind, LocalSettings, Pooling, Settings};
pub use vector::Vector;
