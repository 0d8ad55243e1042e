//! Learned tool descriptions: their files, their rendering for models, and the learner.
//!
//! Owns representation files, rendering and learning ("Large Language Models Can Learn Representation in Natural
//! Language", 2024). Must not depend on catalogs, turns or the internals of tool ranking.

mod file;
mod learner;
mod model;
mod render;
mod set;
mod settings;
mod watch;

pub use file::limits::PATTERNS as MAX_PATTERNS;
pub use file::{
    LearnedBy, Ranking, RepresentationError, RepresentationFile, Source, StoredClassifier, StoredPattern,
    StoredRepresentation, place_in, shared_classifier_id, shared_id,
};
pub use learner::{
    Addition, Candidate, Confusion, Edition, ExtractiveProposer, ExtractiveSettings, LearnError, LearnSettings,
    LearnWatcher, Learned, LearnedClassifier, LearnedPattern, LearnedTool, Learner, Means, MemoEmbedder, NoSelection,
    Point, ProposeError, Proposer, Sample, Selector,
};
pub use model::{Estimate, LlmProposer, LlmSelector, Model, ModelSettings, Prices};
pub use render::render;
pub use set::Representations;
pub use settings::Settings;
pub use watch::watch;
