//! Protocols whose answer is one ordered list of parts: Responses (`output` items) and Messages (`content` blocks).
//!
//! [`RequestForm`], [`AnswerForm`], [`StreamForm`] and [`EventWriter`] are the operations that differ between them. The
//! rest of this crate is written once on top of these. All values are JSON texts that are kept as they came; an
//! implementation changes only the subject of its operation.

mod answer;
mod message;
mod request;
mod stream;

pub(crate) use answer::{AnswerForm, Finish, PartKind};
pub(crate) use message::{MAX_PARTS, PartsMessage};
pub(crate) use request::{Rejoined, RequestForm};
pub use stream::{EventRole, EventWriter, StreamForm};
