//! Exported traces, one after the other.

use std::path::Path;

use crate::input::Input;
use crate::lines::Lines;
use crate::replay::reading::{Record, read};
use crate::{OfflineError, Watcher};
use callwright_types::Trace;

/// How many lines there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceLines {
    /// In all.
    pub lines: u64,
    /// Those that could not be used, which the watcher was told.
    pub problems: u64,
}

/// Hands every trace of a file to `take`.
///
/// # Errors
/// [`OfflineError::Unreadable`].
pub fn each_trace(
    path: &Path,
    take: &mut dyn FnMut(&Trace),
    watcher: &dyn Watcher,
) -> Result<TraceLines, OfflineError> {
    let mut lines = Lines::of(Input::open(path)?);
    let name = lines.name().to_owned();
    let mut found = TraceLines::default();
    watcher.begins(&name, lines.size());
    while let Some(batch) = lines.next_batch()? {
        for line in &batch.lines {
            found.lines += 1;
            let text = line.text.as_deref().map_err(Clone::clone);
            let taken = text.and_then(|text| {
                read(text, |record| {
                    if let Record::Trace(trace) = record {
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
