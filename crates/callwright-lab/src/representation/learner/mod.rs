//! Learns representations from requests whose right tools are known (Algorithm 1 of the paper).
//!
//! [`Learner`] is the loop: each [`step`](Learner::step) is one iteration. A [`Proposer`] proposes patterns, and a
//! A selector may choose among the retrieved tools. Changes that the validation samples do not confirm are reverted.
//! Scores are stored in columns (`similarities`), so that a trial touches the column of one tool and the samples whose
//! selection it can change (`board`). A linear classifier complements the patterns (`classifier`).

mod algorithm;
mod board;
mod caching_embedder;
mod classifier;
mod extractive;
mod fit;
mod proposer;
mod result;
mod samples;
mod settings;
mod similarities;

pub use algorithm::{Learner, LearnerComponents};
pub use caching_embedder::CachingEmbedder;
pub use classifier::{ClassifierEffect, LearnedClassifier};
pub use extractive::{ExtractiveProposer, ExtractiveSettings};
pub use proposer::{Addition, Edition, ProposeError, Proposer};
pub use result::LearnError;
pub use result::{Confusion, LearnResult, LearnedPattern, LearnedTool, LearningPoint};
pub use samples::Sample;
pub use settings::LearnSettings;
