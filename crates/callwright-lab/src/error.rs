//! Errors of files, and of single lines in them.

use std::io;

use crate::representation::LearnError;
use callwright_memory::representation::RepresentationError;
use callwright_search::embedding::EmbedError;
use callwright_store::StoreError;

/// Error that ends a run.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// A file cannot be opened, or read to its end.
    #[error("cannot read {file}: {source}; {fix}")]
    Unreadable {
        /// File name.
        file: String,
        /// Cause.
        source: io::Error,
        /// Remedy.
        fix: &'static str,
    },
    /// A file cannot be written.
    #[error(
        "cannot write {file}: {source}; name a file in a folder that exists and may be written, on a disk with room"
    )]
    Unwritable {
        /// File name.
        file: String,
        /// Cause.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}; raise the limit of threads")]
    Thread(#[from] io::Error),
    /// The embedding model fails.
    #[error("cannot compute embeddings: {0}; use `--embedding none` to compare texts by words")]
    Unembedded(EmbedError),
    /// Existing representation files cannot be read, or new ones cannot be written.
    #[error(transparent)]
    Representations(RepresentationError),
    /// There are too few samples.
    #[error(
        "{samples} samples are too few: at least {least} are required, one for training and one for validation; add samples with --train or --traces"
    )]
    TooFewSamples {
        /// Number of samples.
        samples: usize,
        /// Minimum number of samples.
        least: usize,
    },
    /// Learning is impossible.
    #[error(transparent)]
    Learning(LearnError),
    /// A model does not answer.
    #[error("the model does not answer: {reason}; {kept}")]
    Unanswered {
        /// Cause and remedy.
        reason: String,
        /// Whether the answers so far are kept, as text.
        kept: &'static str,
    },
    /// Neither training nor test data is given.
    #[error("nothing to do: give --train to learn, or --test with --notes to evaluate notes")]
    NothingToDo,
    /// The journal of the run is in use.
    #[error("{file} belongs to a run in progress; wait for its end, or write to another output")]
    Running {
        /// Journal of the run.
        file: String,
    },
    /// The store fails.
    #[error(transparent)]
    Store(StoreError),
    /// An item cannot be serialised.
    #[error("cannot serialise an item of the store as JSON: {0}")]
    Unserialisable(String),
    /// The reader of the output closed its pipe: the run ends without an error.
    #[error("the reader of the output has closed it")]
    OutputClosed,
    /// The output would overwrite an input.
    #[error("{file} is an input and would be overwritten; give the output another name")]
    SameFile {
        /// File name.
        file: String,
    },
    /// Standard input is given for two files.
    #[error("standard input cannot be both {first} and {second}; give one of them as a file")]
    StandardInputTwice {
        /// First file.
        first: &'static str,
        /// Second file.
        second: &'static str,
    },
}
