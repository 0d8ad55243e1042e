//! Models that run in this process, by ONNX Runtime.

mod folder;
mod hub;
mod model;
mod runtime;

pub use hub::DownloadWatcher;
pub use runtime::RuntimeAbsent;

pub(super) use hub::fetch;
pub(super) use model::LocalEmbedder;

#[cfg(test)]
mod tests;
