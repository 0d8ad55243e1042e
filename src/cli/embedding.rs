//! `--embedding-model`, for the verbs that can use vectors.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::config;
use callwright_search::embedding::{BuildError, Embedder, built_in, open_folder};

/// Where vectors come from.
#[derive(Debug, Args)]
pub(super) struct EmbeddingArguments {
    /// Folder with a local ONNX model (model.onnx, tokenizer.json, ...), to compare texts by their meaning as well; run by the ONNX Runtime
    /// that ORT_DYLIB_PATH names, or that is installed.
    #[arg(long, value_name = "DIR")]
    embedding_model: Option<PathBuf>,
}

impl EmbeddingArguments {
    /// Loads the model that is named, if one is.
    pub(super) fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, BuildError> {
        let onnx_runtime = config::onnx_runtime_path(&config::process_environment);
        self.embedding_model.as_deref().map(|folder| open_folder(folder, &onnx_runtime)).transpose()
    }
}

/// Where vectors come from, for verbs that compare by meaning unless they are told not to.
#[derive(Debug, Args)]
pub(super) struct VectorArguments {
    #[command(flatten)]
    model: EmbeddingArguments,
    /// Compare words alone. Without this and without --embedding-model, texts are compared by the built-in vectors too.
    #[arg(long, conflicts_with = "embedding_model")]
    words_only: bool,
}

impl VectorArguments {
    /// Loads the model that is named, or the one that comes with the program.
    pub(super) fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, BuildError> {
        if self.words_only {
            return Ok(None);
        }
        let built_in = || built_in(&config::Settings::default().embedding);
        self.model.embedder()?.map_or_else(built_in, Ok).map(Some)
    }
}
