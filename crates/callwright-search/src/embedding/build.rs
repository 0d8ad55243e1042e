//! Construction of an embedder from settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cache::CachedEmbedder;
use super::endpoint::EndpointEmbedder;
use super::local::{LocalEmbedder, RuntimeAbsent, load_runtime};
use super::table::TableEmbedder;
use super::{BuildError, Embedder, Kind, LocalSettings, Settings};
use callwright_store::Vectors;

/// Builds the embedder that the settings require; `None` for [`Kind::None`]. Its vectors are cached in the store.
/// Requires a Tokio runtime. Relative paths start at `base_dir`.
///
/// # Errors
/// [`BuildError`]. If it is [`BuildError::Runtime`], the caller may continue with another embedder.
pub async fn build(
    settings: &Settings,
    base_dir: &Path,
    store: Arc<dyn Vectors>,
) -> Result<Option<Arc<dyn Embedder>>, BuildError> {
    let model: Arc<dyn Embedder> = match settings.kind {
        Kind::None => return Ok(None),
        // Computing the vector is faster than a cache lookup.
        Kind::Static => return built_in(settings).map(Some),
        Kind::Fastembed => local(settings.clone(), base_dir.to_owned()).await?,
        Kind::Endpoint => Arc::new(EndpointEmbedder::build(settings, base_dir)?),
    };
    if !settings.cache {
        return Ok(Some(model));
    }
    Ok(Some(Arc::new(CachedEmbedder::new(model, store, settings.max_text_chars))))
}

/// Returns the built-in model.
///
/// # Errors
/// [`BuildError`] if the program was built with a damaged table.
pub fn built_in(settings: &Settings) -> Result<Arc<dyn Embedder>, BuildError> {
    let table = TableEmbedder::new(settings.max_text_chars);
    Ok(Arc::new(table.ok_or_else(|| BuildError::aborted("the built-in vector table is damaged; rebuild the program"))?))
}

async fn local(settings: Settings, base_dir: PathBuf) -> Result<Arc<dyn Embedder>, BuildError> {
    if settings.fastembed.folder.is_empty() {
        let reason = "set the folder of a model: model.onnx and the four JSON files published with it";
        return Err(BuildError::setting("embedding.fastembed.folder", reason));
    }
    let folder = base_dir.join(&settings.fastembed.folder);
    let opening = tokio::task::spawn_blocking(move || {
        let onnx_runtime = runtime_path(&settings.fastembed.onnx_runtime, &base_dir);
        LocalEmbedder::open(&folder, onnx_runtime.as_deref(), &settings)
    });
    Ok(Arc::new(opening.await.map_err(BuildError::aborted)??))
}

/// Opens the model in `folder` with default settings except for the library file of ONNX Runtime (empty: the usual
/// folders). Used by the command line. It takes some seconds.
pub fn open_folder(folder: &Path, onnx_runtime: &str) -> Result<Arc<dyn Embedder>, BuildError> {
    let settings = Settings {
        fastembed: LocalSettings { onnx_runtime: onnx_runtime.to_owned(), ..LocalSettings::default() },
        ..Settings::default()
    };
    let onnx_runtime = runtime_path(onnx_runtime, Path::new("."));
    Ok(Arc::new(LocalEmbedder::open(folder, onnx_runtime.as_deref(), &settings)?))
}

/// Opens the model behind the endpoint of the settings, without a cache. Used by the command line.
pub fn open_endpoint(settings: &Settings, base_dir: &Path) -> Result<Arc<dyn Embedder>, BuildError> {
    Ok(Arc::new(EndpointEmbedder::build(settings, base_dir)?))
}

/// Searches for ONNX Runtime like the local model does, without loading a model.
///
/// # Errors
/// [`RuntimeAbsent`], which lists the paths tried.
pub fn find_onnx_runtime(settings: &LocalSettings, base_dir: &Path) -> Result<(), RuntimeAbsent> {
    load_runtime(runtime_path(&settings.onnx_runtime, base_dir).as_deref())
}

/// Returns the path of the library. A bare file name is resolved by the system's loader.
fn runtime_path(written: &str, base_dir: &Path) -> Option<PathBuf> {
    let path = Path::new(written);
    match path.components().count() {
        0 => None,
        1 => Some(path.to_owned()),
        _ => Some(base_dir.join(path)),
    }
}
