//! Reads the operations of a document, in several threads if there are many.

use std::sync::{Mutex, PoisonError};

use crate::load::reader::OperationReader;
use crate::{DocumentOperation, LoadNotes, Operation, SkippedOperation};
use callwright_common::parallel::map_all;

/// Number of operations that a thread reads at a time. For fewer operations, one thread is faster.
const BATCH_OPERATIONS: usize = 128;

/// The operations of a document that became tools, and the others.
#[derive(Default)]
pub(crate) struct LoadedOperations<'d> {
    pub(crate) loaded: Vec<(&'d DocumentOperation<'d>, Operation)>,
    pub(crate) skipped: Vec<SkippedOperation>,
}

/// Reads the operations `sources` as tools with these names. `reader` creates a reader; each thread has one.
pub(crate) fn read_operations<'d>(
    sources: &'d [DocumentOperation<'d>],
    names: &[String],
    reader: impl Fn() -> OperationReader<'d> + Sync,
    notes: &mut LoadNotes,
) -> LoadedOperations<'d> {
    let batches: Vec<_> = sources.chunks(BATCH_OPERATIONS).zip(names.chunks(BATCH_OPERATIONS)).collect();
    let idle: Mutex<Vec<OperationReader<'d>>> = Mutex::default();
    let read = |&(sources, names): &(&'d [DocumentOperation<'d>], &[String])| {
        let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = waiting.unwrap_or_else(&reader);
        let read = read_batch(&mut reader, sources, names);
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        read
    };
    let results = if batches.len() > 1 { map_all(&batches, read) } else { batches.iter().map(read).collect() };
    let mut all = LoadedOperations::default();
    for (operations, remarks) in results {
        all.loaded.extend(operations.loaded);
        all.skipped.extend(operations.skipped);
        notes.append(remarks);
    }
    all
}

fn read_batch<'d>(
    reader: &mut OperationReader<'d>,
    sources: &'d [DocumentOperation<'d>],
    names: &[String],
) -> (LoadedOperations<'d>, LoadNotes) {
    let (mut read, mut notes) = (LoadedOperations::default(), LoadNotes::default());
    for (source, name) in sources.iter().zip(names) {
        notes.begin(&source.label());
        match reader.tool(source, name.clone(), &mut notes) {
            Ok(operation) => read.loaded.push((source, operation)),
            Err(reason) => read.skipped.push(SkippedOperation { operation: source.label(), reason }),
        }
    }
    (read, notes)
}
