//! Takes the place of `local` in a build without the feature `local-embedding`.

use std::path::Path;

use futures_util::future::BoxFuture;

use super::{BuildError, EmbedError, Embedder, Settings, Vector};

/// This build cannot run embedding models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this build has no ONNX Runtime; use `embedding.kind = \"static\"` or \"endpoint\", or build the program with the \
     feature `local-embedding`"
)]
pub struct RuntimeAbsent;

/// A model that does not exist in this build.
#[derive(Debug)]
pub(super) enum LocalEmbedder {}

impl LocalEmbedder {
    pub(super) fn open(_: &Path, _: Option<&Path>, _: &Settings) -> Result<Self, BuildError> {
        Err(RuntimeAbsent.into())
    }
}

impl Embedder for LocalEmbedder {
    fn id(&self) -> &str {
        match *self {}
    }

    fn dimensions(&self) -> usize {
        match *self {}
    }

    fn embed(&self, _: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        match *self {}
    }
}

pub(super) fn load_runtime(_: Option<&Path>) -> Result<(), RuntimeAbsent> {
    Err(RuntimeAbsent)
}
