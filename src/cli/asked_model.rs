//! The upstream whose model a verb asks.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::config::{self, process_environment};
use callwright_upstream::{Upstream, Upstreams};

/// Which model is asked, and where.
#[derive(Debug, Args)]
pub(super) struct ModelArguments {
    /// The model, as its provider calls it.
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// Configuration file with the model's upstream, and the store where one is used. Without it, as `serve` finds it; without any, OPENAI_BASE_URL and OPENAI_API_KEY hold.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Upstream of the configuration that is asked. Without it: the default one.
    #[arg(long, value_name = "NAME")]
    upstream: Option<String>,
}

impl ModelArguments {
    /// The upstream that is named, or the default one.
    pub(super) fn upstream(&self) -> Result<Arc<Upstream>, Box<dyn Error + Send + Sync>> {
        let request = config::Request { file: self.config.clone(), ..config::Request::default() };
        let settings = config::load(&request, &process_environment)?.settings;
        let upstreams = Upstreams::build(&settings.upstreams, &settings.default_upstream)?;
        let upstream = match &self.upstream {
            None => upstreams.default_upstream(),
            Some(name) => upstreams.get(name).ok_or_else(|| {
                let known: Vec<&str> = upstreams.iter().map(|upstream| upstream.name()).collect();
                format!(
                    "--upstream: there is no upstream `{name}` in the configuration; there are {}",
                    known.join(", ")
                )
            })?,
        };
        Ok(Arc::clone(upstream))
    }
}
