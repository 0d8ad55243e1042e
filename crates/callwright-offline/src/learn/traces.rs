//! Iteration over exported traces.

use std::path::Path;

use crate::lines::{LinesRead, each_line};
use crate::replay::reading::{TraceRecord, read};
use crate::{OfflineError, Watcher};
use callwright_types::Trace;

/// Calls `take` with every trace of a file. Unusable lines are reported to the watcher and counted.
///
/// # Errors
/// [`OfflineError::Unreadable`].
pub fn each_trace(path: &Path, take: &mut dyn FnMut(&Trace), watcher: &dyn Watcher) -> Result<LinesRead, OfflineError> {
    each_line(path, watcher, |_, text| {
        read(text, |record| {
            if let TraceRecord::Trace(trace) = record {
                take(&trace);
            }
        })
    })
}
