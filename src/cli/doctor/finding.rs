//! Result of one check, and its text form.

use crate::cli::output::outln;
use anstyle::AnsiColor;
use serde::Serialize;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckStatus {
    /// The check passed.
    Ok,
    /// The proxy serves turns, but something is missing or below its optimum.
    Warn,
    /// The proxy cannot work as configured.
    Fail,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DoctorFinding {
    /// Subject of the check.
    pub(super) check: String,
    /// Severity.
    pub(super) status: CheckStatus,
    /// Result; never contains a secret.
    pub(super) message: String,
    /// Fix of the problem; empty where there is none.
    pub(super) fix: String,
}

/// Returns the result of a check that passed.
pub(super) fn ok(check: impl Into<String>, message: impl Into<String>) -> DoctorFinding {
    finding(CheckStatus::Ok, check, message, "")
}

/// Returns the result of a check that found something missing.
pub(super) fn warn(check: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> DoctorFinding {
    finding(CheckStatus::Warn, check, message, fix)
}

/// Returns the result of a check that failed.
pub(super) fn fail(check: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> DoctorFinding {
    finding(CheckStatus::Fail, check, message, fix)
}

fn finding(
    status: CheckStatus,
    check: impl Into<String>,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> DoctorFinding {
    DoctorFinding { check: check.into(), status, message: message.into(), fix: fix.into() }
}

impl DoctorFinding {
    /// Prints one line, and a second one with the fix where there is one.
    pub(super) fn print(&self) {
        let (word, style) = match self.status {
            CheckStatus::Ok => ("ok", AnsiColor::Green.on_default()),
            CheckStatus::Warn => ("warn", AnsiColor::Yellow.on_default()),
            CheckStatus::Fail => ("fail", AnsiColor::Red.on_default().bold()),
        };
        // Indents the further lines of a message below its check.
        let message = self.message.replace('\n', "\n      ");
        outln!("{style}{word:<4}{style:#}  {}: {message}", self.check);
        if !self.fix.is_empty() {
            outln!("      fix: {}", self.fix.replace('\n', "\n      "));
        }
    }
}
