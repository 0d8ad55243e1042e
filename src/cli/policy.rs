//! `callwright policy`: looks at policies without serving.

mod explain;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::errors::VerbResult;
use crate::config;
use callwright_policy::{PolicyBook, PolicyError, Settings};

/// Arguments of `policy`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read a folder of policies as `serve` would and say whether they are valid.
    Check {
        /// The folder; without it, the policies of the configuration and what its model aliases want of them.
        #[arg(value_name = "PATH")]
        folder: Option<PathBuf>,
        /// Name of the policy that would hold where none matches.
        #[arg(long, value_name = "NAME", requires = "folder")]
        default: Option<String>,
        /// The configuration file, where no folder is given; as for `serve`.
        #[arg(long, value_name = "FILE", conflicts_with = "folder")]
        config: Option<PathBuf>,
    },
    /// Tell which policy a request would get, and why, by the configuration as it is now.
    Explain(explain::Arguments),
}

pub(super) fn run(arguments: Arguments) -> VerbResult {
    match arguments.action {
        Action::Check { folder: Some(folder), default, .. } => check_folder(&folder, default),
        Action::Check { config, .. } => check_configured(config),
        Action::Explain(arguments) => explain::run(&arguments),
    }
}

/// The policies of a configuration, with the names that its model aliases bind.
pub(super) fn load(loaded: &config::Loaded) -> Result<PolicyBook, PolicyError> {
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
    let request = config::Request { file, ..config::Request::default() };
    print(&load(&config::load(&request, &config::process_environment)?)?);
    Ok(())
}

fn print(book: &PolicyBook) {
    for policy in book.policies() {
        anstream::println!("{}: OK, {}", policy.name, policy.description);
    }
}
