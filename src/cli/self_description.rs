//! Subcommands that print descriptions of the program: `callwright completions`, `callwright man`, `callwright
//! openapi`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::errors::VerbResult;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// Shell to print the script for.
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn print_completions(arguments: &CompletionsArguments, mut command: Command) -> VerbResult {
    let name = command.get_name().to_owned();
    // Generates into memory first, because the generator panics on a closed pipe.
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, name, &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// Folder for one page per subcommand (`callwright.1`, `callwright-serve.1`, ...). Default: print the main page on
    /// standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn print_man(arguments: &ManArguments, command: Command) -> VerbResult {
    if let Some(folder) = &arguments.out {
        let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
        return written.map_err(|error| format!("--out: {}: {error}", folder.display()).into());
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(())
}

/// Prints the description of the proxy's own API.
pub(super) fn print_api() -> VerbResult {
    std::io::stdout().write_all(include_bytes!("../../openapi/callwright.json"))?;
    Ok(())
}
