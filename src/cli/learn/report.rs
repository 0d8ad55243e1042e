//! `callwright learn report`: renders the report of a run as a page.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::cli::errors::VerbResult;
use callwright_offline::{OfflineError, Report, page};

/// Arguments of `learn report`.
#[derive(Debug, Args)]
pub(super) struct LearnReportArguments {
    /// Folder that `learn representations` wrote to, or its report.json.
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    place: PathBuf,
    /// Output file of the page. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    page: PathBuf,
}

pub(super) fn run(arguments: &LearnReportArguments) -> VerbResult {
    let page = page(&Report::read(&arguments.place)?);
    if arguments.page.as_os_str() != "-" {
        let unwritable = |source| OfflineError::Unwritable { file: arguments.page.display().to_string(), source };
        return Ok(std::fs::write(&arguments.page, page).map_err(unwritable)?);
    }
    match std::io::stdout().write_all(page.as_bytes()) {
        // A reader that closes the pipe early is not an error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
