//! Why nothing can be learned.

use callwright_search::embedding::EmbedError;

/// Why a run of the learner ends without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// There are too few samples to learn from some and confirm with others.
    #[error(
        "{usable} of {given} samples name a tool that there is; two at least are needed, one to learn from and one to confirm with"
    )]
    TooFew {
        /// Samples with a known tool and a text.
        usable: usize,
        /// Samples given.
        given: usize,
    },
    /// What has to be held in memory is more than the settings allow.
    #[error(
        "{samples} samples and {tools} tools need room for {cells} numbers, more than the {most} that are allowed; learn from fewer samples, or one toolset at a time"
    )]
    TooMany {
        /// Samples.
        samples: usize,
        /// Tools.
        tools: usize,
        /// Numbers that would be held.
        cells: usize,
        /// Numbers that may be.
        most: usize,
    },
    /// There are no vectors.
    #[error(transparent)]
    Embed(#[from] EmbedError),
}
