//! Selection of the upstream and model that a subcommand queries.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::config::{self, process_environment};
use callwright_upstream::{Upstream, Upstreams};

/// Arguments that select the model and its upstream.
#[derive(Debug, Args)]
pub(super) struct ModelArguments {
    /// Model name as the provider spells it.
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// Configuration file with the model's upstream and, where one is used, the store. Default: as `serve` finds it;
    /// without a file, OPENAI_BASE_URL and OPENAI_API_KEY apply.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Upstream of the configuration to query. Default: the default upstream.
    #[arg(long, value_name = "NAME")]
    upstream: Option<String>,
}

impl ModelArguments {
    /// Returns the named upstream, or the default one.
    pub(super) fn upstream(&self) -> Result<Arc<Upstream>, Box<dyn Error + Send + Sync>> {
        let request = config::ConfigRequest { file: self.config.clone(), ..config::ConfigRequest::default() };
        let settings = config::load(&request, &process_environment)?.settings;
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
