//! Operations that differ between the protocols. The rest of this crate is written once on top of these.
//!
//! [`RequestForm`] and [`AnswerForm`] have an implementation for each protocol; [`PartsForm`], [`StreamForm`] and
//! [`EventWriter`] have one for each protocol whose answer is one ordered list of parts: Responses (`output` items) and
//! Messages (`content` blocks). All values are JSON texts that are kept as they came; an implementation changes only the
//! subject of its operation.

mod answer;
mod message;
mod request;
mod stream;

pub use answer::MessageContent;
pub(crate) use answer::{AnswerForm, Finish, PartKind, PartsForm};
pub(crate) use message::{MAX_PARTS, PartsMessage};
pub(crate) use request::{ConversationForm, Rejoined, RequestForm};
pub use stream::{EventRole, EventWriter, StreamForm};
