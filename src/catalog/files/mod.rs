//! The files that a document consists of, and places in them.

mod place;
mod source_file;

pub(super) use place::{Place, PlaceId};
pub(super) use source_file::SourceFile;
