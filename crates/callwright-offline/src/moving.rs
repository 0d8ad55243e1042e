//! Everything of a store as JSON Lines, and back.

use std::path::PathBuf;

use tokio::runtime::Handle;

use super::input::Input;
use super::lines::{Batch, Line, Lines};
use super::output::Output;
use super::{OfflineError, Watcher};
use callwright_store::{ExportPosition, Imported, Portable, Store};
use callwright_types::Lesson;

/// How lines with lessons and procedures begin.
const PORTABLE_MEMORY: [&str; 2] = ["{\"lesson\":", "{\"procedure\":"];

/// What `store export` did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// Things that were written.
    pub things: u64,
    /// Things in the store that cannot be read.
    pub problems: u64,
}

/// What `store import` did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportSummary {
    /// Lines that were read.
    pub lines: u64,
    /// Things that the store did not have.
    pub written: u64,
    /// Things that it had.
    pub known: u64,
    /// Lines that could not be used.
    pub problems: u64,
}

/// Writes everything that moves, a part at a time.
///
/// # Errors
/// [`OfflineError`].
pub fn export(
    store: &Store,
    output: PathBuf,
    runtime: &Handle,
    watcher: &dyn Watcher,
) -> Result<ExportSummary, OfflineError> {
    let mut output = Output::create(&output, &[])?;
    let mut summary = ExportSummary::default();
    let mut next = Some(ExportPosition::default());
    while let Some(position) = next {
        let part = runtime.block_on(store.export(position)).map_err(OfflineError::Store)?;
        for problem in &part.problems {
            watcher.left_out(problem);
        }
        let mut lines = Vec::new();
        for thing in &part.things {
            serde_json::to_writer(&mut lines, thing)
                .map_err(|error| OfflineError::Unserialisable(error.to_string()))?;
            lines.push(b'\n');
        }
        output.write(&lines)?;
        summary.things += part.things.len() as u64;
        summary.problems += part.problems.len() as u64;
        next = part.next;
    }
    output.finish()?;
    Ok(summary)
}

/// Writes what an export gave into the store. What is there already, as it is or newer, stays.
///
/// # Errors
/// [`OfflineError`]; what was imported until then is, and importing again goes on.
pub fn import(
    store: &Store,
    input: PathBuf,
    runtime: &Handle,
    watcher: &dyn Watcher,
) -> Result<ImportSummary, OfflineError> {
    let mut lines = Lines::of(Input::open(&input)?);
    let name = lines.name().to_owned();
    watcher.begins(&name, lines.size());
    let mut summary = ImportSummary::default();
    while let Some(batch) = lines.next_batch()? {
        let consumed = batch.consumed;
        import_batch(store, &name, batch, runtime, watcher, &mut summary)?;
        watcher.advances(consumed, summary.lines);
    }
    watcher.ends();
    Ok(summary)
}

fn import_batch(
    store: &Store,
    name: &str,
    batch: Batch,
    runtime: &Handle,
    watcher: &dyn Watcher,
    summary: &mut ImportSummary,
) -> Result<(), OfflineError> {
    let (mut things, mut places) = (Vec::new(), Vec::new());
    for line in batch.lines {
        summary.lines += 1;
        match read(&line) {
            Ok(thing) => {
                things.push(thing);
                places.push(line);
            }
            Err(message) => {
                summary.problems += 1;
                watcher.problem(&line.problem(name, message));
            }
        }
    }
    let outcomes = runtime.block_on(store.import(things)).map_err(OfflineError::Store)?;
    for (outcome, line) in outcomes.into_iter().zip(places) {
        match outcome {
            Ok(Imported::Written) => summary.written += 1,
            Ok(Imported::Known) => summary.known += 1,
            Err(message) => {
                summary.problems += 1;
                watcher.problem(&line.problem(name, message));
            }
        }
    }
    Ok(())
}

fn read(line: &Line) -> Result<Portable, String> {
    let text = line.text.as_ref().map_err(Clone::clone)?;
    let no_line = |error| {
        format!("this is no line of `callwright store export`, nor a lesson of `callwright learn notes`: {error}")
    };
    serde_json::from_str(text).or_else(|error| match serde_json::from_str::<Lesson>(text) {
        Ok(lesson) => Ok(Portable::Lesson(lesson)),
        // It is one, and cannot be used.
        Err(_) if PORTABLE_MEMORY.iter().any(|kind| text.trim_start().starts_with(kind)) => Err(error.to_string()),
        Err(_) => Err(no_line(error)),
    })
}
