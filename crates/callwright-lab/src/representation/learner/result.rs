//! Result of a run of the learner.

use serde::Serialize;

use super::ProposeError;
use super::classifier::LearnedClassifier;
use callwright_search::embedding::EmbedError;
use callwright_search::retrieval::Fusion;
use callwright_types::representation::Pattern;

/// Learned patterns and metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnResult {
    /// Tools in the given order.
    pub tools: Vec<LearnedTool>,
    /// Weights of words and meaning. Without embeddings, sharpness is 0.
    pub fusion: Fusion,
    /// Learning curve of macro-F1.
    pub curve: Vec<LearningPoint>,
    /// Remaining confusions on the validation samples.
    pub confusions: Vec<Confusion>,
    /// Classifier beside the patterns, if it finds more right tools on samples that it was not trained on.
    pub classifier: Option<LearnedClassifier>,
    /// Failures of proposer and selector, in the order of the tools' names.
    pub failures: Vec<ProposeError>,
    /// Share of the samples used for validation; 1 with cross-validation.
    pub validation_share: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LearnedTool {
    /// Name of the tool.
    pub tool: String,
    /// Learned patterns, without those of people.
    pub patterns: Vec<LearnedPattern>,
    /// F1 on the validation samples before, in percent; `None` if the tool has none of them.
    pub f1_before: Option<f64>,
    /// F1 afterwards.
    pub f1_after: Option<f64>,
}

/// Pattern with its gain.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedPattern {
    pub pattern: Pattern,
    /// Gain in macro-F1 on the validation samples, in points, together with the patterns proposed with it.
    pub gain: f64,
}

/// Point of the learning curve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LearningPoint {
    /// Iteration; 0 is before the first.
    pub iteration: usize,
    /// Macro-F1 on the validation samples, in percent.
    pub macro_f1: f64,
    /// Number of patterns of all tools.
    pub patterns: usize,
}

/// Confusion of two tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// Right tool of the samples.
    #[serde(rename = "wanted")]
    pub expected: String,
    /// Selected tool.
    pub selected: String,
    /// Number of samples.
    pub samples: usize,
}

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
