//! `callwright man`: prints the manual pages.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};

use super::errors::VerbResult;

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// Folder for one page per subcommand (`callwright.1`, `callwright-serve.1`, ...). Default: print the main page on
    /// standard output.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn run(arguments: &ManArguments) -> VerbResult {
    let command = super::CommandLine::command();
    if let Some(folder) = &arguments.out {
        let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
        return written.map_err(|error| format!("--out: {}: {error}", folder.display()).into());
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(())
}
