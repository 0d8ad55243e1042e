//! Learned tool descriptions: their files, their rendering for models, and the learner.
//!
//! Owns representation files, rendering and learning ("Large Language Models Can Learn Representation in Natural
//! Language", 2024). Must not depend on catalogs, turns or the internals of tool ranking.

mod file;
mod learner;
mod model;
mod render;
mod set;
mod watch;

pub use file::limits::PATTERNS as MAX_PATTERNS;
pub use file::{
    LearnerRun, PatternSource, Ranking, RepresentationError, RepresentationFile, StoredClassifier, StoredPattern,
    StoredRepresentation, locate_file, shared_classifier_id, shared_id,
};
pub use learner::{
    Addition, CachingEmbedder, ClassifierEffect, Confusion, Edition, ExtractiveProposer, ExtractiveSettings,
    LearnError, LearnResult, LearnSettings, LearnedClassifier, LearnedPattern, LearnedTool, Learner, LearnerComponents,
    LearningPoint, ProposeError, Proposer, Sample,
};
pub use model::{
    AnswerCache, CachingModel, Candidate, Estimate, LearnerModel, LlmProposer, LlmSelector, ModelSettings,
};
pub use render::render;
pub use set::Representations;
pub use set::Settings;
pub use watch::watch;
