//! The files of a document, the references between them, and positions in them.
//!
//! Read [`Loader`] first: it reads the main file, then the files that it refers to, and so on. A file that cannot be
//! read affects only the references to it.

mod address;
mod fetch;
mod loader;
mod resources;
mod source_file;

pub use fetch::{Fetch, FetchBounds, FetchedFile, Offline, RemoteFile};
pub use loader::Origin;
pub(super) use loader::{DocumentFileSet, Loader};
pub(super) use source_file::{SourceFile, ValuePosition, ValuePositionId};

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
