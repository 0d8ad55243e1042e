//! What can go wrong with files, and with single lines of them.

use std::fmt;
use std::io;

use callwright_knowledge::representation::{LearnError, RepresentationError};
use callwright_search::embedding::EmbedError;
use callwright_store::StoreError;

/// The run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// A file cannot be opened, or read to its end.
    #[error("cannot read {file}: {source}; {fix}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
        /// What mends it.
        fix: &'static str,
    },
    /// A file cannot be written.
    #[error(
        "cannot write {file}: {source}; name a file in a folder that exists and may be written, on a disk with room"
    )]
    Unwritable {
        /// The file.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The model of meaning gives no vectors.
    #[error(
        "the texts have no vectors: {0}; without --embedding-model, and with --words-only where there is such an option, they are compared by words"
    )]
    Unembedded(EmbedError),
    /// The representation files that there are cannot be read, or new ones not be written.
    #[error(transparent)]
    Representations(RepresentationError),
    /// There is nothing to learn from.
    #[error(
        "{samples} samples are too few: {least} at least, one to learn from and one to try it on; give more with --train or --traces"
    )]
    TooFewSamples {
        /// How many there are.
        samples: usize,
        /// How many are needed.
        least: usize,
    },
    /// Nothing can be learned.
    #[error(transparent)]
    Learning(LearnError),
    /// A model does not answer.
    #[error("the model gives no answer: {reason}; {kept}")]
    Unanswered {
        /// Why, and what mends it.
        reason: String,
        /// What became of its answers so far.
        kept: &'static str,
    },
    /// There is nothing to learn from and nothing to solve.
    #[error("there is nothing to do: give --train to learn from, or --test with --notes to try notes on")]
    NothingToDo,
    /// A run was interrupted, and nothing says what is to become of it.
    #[error("{file} is of a run that was interrupted; --resume goes on with it, --restart begins anew")]
    Interrupted {
        /// What was kept of it.
        file: String,
    },
    /// The store does not give or take what it should.
    #[error(transparent)]
    Store(StoreError),
    /// Something has no JSON form.
    #[error("something in the store cannot be written as JSON: {0}")]
    Unserialisable(String),
    /// Whoever read our output has gone: nothing is left to do, and nothing is wrong.
    #[error("the reader of the output has gone")]
    ReaderGone,
    /// The output would overwrite an input.
    #[error("{file} is read and would be overwritten; give the output another name")]
    SameFile {
        /// The file.
        file: String,
    },
    /// Standard input is one stream and cannot be two files.
    #[error("standard input cannot be both {first} and {second}; give one of them as a file")]
    StandardInputTwice {
        /// What it is to be.
        first: &'static str,
        /// What else it is to be.
        second: &'static str,
    },
}

/// One line that cannot be used. The run goes on without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong and what mends it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}
