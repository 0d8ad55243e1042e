//! One policy by itself, for what judges without turns.

use std::path::Path;

use super::parse::parse;
use super::sources::read_file;
use super::{Policy, PolicyError};

/// Reads one policy file. What it matches and its priority mean nothing by itself.
///
/// # Errors
/// [`PolicyError`]: it cannot be read, or is no policy.
pub fn load_file(path: &Path) -> Result<Policy, PolicyError> {
    parse(&read_file(path.to_owned())?).map(|(policy, _)| policy)
}
