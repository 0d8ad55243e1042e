//! JSON that keeps what it does not understand.
//!
//! Wire documents are edited field by field: whatever we do not touch keeps its bytes, its order, its number notation and
//! even its duplicate keys ([`RawObject`]); [`Edit`]s change single places inside a JSON text the same way.

mod bare;
mod edit;
mod pointer;
mod raw_object;
mod scalar;

pub use bare::bare;
pub use edit::{Edit, EditError, apply};
pub use pointer::Pointer;
pub use raw_object::{RawObject, raw};
pub use scalar::scalar_text;
