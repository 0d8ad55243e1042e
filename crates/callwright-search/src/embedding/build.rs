//! Construction of an embedder from settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cache::CachedEmbedder;
use super::endpoint::EndpointEmbedder;
use super::local::{DownloadWatcher, LocalEmbedder, RuntimeAbsent, fetch, load_runtime};
use super::table::TableEmbedder;
use super::{Embedder, Kind, LocalSettings, Settings};
use callwright_store::Vectors;

/// Reason why there is no embedder. Each message names the key or file, and the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// ONNX Runtime is missing: the configuration is valid, but the machine lacks the library.
    #[error(transparent)]
    Runtime(#[from] RuntimeAbsent),
    /// A setting is missing or invalid.
    #[error("`{key}`: {reason}")]
    Setting {
        /// Full path of the key.
        key: &'static str,
        /// Description of the problem and its fix.
        reason: String,
    },
    /// A file of a model cannot be read.
    #[error("{}: {reason}", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Description of the problem and its fix.
        reason: String,
    },
    /// The files of a model are readable but do not form a text model.
    #[error("{}: {reason}", folder.display())]
    Model {
        /// Path of the model's folder.
        folder: PathBuf,
        /// Description of the problem and its fix.
        reason: String,
    },
    /// The hub does not provide a file. The cause may be temporary or depend on the machine.
    #[error("{url}: {reason}")]
    Download {
        /// Address of the file.
        url: String,
        /// Description of the problem and an alternative.
        reason: String,
    },
    /// Loading was aborted.
    #[error("loading the embedding model failed: {0}")]
    BrokenOff(String),
}

impl BuildError {
    /// Whether the cause is the machine or a temporary condition, and not the settings.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Runtime(_) | Self::Download { .. })
    }
}

/// Builds the embedder that the settings require; `None` for [`Kind::None`]. Its vectors are cached in the store.
/// Requires a Tokio runtime. Relative paths start at `base_dir`.
///
/// # Errors
/// [`BuildError`]. If it [is of the machine](BuildError::is_of_the_machine), the caller may continue without an
/// embedder.
pub async fn build(
    settings: &Settings,
    base_dir: &Path,
    store: Arc<dyn Vectors>,
    downloads: &dyn DownloadWatcher,
) -> Result<Option<Arc<dyn Embedder>>, BuildError> {
    let model: Arc<dyn Embedder> = match settings.kind {
        Kind::None => return Ok(None),
        // Computing the vector is faster than a cache look-up.
        Kind::Static => return built_in(settings).map(Some),
        Kind::Fastembed => local(settings.clone(), base_dir.to_owned(), downloads).await?,
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
/// [`BuildError::BrokenOff`] if the program was built with a damaged table.
pub fn built_in(settings: &Settings) -> Result<Arc<dyn Embedder>, BuildError> {
    let table = TableEmbedder::new(settings.max_text_chars);
    Ok(Arc::new(table.ok_or_else(|| {
        BuildError::BrokenOff("the built-in vector table is damaged; rebuild the program".to_owned())
    })?))
}

async fn local(
    mut settings: Settings,
    base_dir: PathBuf,
    downloads: &dyn DownloadWatcher,
) -> Result<Arc<dyn Embedder>, BuildError> {
    let folder = if settings.fastembed.folder.is_empty() {
        let (folder, pooling) = fetch(&settings.fastembed, &base_dir, downloads).await?;
        settings.fastembed.pooling = pooling.unwrap_or(settings.fastembed.pooling);
        folder
    } else {
        base_dir.join(&settings.fastembed.folder)
    };
    let open = move || {
        let onnx_runtime = runtime_path(&settings.fastembed.onnx_runtime, &base_dir);
        LocalEmbedder::open(&folder, onnx_runtime.as_deref(), &settings)
    };
    let opened = tokio::task::spawn_blocking(open).await.map_err(|error| BuildError::BrokenOff(error.to_string()))?;
    Ok(Arc::new(opened?))
}

/// Opens the model in `folder` with default settings except for the library file of ONNX Runtime (empty: the usual
/// places). Used by the command line. It takes some seconds.
///
/// # Errors
/// [`BuildError`].
pub fn open_folder(folder: &Path, onnx_runtime: &str) -> Result<Arc<dyn Embedder>, BuildError> {
    let settings = Settings {
        fastembed: LocalSettings { onnx_runtime: onnx_runtime.to_owned(), ..LocalSettings::default() },
        ..Settings::default()
    };
    let onnx_runtime = runtime_path(onnx_runtime, Path::new("."));
    Ok(Arc::new(LocalEmbedder::open(folder, onnx_runtime.as_deref(), &settings)?))
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
