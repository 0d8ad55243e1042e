//! Which tools can supply an argument, without asking a model.
//!
//! [`Producers`] is computed when tools are loaded and never changes: a part for each toolset ([`Segment`]), which a reload shares where
//! the toolset stayed as it was. A request is read once ([`Producers::ask`]); then each argument's candidates cost a look-up.

mod affinity;
mod asked;
mod candidate;
mod catalog;
mod edges;
mod index;
mod leaders;
mod profile;
mod request;
mod segment;
mod shape;
#[cfg(test)]
mod tests;
mod tool;
mod vocabulary;
pub(in crate::planner) mod words;

pub use candidate::{Candidate, Evidence, Reason};
pub use catalog::{CatalogProducers, segment_of};
pub use edges::{Edge, Edges};
pub use index::{Asked, Producers};
pub use request::Request;
pub use segment::Segment;
pub use shape::{Http, ToolShape};
pub use tool::{output_fields, told_fields};
