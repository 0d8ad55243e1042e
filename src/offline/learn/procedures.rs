//! Procedures from exported traces.

use std::path::Path;

use jiff::Timestamp;

use crate::domain::memory::EvidenceKind;
use crate::offline::input::Input;
use crate::offline::lines::Lines;
use crate::offline::replay::reading::{Record, read};
use crate::offline::{OfflineError, Watcher};
use crate::procedures::Gathering;

/// How many lines there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TraceLines {
    /// In all.
    pub lines: u64,
    /// Those that could not be used, which the watcher was told.
    pub problems: u64,
}

/// Takes every trace of a file into `gathering`; `vouched` says who vouches for all of them, where somebody does.
///
/// # Errors
/// [`OfflineError::Unreadable`].
pub fn gather_procedures(
    path: &Path,
    gathering: &mut Gathering,
    vouched: Option<EvidenceKind>,
    watcher: &dyn Watcher,
) -> Result<TraceLines, OfflineError> {
    let mut lines = Lines::of(Input::open(path)?);
    let name = lines.name().to_owned();
    let (now, mut found) = (Timestamp::now(), TraceLines::default());
    watcher.begins(&name, lines.size());
    while let Some(batch) = lines.next_batch()? {
        for line in &batch.lines {
            found.lines += 1;
            let text = line.text.as_deref().map_err(Clone::clone);
            let taken = text.and_then(|text| {
                read(text, |record| {
                    if let Record::Trace(trace) = record {
                        gathering.add(&trace, vouched, now);
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
