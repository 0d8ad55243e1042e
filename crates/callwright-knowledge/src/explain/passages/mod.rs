//! Blocks of a document → passages: entries of catalogues, and neighbouring sentences of prose.

mod entry;
mod joiner;
pub(crate) mod outline;
pub(crate) mod pieces;
pub(crate) mod runs;
pub(crate) mod sentence_vectors;
pub(crate) mod sentences;
