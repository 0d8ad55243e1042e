//! Models that run in this process with ONNX Runtime.

mod folder;
mod model;
mod runtime;

pub use runtime::RuntimeAbsent;

pub(super) use model::LocalEmbedder;
pub(super) use runtime::load as load_runtime;

#[cfg(test)]
mod tests;
