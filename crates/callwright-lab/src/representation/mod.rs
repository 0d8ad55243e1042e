//! Learns tool descriptions ("Large Language Models Can Learn Representation in Natural Language", 2024): patterns of
//! requests with short cases, from samples of requests and their tools.

mod learner;
mod model;

pub use learner::{
    Addition, CachingEmbedder, ClassifierEffect, Confusion, Edition, ExtractiveProposer, ExtractiveSettings,
    LearnError, LearnResult, LearnSettings, LearnedClassifier, LearnedPattern, LearnedTool, Learner, LearnerComponents,
    LearningPoint, ProposeError, Proposer, Sample,
};
pub use model::{Candidate, Estimate, LearnerModel, LlmProposer, LlmSelector, ModelSettings};
