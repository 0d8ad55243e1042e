//! Reads the operations of a document, in several threads if there are many.

use std::io;
use std::sync::{Mutex, PoisonError};

use crate::Operation;
use crate::load::operation_list::DocumentOperation;
use crate::load::reader::OperationReader;
use crate::report::SkippedOperation;
use crate::report::notes::LoadNotes;
use callwright_common::parallel::{WorkLimits, cores, in_order};

/// Number of operations up to which one thread is faster.
const FEW_OPERATIONS: usize = 256;

/// Number of operations that a thread reads at a time.
const BATCH_OPERATIONS: usize = 64;

/// Number of batches per thread that may wait for an earlier one.
const BATCHES_AHEAD: usize = 8;

/// The operations of a document that became tools, and the others.
#[derive(Default)]
pub(crate) struct LoadedOperations<'d> {
    pub(crate) loaded: Vec<(&'d DocumentOperation<'d>, Operation)>,
    pub(crate) skipped: Vec<SkippedOperation>,
}

/// Result of one batch.
struct ReadBatch<'d> {
    operations: LoadedOperations<'d>,
    notes: LoadNotes,
}

/// Reads the operations `sources` as tools with these names. `reader` creates a reader; each thread has one.
pub(crate) fn read_operations<'d>(
    sources: &'d [DocumentOperation<'d>],
    names: &[String],
    reader: impl Fn() -> OperationReader<'d> + Sync,
    notes: &mut LoadNotes,
) -> LoadedOperations<'d> {
    let workers = cores().get();
    if workers > 1
        && sources.len() > FEW_OPERATIONS
        && let Ok((read, remarks)) = in_threads(sources, names, &reader, workers)
    {
        notes.append(remarks);
        return read;
    }
    let ReadBatch { operations, notes: remarks } = batch(&mut reader(), sources, names);
    notes.append(remarks);
    operations
}

fn in_threads<'d>(
    sources: &'d [DocumentOperation<'d>],
    names: &[String],
    reader: &(impl Fn() -> OperationReader<'d> + Sync),
    workers: usize,
) -> io::Result<(LoadedOperations<'d>, LoadNotes)> {
    let idle: Mutex<Vec<OperationReader<'d>>> = Mutex::default();
    let limits = WorkLimits { workers, weight: u64::MAX, ahead: workers * BATCHES_AHEAD };
    let batches = sources.chunks(BATCH_OPERATIONS).zip(names.chunks(BATCH_OPERATIONS));
    let (mut all, mut notes) = (LoadedOperations::default(), LoadNotes::default());
    in_order(
        limits,
        batches,
        |_| 0,
        |(sources, names)| {
            let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut reader = waiting.unwrap_or_else(reader);
            let read = batch(&mut reader, sources, names);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
            read
        },
        |ReadBatch { operations, notes: remarks }| {
            all.loaded.extend(operations.loaded);
            all.skipped.extend(operations.skipped);
            notes.append(remarks);
            io::Result::Ok(())
        },
    )?;
    Ok((all, notes))
}

fn batch<'d>(
    reader: &mut OperationReader<'d>,
    sources: &'d [DocumentOperation<'d>],
    names: &[String],
) -> ReadBatch<'d> {
    let mut read = ReadBatch { operations: LoadedOperations::default(), notes: LoadNotes::default() };
    for (source, name) in sources.iter().zip(names) {
        read.notes.begin(&source.label());
        match reader.tool(source, name.clone(), &mut read.notes) {
            Ok(operation) => read.operations.loaded.push((source, operation)),
            Err(reason) => read.operations.skipped.push(SkippedOperation { operation: source.label(), reason }),
        }
    }
    read
}
