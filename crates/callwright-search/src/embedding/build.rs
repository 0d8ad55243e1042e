//! From settings to an embedder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cache::CachedEmbedder;
use super::endpoint::EndpointEmbedder;
use super::local::{DownloadWatcher, LocalEmbedder, RuntimeAbsent, fetch, load_runtime};
use super::table::TableEmbedder;
use super::{Embedder, Kind, LocalSettings, Settings};
use callwright_store::Vectors;

/// Why there is no embedder. Each message names the key or file, and what mends it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// ONNX Runtime is absent: nothing is wrong with what is configured, the machine lacks a library.
    #[error(transparent)]
    Runtime(#[from] RuntimeAbsent),
    /// A setting is missing or makes no sense.
    #[error("`{key}`: {reason}")]
    Setting {
        /// The key's full path.
        key: &'static str,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// A file of a model cannot be read.
    #[error("{}: {reason}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// The files of a model can be read, and make no model of texts.
    #[error("{}: {reason}", folder.display())]
    Model {
        /// The model's folder.
        folder: PathBuf,
        /// What is wrong and how to mend it.
        reason: String,
    },
    /// A hub does not give a file, whatever the reason: it may give it another day, or to somebody else.
    #[error("{url}: {reason}")]
    Download {
        /// The file's address.
        url: String,
        /// What is wrong and what does without.
        reason: String,
    },
    /// Loading was broken off.
    #[error("loading the model of meaning broke off: {0}")]
    BrokenOff(String),
}

impl BuildError {
    /// Is nothing wrong with the settings, so that the same ones may do on another machine or another day?
    pub fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Runtime(_) | Self::Download { .. })
    }
}

/// The embedder that the settings ask for; `None` for [`Kind::None`]. What it makes is kept in the store. Needs a Tokio runtime. Relative paths start at `base_dir`.
///
/// # Errors
/// [`BuildError`]. Where it [is of the machine](BuildError::is_of_the_machine), whoever asks may go on without.
pub async fn build(
    settings: &Settings,
    base_dir: &Path,
    store: Arc<dyn Vectors>,
    downloads: &dyn DownloadWatcher,
) -> Result<Option<Arc<dyn Embedder>>, BuildError> {
    let model: Arc<dyn Embedder> = match settings.kind {
        Kind::None => return Ok(None),
        // It is made faster than it is looked up.
        Kind::Static => return built_in(settings).map(Some),
        Kind::Fastembed => local(settings.clone(), base_dir.to_owned(), downloads).await?,
        Kind::Endpoint => Arc::new(EndpointEmbedder::build(settings, base_dir)?),
    };
    if !settings.cache {
        return Ok(Some(model));
    }
    Ok(Some(Arc::new(CachedEmbedder::new(model, store, settings.max_text_chars))))
}

/// The model that comes with the program.
///
/// # Errors
/// [`BuildError::BrokenOff`] where the program was built with a damaged one.
pub fn built_in(settings: &Settings) -> Result<Arc<dyn Embedder>, BuildError> {
    let table = TableEmbedder::new(settings.max_text_chars);
    Ok(Arc::new(
        table.ok_or_else(|| BuildError::BrokenOff("the program's own table is damaged; build it again".to_owned()))?,
    ))
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

/// The embedder of the model in `folder`, with the default settings but for ONNX Runtime's library file (empty: the usual places): what
/// verbs of the command line use. It takes some seconds.
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

/// Looks for ONNX Runtime as the local model does, without loading a model.
///
/// # Errors
/// [`RuntimeAbsent`], which says what was tried.
pub fn find_onnx_runtime(settings: &LocalSettings, base_dir: &Path) -> Result<(), RuntimeAbsent> {
    load_runtime(runtime_path(&settings.onnx_runtime, base_dir).as_deref())
}

/// A bare file name is left to the system's loader, which looks where it looks for every library.
fn runtime_path(written: &str, base_dir: &Path) -> Option<PathBuf> {
    let path = Path::new(written);
    match path.components().count() {
        0 => None,
        1 => Some(path.to_owned()),
        _ => Some(base_dir.join(path)),
    }
}
