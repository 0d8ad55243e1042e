//! Learned tool descriptions: their files and their rendering for models.
//!
//! Owns representation files, their watch and rendering ("Large Language Models Can Learn Representation in Natural
//! Language", 2024). Must not depend on catalogs, turns or the internals of tool ranking.

mod file;
mod render;
mod set;
mod watch;

pub use file::limits;
pub use file::limits::PATTERNS as MAX_PATTERNS;
pub use file::{
    LearnerRun, PatternSource, Ranking, RepresentationError, RepresentationFile, StoredClassifier, StoredPattern,
    StoredRepresentation, locate_file, shared_classifier_id, shared_id,
};
pub use render::render;
pub use set::Representations;
pub use set::Settings;
pub use watch::watch;
