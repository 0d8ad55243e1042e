//! Result of one check, and its text form.

use crate::cli::output::outln;
use anstyle::{AnsiColor, Style};
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

impl CheckStatus {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Ok => AnsiColor::Green.on_default(),
            Self::Warn => AnsiColor::Yellow.on_default(),
            Self::Fail => AnsiColor::Red.on_default().bold(),
        }
    }
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

impl DoctorFinding {
    pub(super) fn ok(check: impl Into<String>, message: impl Into<String>) -> Self {
        Self { check: check.into(), status: CheckStatus::Ok, message: message.into(), fix: String::new() }
    }

    pub(super) fn warn(check: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check: check.into(), status: CheckStatus::Warn, message: message.into(), fix: fix.into() }
    }

    pub(super) fn fail(check: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check: check.into(), status: CheckStatus::Fail, message: message.into(), fix: fix.into() }
    }

    /// Prints one line, and a second one with the fix where there is one.
    pub(super) fn print(&self) {
        let (word, style) = (self.status.word(), self.status.style());
        // Indents the further lines of a message below its check.
        let message = self.message.replace('\n', "\n      ");
        outln!("{style}{word:<4}{style:#}  {}: {message}", self.check);
        if !self.fix.is_empty() {
            outln!("      fix: {}", self.fix.replace('\n', "\n      "));
        }
    }
}
