//! `callwright completions`: prints shell completion scripts.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::errors::VerbResult;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// Shell to print the script for.
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(arguments: &CompletionsArguments) -> VerbResult {
    let mut command = super::CommandLine::command();
    let name = command.get_name().to_owned();
    // Generates into memory first, because the generator panics on a closed pipe.
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, name, &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}
