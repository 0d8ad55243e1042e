//! Learns the linear classifier that complements the patterns.
//!
//! `solver` trains one class, `train` all of them, and `choice` decides by samples that were not trained on whether and
//! how much the classifier counts beside the patterns.

mod choice;
mod solver;
mod train;

pub(super) use choice::{HeldOutScores, choose};
pub(super) use train::{TrainingSet, train};

use serde::Serialize;

use callwright_search::retrieval::{ClassifierModel, ClassifierWeights};

/// Learned classifier with its effect on samples that it was not trained on.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedClassifier {
    /// Parameters, trained on all samples.
    pub model: ClassifierModel,
    /// Weights of its contribution.
    pub weights: ClassifierWeights,
    /// Effect on the held-out samples.
    pub effect: ClassifierEffect,
}

/// Effect of the classifier on samples that it was not trained on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ClassifierEffect {
    /// Percentage of right tools among as many first ones, by patterns and words.
    pub before: f64,
    /// The same with the classifier.
    pub after: f64,
    /// Percentage of the requests without a tool for which no tool is found, if such samples exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_tool: Option<f64>,
}
