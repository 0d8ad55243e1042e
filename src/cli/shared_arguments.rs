//! Arguments that several subcommands have: output format, model, and source of embedding vectors.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::setup::load_config;
use crate::config;
use callwright_search::embedding::{Embedder, built_in, open_endpoint, open_folder};
use callwright_store::MemoryStatus;
use callwright_upstream::{Upstream, Upstreams};

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}

/// Status of what was learned, as a filter of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LearnedStatus {
    /// In use.
    Active,
    /// No longer in use.
    Retired,
}

impl From<LearnedStatus> for MemoryStatus {
    fn from(status: LearnedStatus) -> Self {
        match status {
            LearnedStatus::Active => Self::Active,
            LearnedStatus::Retired => Self::Retired,
        }
    }
}

/// Returns the name of a value on the command line, which the operator side uses too.
pub(super) fn value_name(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Arguments that select the model and its upstream.
#[derive(Debug, Args)]
pub(super) struct ModelArguments {
    /// Model name as the provider spells it.
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// Configuration file with the model's upstream and, where one is used, the store. Default: as `serve` finds it;
    /// without a file, CALLWRIGHT_UPSTREAM_URL (otherwise OPENAI_BASE_URL) and OPENAI_API_KEY apply.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Upstream of the configuration to query. Default: the default upstream.
    #[arg(long, value_name = "NAME")]
    upstream: Option<String>,
}

impl ModelArguments {
    /// Returns the named upstream, or the default one.
    pub(super) fn upstream(&self) -> Result<Arc<Upstream>, Box<dyn Error + Send + Sync>> {
        let settings = load_config(self.config.clone())?.settings;
        let upstreams = Upstreams::build(&settings.upstreams, &settings.default_upstream)?;
        let upstream = match &self.upstream {
            None => upstreams.default_upstream(),
            Some(name) => upstreams.get(name).ok_or_else(|| {
                let known: Vec<&str> = upstreams.iter().map(|upstream| upstream.name()).collect();
                format!("--upstream: the configuration has no upstream `{name}`; known upstreams: {}", known.join(", "))
            })?,
        };
        Ok(Arc::clone(upstream))
    }
}

/// Source of embedding vectors.
#[derive(Debug, Args)]
pub(super) struct EmbeddingArguments {
    /// Folder with a local ONNX embedding model (model.onnx, tokenizer.json, ...) for semantic comparison. It needs the
    /// ONNX Runtime that ORT_DYLIB_PATH names, or an installed one.
    #[arg(long, value_name = "DIR")]
    embedding_model: Option<PathBuf>,
    /// Source of the vectors instead of a folder: the endpoint of the configuration file, `[embedding.endpoint]`.
    #[arg(long, value_enum, value_name = "SOURCE", conflicts_with = "embedding_model")]
    embedding: Option<EmbeddingSource>,
}

/// Source of embedding vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EmbeddingSource {
    /// The OpenAI-compatible API of `[embedding.endpoint]`.
    Endpoint,
}

impl EmbeddingArguments {
    /// Loads the model, if one is named. The endpoint is that of the configuration that `serve` finds.
    pub(super) fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, Box<dyn Error + Send + Sync>> {
        self.embedder_of(None)
    }

    /// Loads the model, if one is named. The endpoint is that of a configuration file.
    pub(super) fn embedder_of(
        &self,
        config: Option<&PathBuf>,
    ) -> Result<Option<Arc<dyn Embedder>>, Box<dyn Error + Send + Sync>> {
        if self.embedding == Some(EmbeddingSource::Endpoint) {
            let loaded = load_config(config.cloned())?;
            return Ok(Some(open_endpoint(&loaded.settings.embedding, &loaded.base_dir)?));
        }
        let onnx_runtime = config::onnx_runtime_path(&config::process_environment);
        Ok(self.embedding_model.as_deref().map(|folder| open_folder(folder, &onnx_runtime)).transpose()?)
    }
}

/// Source of embedding vectors, for subcommands that use them by default.
#[derive(Debug, Args)]
pub(super) struct VectorArguments {
    #[command(flatten)]
    model: EmbeddingArguments,
    /// Compare keywords only. Default without this and --embedding-model: the built-in vectors are used, too.
    #[arg(long, conflicts_with_all = ["embedding_model", "embedding"])]
    words_only: bool,
}

impl VectorArguments {
    /// Loads the named model, or the built-in one.
    pub(super) fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, Box<dyn Error + Send + Sync>> {
        if self.words_only {
            return Ok(None);
        }
        match self.model.embedder()? {
            Some(embedder) => Ok(Some(embedder)),
            None => Ok(Some(built_in(&config::Settings::default().embedding)?)),
        }
    }
}
