//! Loading of the embedding model.

use std::path::Path;
use std::sync::Arc;

use callwright_search::embedding::{self, DownloadWatcher, Embedder, Settings};
use callwright_store::Store;

use super::StartError;

/// Loads the configured embedding model. Falls back to the built-in model, with a warning, where the machine has no
/// ONNX Runtime or the hub does not serve the model: the configuration itself is valid.
pub(super) async fn load(
    settings: &Settings,
    base_dir: &Path,
    store: Arc<Store>,
    downloads: &dyn DownloadWatcher,
) -> Result<Option<Arc<dyn Embedder>>, StartError> {
    match embedding::build(settings, base_dir, store, downloads).await {
        Ok(embedder) => {
            if let Some(embedder) = &embedder {
                tracing::info!(model = embedder.id(), dimensions = embedder.dimensions(), "embedding model loaded");
            }
            Ok(embedder)
        }
        Err(error) if error.is_of_the_machine() => {
            tracing::warn!(%error, "falling back to the built-in embedding model");
            Ok(Some(embedding::built_in(settings)?))
        }
        Err(error) => Err(error.into()),
    }
}

/// Download watcher that shows nothing.
pub(super) struct UnwatchedDownload;

impl DownloadWatcher for UnwatchedDownload {
    fn begins(&self, _: &str, _: Option<u64>) {}

    fn advances(&self, _: u64) {}

    fn ends(&self) {}
}
