//! Text embeddings: vectors whose similarity is similarity in meaning.
//!
//! Owns the embedding models; other modules use them as [`Embedder`]. Must not depend on the origin of the texts or the
//! use of the vectors.

mod batches;
mod build;
mod cache;
mod embedder;
mod endpoint;
#[cfg(feature = "local-embedding")]
mod local;
#[cfg(not(feature = "local-embedding"))]
#[path = "no_local.rs"]
mod local;
mod quantised;
mod settings;
mod signs;
mod table;
#[cfg(test)]
mod test_server;
mod vector;

pub use build::{build, built_in, find_onnx_runtime, open_endpoint, open_folder};
pub use embedder::{BuildError, EmbedError, Embedder};
pub use local::RuntimeAbsent;
pub use quantised::{QuantisedQuery, QuantisedVectors};
pub use settings::{EndpointSettings, Kind, LocalSettings, Pooling, Settings};
pub use signs::{SignQuery, SignVectors};
pub use vector::{Vector, dot};
