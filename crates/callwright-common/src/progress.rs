//! Progress of a long run for a person at a terminal.

use std::fmt;

/// Unusable line. The run continues without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// File name.
    pub file: String,
    /// Line number, from 1.
    pub line: u64,
    /// Error and remedy.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// Length of a step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepLength {
    /// Size of a file, if it is known.
    Bytes(Option<u64>),
    /// Number of items.
    Items(usize),
}

/// Receives the progress of a run.
pub trait ProgressObserver: fmt::Debug + Sync {
    /// Begins a step, such as reading a file.
    fn begins(&self, step: &str, length: StepLength);

    /// Reports the position in the step, in bytes or items, and the number of processed records.
    fn advances(&self, position: u64, records: u64);

    /// Reports something unusable other than a line, such as a documentation file; the message names it.
    fn left_out(&self, message: &str);

    /// Reports an unusable line.
    fn problem(&self, problem: &Problem);

    /// Reports the end of the step.
    fn ends(&self);
}
