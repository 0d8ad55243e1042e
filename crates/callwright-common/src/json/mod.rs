//! JSON processing that preserves unknown content.
//!
//! Wire documents are edited field by field. Fields that are not edited keep their bytes, order, number notation and
//! duplicate keys ([`RawObject`]). [`Edit`]s change single values in a JSON text in the same way.

mod edit;
mod pointer;
mod raw_object;
mod text;

pub use edit::{Edit, EditError, apply, text_at};
pub use pointer::Pointer;
pub use raw_object::{RawObject, raw};
pub use text::{bare, is_object_text, scalar_text};
