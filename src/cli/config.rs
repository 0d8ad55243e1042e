//! `callwright config`: looks at the configuration without serving.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::errors::VerbResult;
use crate::config;

/// Arguments of `config`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Read the configuration as `serve` would and say whether it is valid.
    Check {
        /// The file; without it CALLWRIGHT_CONFIG, then ./callwright.toml, then the built-in defaults.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

pub(super) fn run(arguments: Arguments) -> VerbResult {
    match arguments.action {
        Action::Check { config } => check(config),
    }
}

fn check(file: Option<PathBuf>) -> VerbResult {
    let request = config::Request { file, ..config::Request::default() };
    let loaded = config::load(&request, &config::process_environment)?;
    let origin = loaded.file.map_or_else(|| "built-in defaults".to_owned(), |file| file.display().to_string());
    anstream::println!("{origin}: OK");
    Ok(())
}
