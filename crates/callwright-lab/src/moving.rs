//! Export of a store as JSON Lines, and import.

use std::path::PathBuf;

use tokio::runtime::Handle;

use super::OfflineError;
use super::lines::{InputLine, InputLines, LineBatch};
use super::output::OutputWriter;
use callwright_common::progress::{ProgressObserver, StepLength};
use callwright_store::{ExportPosition, ImportResult, PortableItem, Store};
use callwright_types::Lesson;

/// Beginnings of lines with lessons and procedures.
const PORTABLE_MEMORY: [&str; 2] = ["{\"lesson\":", "{\"procedure\":"];

/// Result of `store export`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// Written items.
    pub items: u64,
    /// Unreadable items of the store.
    pub problems: u64,
}

/// Result of `store import`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportSummary {
    pub lines: u64,
    /// Items that were not in the store.
    pub written: u64,
    /// Items that were in the store already.
    pub known: u64,
    /// Unusable lines.
    pub problems: u64,
}

/// Exports the store, part by part.
pub fn export(
    store: &Store,
    output: PathBuf,
    runtime: &Handle,
    observer: &dyn ProgressObserver,
) -> Result<ExportSummary, OfflineError> {
    let mut output = OutputWriter::create(&output, &[])?;
    let mut summary = ExportSummary::default();
    let mut next = Some(ExportPosition::default());
    while let Some(position) = next {
        let part = runtime.block_on(store.export(position)).map_err(OfflineError::Store)?;
        for problem in &part.problems {
            observer.left_out(problem);
        }
        let mut lines = Vec::new();
        for item in &part.items {
            serde_json::to_writer(&mut lines, item).map_err(|error| OfflineError::Unserialisable(error.to_string()))?;
            lines.push(b'\n');
        }
        output.write(&lines)?;
        summary.items += part.items.len() as u64;
        summary.problems += part.problems.len() as u64;
        next = part.next;
    }
    output.finish()?;
    Ok(summary)
}

/// Imports an export into the store. Items that the store has in the same or a newer version are kept.
///
/// # Errors
/// [`OfflineError`]; items imported before the error are kept, and a repeated import continues.
pub fn import(
    store: &Store,
    input: PathBuf,
    runtime: &Handle,
    observer: &dyn ProgressObserver,
) -> Result<ImportSummary, OfflineError> {
    let mut lines = InputLines::open(&input)?;
    let name = lines.name().to_owned();
    observer.begins(&name, StepLength::Bytes(lines.size()));
    let mut summary = ImportSummary::default();
    while let Some(batch) = lines.next_batch()? {
        let consumed = batch.consumed;
        import_batch(store, &name, batch, runtime, observer, &mut summary)?;
        observer.advances(consumed, summary.lines);
    }
    observer.ends();
    Ok(summary)
}

fn import_batch(
    store: &Store,
    name: &str,
    batch: LineBatch,
    runtime: &Handle,
    observer: &dyn ProgressObserver,
    summary: &mut ImportSummary,
) -> Result<(), OfflineError> {
    let (mut items, mut lines) = (Vec::new(), Vec::new());
    for line in batch.lines {
        summary.lines += 1;
        match read(&line) {
            Ok(item) => {
                items.push(item);
                lines.push(line);
            }
            Err(message) => {
                summary.problems += 1;
                observer.problem(&line.problem(name, message));
            }
        }
    }
    let outcomes = runtime.block_on(store.import(items)).map_err(OfflineError::Store)?;
    for (outcome, line) in outcomes.into_iter().zip(lines) {
        match outcome {
            Ok(ImportResult::Written) => summary.written += 1,
            Ok(ImportResult::Unchanged) => summary.known += 1,
            Err(message) => {
                summary.problems += 1;
                observer.problem(&line.problem(name, message));
            }
        }
    }
    Ok(())
}

fn read(line: &InputLine) -> Result<PortableItem, String> {
    let text = line.text()?;
    serde_json::from_str(text).or_else(|error| match serde_json::from_str::<Lesson>(text) {
        Ok(lesson) => Ok(PortableItem::Lesson(lesson)),
        // The line has the form of an export but is invalid.
        Err(_) if PORTABLE_MEMORY.iter().any(|kind| text.trim_start().starts_with(kind)) => Err(error.to_string()),
        Err(_) => Err(format!("the line is not from `callwright store export` or `callwright learn notes`: {error}")),
    })
}
