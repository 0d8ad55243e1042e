//! Which tools can supply an argument, without asking a model.
//!
//! [`Producers`] is computed when tools are loaded and never changes: a part for each toolset ([`Segment`]), which a reload shares where
//! the toolset stayed as it was. A request is read once ([`Producers::ask`]); then each argument's candidates cost a look-up.

mod candidate;
mod index;
mod shape;

pub use candidate::{Candidate, Evidence, Reason};
pub use index::{Asked, Producers, Segment};
pub use shape::{Http, ToolShape};
