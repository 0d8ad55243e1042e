//! `callwright learn`: what samples teach about tools, and labelled questions a model.

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
    /// Learn patterns of how people ask for each tool, and write them to a file that people read and edit. Status 1 where a line could
    /// not be used.
    Representations(Box<representations::Arguments>),
    /// Have a model take notes on questions whose answers are known, and try them on others. Status 1 where a line could not be used.
    Notes(Box<notes::Arguments>),
    /// Learn procedures from turns that were recorded and verified, into the configured store.
    Procedures(procedures::Arguments),
    /// Draw the report of a run as one HTML page that needs nothing else.
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
