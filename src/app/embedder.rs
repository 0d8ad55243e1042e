//! The model of meaning.

use std::path::Path;
use std::sync::Arc;

use crate::embedding::{self, BuildError, Embedder, Settings};

use super::StartError;

/// Loads the model that the settings ask for. Where the machine has no ONNX Runtime the proxy goes on without vectors, and says so: what
/// is configured is right, and everything works by words alone.
pub(super) async fn load(settings: &Settings, base_dir: &Path) -> Result<Option<Arc<dyn Embedder>>, StartError> {
    match embedding::build(settings, base_dir).await {
        Ok(embedder) => {
            if let Some(embedder) = &embedder {
                tracing::info!(
                    model = embedder.id(),
                    dimensions = embedder.dimensions(),
                    "the model of meaning is ready"
                );
            }
            Ok(embedder)
        }
        Err(BuildError::Runtime(absent)) => {
            tracing::warn!(%absent, "going on without vectors");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
