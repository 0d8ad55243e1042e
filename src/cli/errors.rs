//! How a verb that failed says so.

use std::error::Error;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};

/// What a verb gives: nothing, or an error whose message names the thing, what is wrong with it, and a way to mend it.
pub(super) type VerbResult = Result<(), Box<dyn Error + Send + Sync>>;

/// Why a verb that reads lines fails although it went through.
#[derive(Debug, thiserror::Error)]
#[error("{problems} of {lines} lines could not be used; what is wrong with them stands above")]
pub(super) struct BadLines {
    pub(super) problems: u64,
    pub(super) lines: u64,
}

const PROGRAM: Style = AnsiColor::Red.on_default().bold();

/// Prints each line of the error behind the program's name, on standard error; coloured on a terminal. Status 1.
pub(super) fn failure(error: &(dyn Error + Send + Sync)) -> ExitCode {
    for line in error.to_string().lines() {
        anstream::eprintln!("{PROGRAM}callwright:{PROGRAM:#} {line}");
    }
    ExitCode::FAILURE
}

/// Prints clap's message: help and version on standard output with status 0, misuse on standard error with status 2.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe (`callwright --help | head -1`) is no reason to complain.
    let _ = error.print();
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}
