//! Reads the instructions and demonstrations of a task.

use std::path::Path;

use crate::lines::{LinesRead, each_line};
use crate::{OfflineError, Watcher};
use callwright_knowledge::experience::prompts::Demonstration;

/// Maximum size of the instructions, in bytes; they are part of every prompt.
const MAX_INSTRUCTIONS: u64 = 64 * 1024;

/// Reads the instructions: the whole text of a file.
///
/// # Errors
/// [`OfflineError::Unreadable`].
pub(super) fn instructions(path: &Path) -> Result<String, OfflineError> {
    let unreadable = |source| OfflineError::Unreadable {
        file: path.display().to_string(),
        source,
        fix: "give a text file of at most 64 KiB",
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_INSTRUCTIONS {
        let reason = format!("the file has {size} bytes");
        return Err(unreadable(std::io::Error::new(std::io::ErrorKind::FileTooLarge, reason)));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// Reads the demonstrations, one per line. Unusable lines are reported to the watcher and counted.
///
/// # Errors
/// [`OfflineError::Unreadable`].
pub(super) fn demonstrations(
    path: &Path,
    watcher: &dyn Watcher,
) -> Result<(Vec<Demonstration>, LinesRead), OfflineError> {
    let mut demonstrations = Vec::new();
    let counted = each_line(path, watcher, |_, text| {
        let read = serde_json::from_str(text).map_err(|error| {
            format!(
                "the line is not a demonstration: {error}; give one object with `question` and `truth` on each line"
            )
        })?;
        demonstrations.push(read);
        Ok(())
    })?;
    Ok((demonstrations, counted))
}
