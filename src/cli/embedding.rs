//! `--embedding-model`, for subcommands that can use embedding vectors.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::config;
use callwright_search::embedding::{BuildError, Embedder, built_in, open_folder};

/// Source of embedding vectors.
#[derive(Debug, Args)]
pub(super) struct EmbeddingArguments {
    /// Folder with a local ONNX embedding model (model.onnx, tokenizer.json, ...) for semantic comparison. It needs the
    /// ONNX Runtime that ORT_DYLIB_PATH names, or an installed one.
    #[arg(long, value_name = "DIR")]
    embedding_model: Option<PathBuf>,
}

impl EmbeddingArguments {
    /// Loads the model, if one is named.
    pub(super) fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, BuildError> {
        let onnx_runtime = config::onnx_runtime_path(&config::process_environment);
        self.embedding_model.as_deref().map(|folder| open_folder(folder, &onnx_runtime)).transpose()
    }
}

/// Source of embedding vectors, for subcommands that use them by default.
#[derive(Debug, Args)]
pub(super) struct VectorArguments {
    #[command(flatten)]
    model: EmbeddingArguments,
    /// Compare keywords only. Default without this and --embedding-model: the built-in vectors are used, too.
    #[arg(long, conflicts_with = "embedding_model")]
    words_only: bool,
}

impl VectorArguments {
    /// Loads the named model, or the built-in one.
    pub(super) fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, BuildError> {
        if self.words_only {
            return Ok(None);
        }
        let built_in = || built_in(&config::Settings::default().embedding);
        self.model.embedder()?.map_or_else(built_in, Ok).map(Some)
    }
}
