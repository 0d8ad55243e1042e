//! Iteration over exported traces.

use std::path::Path;

use crate::input::InputReader;
use crate::lines::InputLines;
use crate::replay::reading::{TraceRecord, read};
use crate::{OfflineError, Watcher};
use callwright_types::Trace;

/// Counts of lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceLines {
    /// All lines.
    pub lines: u64,
    /// Unusable lines, reported to the watcher.
    pub problems: u64,
}

/// Calls `take` with every trace of a file.
///
/// # Errors
/// [`OfflineError::Unreadable`].
pub fn each_trace(
    path: &Path,
    take: &mut dyn FnMut(&Trace),
    watcher: &dyn Watcher,
) -> Result<TraceLines, OfflineError> {
    let mut lines = InputLines::of(InputReader::open(path)?);
    let name = lines.name().to_owned();
    let mut found = TraceLines::default();
    watcher.begins(&name, lines.size());
    while let Some(batch) = lines.next_batch()? {
        for line in &batch.lines {
            found.lines += 1;
            let text = line.text.as_deref().map_err(Clone::clone);
            let taken = text.and_then(|text| {
                read(text, |record| {
                    if let TraceRecord::Trace(trace) = record {
                        take(&trace);
                    }
                })
            });
            if let Err(message) = taken {
                found.problems += 1;
                watcher.problem(&line.problem(&name, message));
            }
        }
        watcher.advances(batch.consumed, found.lines);
    }
    watcher.ends();
    Ok(found)
}
