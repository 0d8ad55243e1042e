//! Errors of the learner.

use callwright_search::embedding::EmbedError;

/// Why a run of the learner ends without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// There are too few samples for a training and a validation set.
    #[error(
        "{usable} of {given} samples name a known tool; at least two are required, one for training and one for validation"
    )]
    TooFew {
        /// Number of samples with text and a known tool.
        usable: usize,
        /// Number of samples given.
        given: usize,
    },
    /// The run would exceed the memory limit of the settings.
    #[error(
        "{samples} samples and {tools} tools need {cells} matrix cells, more than the maximum of {most}; learn from fewer samples, or one toolset at a time"
    )]
    TooMany {
        /// Number of samples.
        samples: usize,
        /// Number of tools.
        tools: usize,
        /// Number of matrix cells that the run needs.
        cells: usize,
        /// Maximum number of cells.
        most: usize,
    },
    /// A thread for the classifier could not be started.
    #[error("cannot start a thread: {0}; use fewer --jobs")]
    Thread(String),
    /// Embedding failed.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}
