//! `callwright learn`: what samples teach about tools.

mod report;

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
    /// Draw the report of a run as one HTML page that needs nothing else.
    Report(report::Arguments),
}

pub(super) fn run(arguments: Arguments) -> VerbResult {
    match arguments.verb {
        Verb::Report(arguments) => report::run(&arguments),
    }
}
