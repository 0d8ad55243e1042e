//! What a person at a terminal gets to see of a run.

use super::Problem;

/// Is told how a run goes on.
pub trait Watcher: Sync {
    /// A file of `bytes`, where its size is known, is read from now on.
    fn begins(&self, file: &str, bytes: Option<u64>);

    /// `bytes` of the file have been worked on, `records` lines in all.
    fn advances(&self, bytes: u64, records: u64);

    /// Something besides lines cannot be used, such as a file of documentation; the message names it.
    fn left_out(&self, message: &str);

    /// A line cannot be used.
    fn problem(&self, problem: &Problem);

    /// The file has been read to its end.
    fn ends(&self);
}
