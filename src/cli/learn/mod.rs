//! `callwright learn`: learns tool representations from samples, and lessons from labelled questions.

mod notes;
mod outcome;
mod procedures;
mod representations;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::errors::VerbResult;
use callwright_offline::{OfflineError, Report, page};

/// Arguments of `learn`.
#[derive(Debug, Args)]
pub(super) struct LearnArguments {
    #[command(subcommand)]
    verb: LearnVerb,
}

#[derive(Debug, Subcommand)]
enum LearnVerb {
    /// Learn patterns of requests for each tool, and write them to an editable file. Exit status 1 if a line could not
    /// be used.
    Representations(Box<representations::LearnRepresentationsArguments>),
    /// Let a model take notes on questions with known answers, and test the notes on other questions. Exit status 1 if
    /// a line could not be used.
    Notes(Box<notes::LearnNotesArguments>),
    /// Learn procedures from recorded and verified turns into the configured store.
    Procedures(procedures::LearnProceduresArguments),
    /// Render the report of a run as one self-contained HTML page.
    Report(LearnReportArguments),
}

pub(super) fn run(arguments: LearnArguments) -> VerbResult {
    match arguments.verb {
        LearnVerb::Representations(arguments) => representations::run(&arguments),
        LearnVerb::Notes(arguments) => notes::run(&arguments),
        LearnVerb::Procedures(arguments) => procedures::run(&arguments),
        LearnVerb::Report(arguments) => report(&arguments),
    }
}

/// Arguments of `learn report`.
#[derive(Debug, Args)]
struct LearnReportArguments {
    /// Folder that `learn representations` wrote to, or its report.json.
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    place: PathBuf,
    /// Output file of the page. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    page: PathBuf,
}

fn report(arguments: &LearnReportArguments) -> VerbResult {
    let page = page(&Report::read(&arguments.place)?);
    if arguments.page.as_os_str() != "-" {
        let written = std::fs::write(&arguments.page, page);
        return Ok(written
            .map_err(|source| OfflineError::Unwritable { file: arguments.page.display().to_string(), source })?);
    }
    match std::io::stdout().write_all(page.as_bytes()) {
        // A reader that closes the pipe early is not an error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
