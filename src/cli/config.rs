//! `callwright config`: inspects the configuration without serving.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::errors::VerbResult;
use super::setup::{load_config, load_policies};
use crate::app;
use callwright_judge::feedback::Templates;
use callwright_judge::repair::Notations;
use callwright_openapi::{Report, Toolset};

/// Arguments of `config`.
#[derive(Debug, Args)]
pub(super) struct ConfigArguments {
    #[command(subcommand)]
    action: ConfigAction,
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    /// Validate the configuration and its policies, templates, notations and OpenAPI documents as `serve` would.
    Check {
        /// Configuration file. Default: CALLWRIGHT_CONFIG, then ./callwright.toml, then the built-in defaults.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

pub(super) fn run(arguments: ConfigArguments) -> VerbResult {
    match arguments.action {
        ConfigAction::Check { config } => check(config),
    }
}

fn check(file: Option<PathBuf>) -> VerbResult {
    let loaded = load_config(file)?;
    let mut problems = Vec::new();
    problems.extend(load_policies(&loaded).err().map(|error| error.to_string()));
    problems.extend(Templates::load(&loaded.settings.feedback).err().map(|error| error.to_string()));
    let notations = Notations::load(&loaded.settings.repair, &loaded.base_dir);
    problems.extend(notations.err().map(|error| error.to_string()));
    match app::load_catalog(&loaded.settings, &loaded.base_dir) {
        Ok((catalog, errors)) => {
            catalog.toolsets().for_each(|toolset| print_toolset(toolset));
            problems.extend(errors.iter().map(ToString::to_string));
        }
        Err(error) => problems.push(error.to_string()),
    }
    if !problems.is_empty() {
        return Err(problems.join("\n").into());
    }
    let origin = loaded.file.map_or_else(|| "built-in defaults".to_owned(), |file| file.display().to_string());
    anstream::println!("{origin}: OK");
    Ok(())
}

/// Prints facts about a toolset that are useful to an operator but are not errors.
fn print_toolset(toolset: &Toolset) {
    let Report { operations_loaded, operations_skipped, .. } = &toolset.report;
    let skipped = operations_skipped.len();
    anstream::println!("toolset `{}`: {operations_loaded} operations, {skipped} skipped", toolset.name);
    if skipped > 0 {
        anstream::println!("  `callwright check {}` reports why", toolset.report.file);
    }
}
