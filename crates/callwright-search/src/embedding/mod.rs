//! Texts → vectors whose closeness is closeness in meaning.
//!
//! Owns the models of meaning: [`Embedder`] is what the other rooms see of one. Must not know what the texts are, nor what is done with
//! the vectors.

mod batches;
mod build;
mod cache;
mod embedder;
mod endpoint;
mod local;
mod quantised;
mod settings;
mod signs;
mod table;
#[cfg(test)]
mod test_server;
mod vector;

pub use build::{BuildError, build, built_in, find_onnx_runtime, open_folder};
pub use embedder::{EmbedError, Embedder};
pub use local::{DownloadWatcher, RuntimeAbsent};
pub use quantised::{QuantisedQuery, QuantisedVectors};
pub use settings::{EndpointSettings, Kind, LocalSettings, Pooling, Settings};
pub use signs::{SignQuery, SignVectors};
pub use vector::Vector;
