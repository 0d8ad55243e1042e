//! JSON processing that preserves unknown content.
//!
//! Wire documents are edited field by field. Fields that are not edited keep their bytes, order, number notation and
//! duplicate keys ([`RawObject`]). [`Edit`]s change single values in a JSON text in the same way.

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
