//! The files of a document, the references between them, and places in them.
//!
//! Read [`Loader`] first: it reads the main file, then the files that it refers to, and so on. A file that cannot be
//! read affects only the references to it.

mod address;
mod boundary;
mod fetch;
mod loader;
mod place;
mod resources;
mod scan;
mod source_file;

pub use fetch::{Fetch, FetchBounds, Fetched, Offline, RemoteFile};
pub use loader::Origin;
pub(super) use loader::{DocumentFileSet, Loader};
pub(super) use place::{ValuePosition, ValuePositionId};
pub(super) use source_file::SourceFile;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
