//! Lessons as JSON Lines.

use std::path::Path;

use crate::lines::{LinesRead, each_line};
use crate::output::OutputWriter;
use crate::{OfflineError, Watcher};
use callwright_types::Lesson;

/// Reads one lesson per line. Unusable lines are reported to the watcher and counted.
///
/// # Errors
/// [`OfflineError::Unreadable`].
pub(super) fn read(path: &Path, watcher: &dyn Watcher) -> Result<(Vec<Lesson>, LinesRead), OfflineError> {
    let mut lessons = Vec::new();
    let counted = each_line(path, watcher, |_, text| {
        let lesson: Lesson = serde_json::from_str(text).map_err(|error| {
            format!("the line is not a lesson: {error}; `callwright learn notes --out` writes them")
        })?;
        lessons.push(lesson);
        Ok(())
    })?;
    Ok((lessons, counted))
}

/// Writes one lesson per line.
///
/// # Errors
/// [`OfflineError::Unwritable`], or [`OfflineError::SameFile`] if the file is one of `inputs`.
pub(super) fn write<'a>(
    path: &Path,
    inputs: &[&Path],
    lessons: impl IntoIterator<Item = &'a Lesson>,
) -> Result<(), OfflineError> {
    let mut lines = Vec::new();
    for lesson in lessons {
        serde_json::to_writer(&mut lines, lesson)
            .map_err(|error| OfflineError::Unwritable { file: path.display().to_string(), source: error.into() })?;
        lines.push(b'\n');
    }
    let mut output = OutputWriter::create(path, inputs)?;
    output.write(&lines)?;
    output.finish()
}
