//! Error reports and exit status of subcommands.

use std::error::Error;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use anstyle::{AnsiColor, Style};

/// Error of a subcommand. Its message names the thing, the problem and the fix.
pub(super) type VerbError = Box<dyn Error + Send + Sync>;

/// Result of a subcommand.
pub(super) type VerbResult = Result<(), VerbError>;

/// Error of a subcommand that completed but skipped invalid lines.
#[derive(Debug, thiserror::Error)]
#[error("{problems} of {lines} lines could not be used; see the errors above")]
pub(super) struct BadLines {
    pub(super) problems: u64,
    pub(super) lines: u64,
}

/// Error of a learning run that completed without a result.
#[derive(Debug, thiserror::Error)]
#[error("nothing was learned: no change improves the ranking of the validation samples; give more samples")]
pub(super) struct NothingLearned;

/// Error of a client that `run` started. Its exit status becomes that of the subcommand, and the client has reported the
/// reason itself.
#[derive(Debug, thiserror::Error)]
#[error("the client ended with {0}")]
pub(super) struct ClientStatus(pub(super) ExitStatus);

impl ClientStatus {
    /// Returns the client's exit status; that of a shell after a signal.
    fn code(&self) -> u8 {
        let signalled = self.0.signal().and_then(|signal| u8::try_from(signal).ok());
        let code = self.0.code().and_then(|code| u8::try_from(code).ok());
        // The shell adds 128 to the number of the signal.
        code.or(signalled.map(|signal| signal.saturating_add(128))).unwrap_or(1)
    }
}

const PROGRAM: Style = AnsiColor::Red.on_default().bold();

/// Prints each line of the error after the program's name on standard error, coloured on a terminal. Returns exit
/// status 1, or that of the error: 3 if nothing was learned.
pub(super) fn failure(error: &(dyn Error + Send + Sync + 'static)) -> ExitCode {
    if let Some(client) = error.downcast_ref::<ClientStatus>() {
        return ExitCode::from(client.code());
    }
    for line in error.to_string().lines() {
        // `eprintln` panics if standard error is closed or its disk is full.
        let _ = writeln!(anstream::stderr(), "{PROGRAM}callwright:{PROGRAM:#} {line}");
    }
    if error.is::<NothingLearned>() { ExitCode::from(3) } else { ExitCode::FAILURE }
}

/// Prints clap's message: help and version on standard output with status 0, usage errors on standard error with status
/// 2.
pub(super) fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe (`callwright --help | head -1`) is not an error.
    let _ = error.print();
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}
