//! `callwright learn`: learns tool representations from samples, and lessons from labelled questions.

mod notes;
mod procedures;
mod report;
mod representations;
mod table;

use clap::{Args, Subcommand};

use super::errors::VerbResult;

/// Arguments of `learn`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Learn patterns of requests for each tool, and write them to an editable file. Exit status 1 if a line could not
    /// be used.
    Representations(Box<representations::Arguments>),
    /// Let a model take notes on questions with known answers, and test the notes on other questions. Exit status 1 if
    /// a line could not be used.
    Notes(Box<notes::Arguments>),
    /// Learn procedures from recorded and verified turns into the configured store.
    Procedures(procedures::Arguments),
    /// Render the report of a run as one self-contained HTML page.
    Report(report::Arguments),
}

pub(super) fn run(arguments: Arguments) -> VerbResult {
    match arguments.verb {
        Verb::Representations(arguments) => representations::run(&arguments),
        Verb::Notes(arguments) => notes::run(&arguments),
        Verb::Procedures(arguments) => procedures::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
    }
}
