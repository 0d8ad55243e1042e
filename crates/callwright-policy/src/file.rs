//! One policy by itself, for what judges without turns.

use std::path::Path;

use super::parse::parse;
use super::sources::MAX_FILE_BYTES;
use super::{Policy, PolicyError};
use callwright_common::watch::FolderFile;

/// Reads one policy file. What it matches and its priority mean nothing by itself.
///
/// # Errors
/// [`PolicyError`]: it cannot be read, or is no policy.
pub fn load_file(path: &Path) -> Result<Policy, PolicyError> {
    parse(&FolderFile::read(path.to_owned(), MAX_FILE_BYTES)?).map(|(policy, _)| policy)
}
