//! Models that run in this process, by ONNX Runtime.

mod folder;
mod model;
mod runtime;

pub use runtime::RuntimeAbsent;

pub(super) use model::LocalEmbedder;

#[cfg(test)]
mod tests;
