//! Loading of a single policy, for commands that judge calls outside of turns.

use std::path::Path;

use super::parse::parse;
use super::sources::MAX_FILE_BYTES;
use super::{Policy, PolicyError};
use callwright_common::watch::FolderFile;

/// Loads one policy file. Its `match` and priority have no effect.
///
/// # Errors
/// [`PolicyError`] if it cannot be read or is not a policy.
pub fn load_file(path: &Path) -> Result<Policy, PolicyError> {
    parse(&FolderFile::read(path.to_owned(), MAX_FILE_BYTES)?).map(|(policy, _)| policy)
}
