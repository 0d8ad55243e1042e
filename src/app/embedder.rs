//! The model of meaning.

use std::path::Path;
use std::sync::Arc;

use callwright_search::embedding::{self, DownloadWatcher, Embedder, Settings};
use callwright_store::Store;

use super::StartError;

/// Loads the model that the settings ask for. Where the machine has no ONNX Runtime, or the hub gives no model, the proxy goes on with the
/// built-in one and says so: what is configured is right.
pub(super) async fn load(
    settings: &Settings,
    base_dir: &Path,
    store: Arc<Store>,
    downloads: &dyn DownloadWatcher,
) -> Result<Option<Arc<dyn Embedder>>, StartError> {
    match embedding::build(settings, base_dir, store, downloads).await {
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
        Err(error) if error.is_of_the_machine() => {
            tracing::warn!(%error, "going on with the built-in model of meaning");
            Ok(Some(embedding::built_in(settings)?))
        }
        Err(error) => Err(error.into()),
    }
}

/// For whoever looks on nobody's behalf.
pub(super) struct Unwatched;

impl DownloadWatcher for Unwatched {
    fn begins(&self, _: &str, _: Option<u64>) {}

    fn advances(&self, _: u64) {}

    fn ends(&self) {}
}
