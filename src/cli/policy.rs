//! `callwright policy`: inspects policies without serving.

mod explain;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::errors::VerbResult;
use crate::config;
use callwright_policy::{PolicyBook, PolicyError, Settings};

/// Arguments of `policy`.
#[derive(Debug, Args)]
pub(super) struct PolicyArguments {
    #[command(subcommand)]
    action: PolicyAction,
}

#[derive(Debug, Subcommand)]
enum PolicyAction {
    /// Validate a folder of policies as `serve` would.
    Check {
        /// Folder of policies. Default: the policies of the configuration, and the policies that its model aliases
        /// name.
        #[arg(value_name = "PATH")]
        folder: Option<PathBuf>,
        /// Name of the policy that applies if none matches.
        #[arg(long, value_name = "NAME", requires = "folder")]
        default: Option<String>,
        /// Configuration file, if no folder is given. Default: as for `serve`.
        #[arg(long, value_name = "FILE", conflicts_with = "folder")]
        config: Option<PathBuf>,
    },
    /// Print which policy a request would get by the current configuration, and why.
    Explain(explain::PolicyExplainArguments),
}

pub(super) fn run(arguments: PolicyArguments) -> VerbResult {
    match arguments.action {
        PolicyAction::Check { folder: Some(folder), default, .. } => check_folder(&folder, default),
        PolicyAction::Check { config, .. } => check_configured(config),
        PolicyAction::Explain(arguments) => explain::run(&arguments),
    }
}

/// Loads the policies of a configuration, and binds the names in its model aliases.
pub(super) fn load(loaded: &config::LoadedConfig) -> Result<PolicyBook, PolicyError> {
    let bound = loaded.settings.aliases.iter().filter(|(_, alias)| !alias.policy.is_empty());
    let bindings = bound.map(|(name, alias)| (name.clone(), alias.policy.clone()));
    PolicyBook::load(&loaded.settings.policies, &loaded.base_dir)?.bind(bindings)
}

fn check_folder(folder: &Path, default: Option<String>) -> VerbResult {
    let defaults = Settings::default();
    let settings = Settings {
        directory: folder.display().to_string(),
        default: default.unwrap_or_else(|| defaults.default.clone()),
        ..defaults
    };
    print(&PolicyBook::load(&settings, Path::new("."))?);
    Ok(())
}

fn check_configured(file: Option<PathBuf>) -> VerbResult {
    let request = config::ConfigRequest { file, ..config::ConfigRequest::default() };
    print(&load(&config::load(&request, &config::process_environment)?)?);
    Ok(())
}

fn print(book: &PolicyBook) {
    for policy in book.policies() {
        anstream::println!("{}: OK, {}", policy.name, policy.description);
    }
}
