//! Progress of a run for a person at a terminal.

use super::Problem;

/// Receives the progress of a run.
pub trait Watcher: Sync {
    /// Begins reading a file of `bytes`, if its size is known.
    fn begins(&self, file: &str, bytes: Option<u64>);

    /// Reports `bytes` of the file and `records` lines as processed.
    fn advances(&self, bytes: u64, records: u64);

    /// Reports an unusable input other than a line, such as a documentation file; the message names it.
    fn left_out(&self, message: &str);

    /// Reports an unusable line.
    fn problem(&self, problem: &Problem);

    /// Reports that the file has been read to its end.
    fn ends(&self);
}
