//! `callwright learn`: learns tool representations from samples, and lessons from labelled questions.

mod notes;
mod outcome;
mod procedures;
mod representations;

use clap::Subcommand;

use super::errors::VerbResult;

// A doc comment would replace that of the subcommand in `CliVerb`.
#[derive(Debug, Subcommand)]
pub(super) enum LearnAction {
    /// Learn patterns of requests for each tool, and write them to an editable file. Exit status 1 if a line could not
    /// be used.
    Representations(Box<representations::LearnRepresentationsArguments>),
    /// Let a model take notes on questions with known answers, and test the notes on other questions. Exit status 1 if
    /// a line could not be used.
    Notes(Box<notes::LearnNotesArguments>),
    /// Learn procedures from recorded and verified turns into the configured store.
    Procedures(procedures::LearnProceduresArguments),
}

pub(super) fn run(action: LearnAction) -> VerbResult {
    match action {
        LearnAction::Representations(arguments) => representations::run(&arguments),
        LearnAction::Notes(arguments) => notes::run(*arguments),
        LearnAction::Procedures(arguments) => procedures::run(&arguments),
    }
}
