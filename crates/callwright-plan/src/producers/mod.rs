//! Finds tools that can supply an argument, without a model.
//!
//! [`Producers`] is computed when tools are loaded and is immutable. It has one part per toolset ([`Segment`]), which a
//! reload reuses for unchanged toolsets. A request is scored once ([`Producers::score`]); the candidates of an argument
//! are then a lookup.

mod affinity;
mod candidate;
mod catalog;
mod clause;
mod edges;
mod feature_index;
mod index;
mod profile;
mod request;
mod scoring;
mod search;
mod segment;
mod segment_scores;
#[cfg(test)]
mod shared_data_tests;
#[cfg(test)]
mod tests;
mod tool;
mod vocabulary;
pub(crate) mod words;

pub(crate) use affinity::KEY;
pub use candidate::{Candidate, Evidence, Reason};
pub use catalog::{CatalogProducers, segment_of};
pub use edges::{Edge, Edges};
pub use index::Producers;
pub use request::Request;
pub use request::RequestScores;
pub use segment::Segment;
pub use tool::{Http, ToolShape};
pub use tool::{documented_fields, output_fields};
