//! Learned texts of tools: the files that hold them, how a model is shown them, and the learner that makes them.
//!
//! Owns representation files, rendering and learning ("Large Language Models Can Learn Representation in Natural Language", 2024). Must not
//! know catalogs, turns or what ranks tools inside.

mod file;
mod learner;

pub use file::{
    LearnedBy, Ranking, RepresentationError, RepresentationFile, Source, StoredPattern, StoredRepresentation, place_in,
};
pub use learner::{Addition, Cost, Edition, ProposeError, Proposer};
