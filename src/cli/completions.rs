//! `callwright completions`: what a shell completes.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::errors::VerbResult;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The shell that the script is for.
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> VerbResult {
    let mut command = super::Arguments::command();
    let name = command.get_name().to_owned();
    // Into memory first: what is generated does not know that a pipe may be closed.
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, name, &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}
