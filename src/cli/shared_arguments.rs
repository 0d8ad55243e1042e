//! Arguments that several subcommands have: output format, model, and source of embedding vectors.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::setup::load_config;
use crate::config;
use crate::keys::PriceSettings;
use callwright_search::embedding::{self, Embedder, built_in, open_endpoint, open_folder};
use callwright_store::MemoryStatus;
use callwright_upstream::{MoneyLimit, Patience, RequestBudget, RequestLimits, TextModel, Upstream, Upstreams};

/// Output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// Text for people.
    #[default]
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
    /// Maximum cost of the run, by the model's `[prices]` in the configuration. The run stops before a request that could
    /// exceed it; the same command with a higher one continues.
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    budget: Option<f64>,
    /// Maximum number of requests to the model. The run stops there; the same command with a higher one continues.
    #[arg(long, value_name = "N")]
    max_requests: Option<u64>,
}

/// Number of attempts per request when the model's provider is busy, and the longest wait between them.
const PATIENCE: Patience = Patience { tries: 4, max_wait: Duration::from_secs(60) };

/// Parses an amount of money.
fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount >= 0.0 => Ok(amount),
        _ => Err("expected an amount of money, 0 or more".to_owned()),
    }
}

impl ModelArguments {
    /// Returns the model of this name at the named upstream, or at the default one, with a budget of its own.
    pub(super) fn text_model(&self, name: &str) -> Result<TextModel, Box<dyn Error + Send + Sync>> {
        let settings = load_config(self.config.clone())?.settings;
        let price = settings.prices.get(name).copied();
        let money = match (self.budget, price) {
            (None, _) => None,
            (Some(amount), Some(PriceSettings { prompt, completion, .. })) => {
                Some(MoneyLimit { amount, prompt, completion })
            }
            (Some(_), None) => {
                return Err(format!(
                    "--budget: the configuration has no price of `{name}`; add [prices.\"{name}\"], or use --max-requests"
                )
                .into());
            }
        };
        let limits = RequestLimits {
            requests: self.max_requests.unwrap_or(u64::MAX),
            tokens: u64::MAX,
            money,
            is_daily: false,
            ..settings.own_requests.into()
        };
        let budget = Arc::new(RequestBudget::new(limits));
        Ok(TextModel::new(self.upstream(&settings)?, name, PATIENCE, budget))
    }

    /// Returns the named upstream, or the default one.
    fn upstream(&self, settings: &config::Settings) -> Result<Arc<Upstream>, Box<dyn Error + Send + Sync>> {
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
    /// Source of the vectors by which texts are compared besides their words: `static`, the built-in table; `none`;
    /// `endpoint`, the API of `[embedding.endpoint]` in the configuration; or a folder with a local ONNX model
    /// (model.onnx, tokenizer.json, ...), which needs the ONNX Runtime that ORT_DYLIB_PATH names, or an installed one.
    #[arg(long, value_name = "SOURCE", default_value = "static", value_parser = PathBufValueParser::new().map(source))]
    embedding: EmbeddingSource,
}

/// Source of embedding vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EmbeddingSource {
    /// No vectors.
    None,
    /// The built-in table.
    Static,
    /// The OpenAI-compatible API of `[embedding.endpoint]`.
    Endpoint,
    /// A folder with a local ONNX model.
    Folder(PathBuf),
}

fn source(written: PathBuf) -> EmbeddingSource {
    match written.to_str() {
        Some("none") => EmbeddingSource::None,
        Some("static") => EmbeddingSource::Static,
        Some("endpoint") => EmbeddingSource::Endpoint,
        _ => EmbeddingSource::Folder(written),
    }
}

impl EmbeddingArguments {
    /// Loads the model; `None` if texts are compared by words only. The endpoint is that of a configuration file, by
    /// default of the one that `serve` finds.
    pub(super) fn embedder(
        &self,
        config: Option<&PathBuf>,
    ) -> Result<Option<Arc<dyn Embedder>>, Box<dyn Error + Send + Sync>> {
        Ok(Some(match &self.embedding {
            EmbeddingSource::None => return Ok(None),
            EmbeddingSource::Static => built_in(&embedding::Settings::default())?,
            EmbeddingSource::Endpoint => {
                let loaded = load_config(config.cloned())?;
                open_endpoint(&loaded.settings.embedding, &loaded.base_dir)?
            }
            EmbeddingSource::Folder(folder) => {
                open_folder(folder, &config::onnx_runtime_path(&config::process_environment))?
            }
        }))
    }
}
