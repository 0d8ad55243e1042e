//! What one check found, and how it is said.

use anstyle::{AnsiColor, Style};
use serde::Serialize;

/// How it stands with one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// As it should be.
    Ok,
    /// The proxy serves turns, and something is missing or worse than it need be.
    Warn,
    /// The proxy cannot do what it is configured for.
    Fail,
}

impl Status {
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

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at.
    pub(super) check: String,
    /// How it stands.
    pub(super) status: Status,
    /// What was found. Never holds a secret.
    pub(super) message: String,
    /// What mends it; empty where nothing is to be mended.
    pub(super) fix: String,
}

impl Finding {
    pub(super) fn ok(check: impl Into<String>, message: impl Into<String>) -> Self {
        Self { check: check.into(), status: Status::Ok, message: message.into(), fix: String::new() }
    }

    pub(super) fn warn(check: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check: check.into(), status: Status::Warn, message: message.into(), fix: fix.into() }
    }

    pub(super) fn fail(check: impl Into<String>, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check: check.into(), status: Status::Fail, message: message.into(), fix: fix.into() }
    }

    /// One line for a person, and a second one with the fix where there is one.
    pub(super) fn print(&self) {
        let (word, style) = (self.status.word(), self.status.style());
        // A mistake of several lines stays below its check.
        let message = self.message.replace('\n', "\n      ");
        anstream::println!("{style}{word:<4}{style:#}  {}: {message}", self.check);
        if !self.fix.is_empty() {
            anstream::println!("      to mend it: {}", self.fix);
        }
    }
}
