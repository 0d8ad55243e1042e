//! Processing of input lines, in order, with batches in parallel.

use serde::Serialize;

use super::OfflineError;
use super::lines::{InputLines, LineBatch, LinesRead, batch_limits};
use super::output::OutputWriter;
use callwright_common::json::raw;
use callwright_common::parallel::in_order;
use callwright_common::progress::{Problem, ProgressObserver, StepLength};

/// Results of a batch.
#[derive(Debug)]
pub(super) struct ProcessedBatch<'f, R> {
    file: &'f str,
    output: Vec<u8>,
    records: Vec<R>,
    problems: Vec<Problem>,
}

impl<R> ProcessedBatch<'_, R> {
    /// Parses each line of the batch. Returns the usable ones with their line numbers.
    pub(super) fn parse<'b, T>(
        &mut self,
        batch: &'b LineBatch,
        parse: impl Fn(&'b str) -> Result<T, String>,
    ) -> Vec<(u64, T)> {
        let mut parsed = Vec::with_capacity(batch.lines.len());
        for line in &batch.lines {
            match line.text().and_then(&parse) {
                Ok(usable) => parsed.push((line.number, usable)),
                Err(message) => self.problem(line.number, message),
            }
        }
        parsed
    }

    /// Records an unusable line.
    pub(super) fn problem(&mut self, line: u64, message: String) {
        self.problems.push(Problem { file: self.file.to_owned(), line, message });
    }

    /// Adds the result of a record, for the counts.
    pub(super) fn record(&mut self, record: R) {
        self.records.push(record);
    }

    /// Appends a line to the output.
    pub(super) fn write(&mut self, line: &impl Serialize) {
        self.output.extend_from_slice(raw(line).get().as_bytes());
        self.output.push(b'\n');
    }
}

/// Processes all lines with `process`, a batch at a time, in `workers` threads. Writes the output and counts the records
/// in the order of the lines.
///
/// # Errors
/// [`OfflineError`] if a file cannot be read or written, or `process` fails. Unusable lines are reported to the observer
/// and counted instead.
pub(super) fn process_lines<R: Send>(
    lines: InputLines,
    mut output: Option<OutputWriter>,
    workers: usize,
    observer: &dyn ProgressObserver,
    process: impl Fn(&LineBatch, &mut ProcessedBatch<'_, R>) -> Result<(), OfflineError> + Sync,
    mut count: impl FnMut(R),
) -> Result<LinesRead, OfflineError> {
    let name = lines.name().to_owned();
    observer.begins(&name, StepLength::Bytes(lines.size()));
    let (mut read, mut records) = (LinesRead::default(), 0);
    let processed: Result<(), OfflineError> = in_order(
        batch_limits(workers),
        lines.into_batches(),
        |_| 0,
        |batch| {
            let batch = batch?;
            let (output, records, problems) = Default::default();
            let mut processed = ProcessedBatch { file: &name, output, records, problems };
            process(&batch, &mut processed)?;
            Ok((processed, batch.lines.len(), batch.consumed))
        },
        |processed: Result<(ProcessedBatch<'_, R>, usize, u64), OfflineError>| {
            let (processed, lines, consumed) = processed?;
            processed.problems.iter().for_each(|problem| observer.problem(problem));
            if let Some(output) = &mut output {
                output.write(&processed.output)?;
            }
            read.lines += lines as u64;
            read.problems += processed.problems.len() as u64;
            records += processed.records.len() as u64;
            processed.records.into_iter().for_each(&mut count);
            observer.advances(consumed, records);
            Ok(())
        },
    );
    observer.ends();
    processed?;
    output.map_or(Ok(()), OutputWriter::finish)?;
    Ok(read)
}
