//! Processing of input lines into output lines, in order, with batches in parallel.

use super::lines::{InputLines, LineBatch, batch_limits};
use super::output::OutputWriter;
use super::{OfflineError, Problem, Watcher};
use callwright_common::parallel::in_order;

/// Counts over a run.
pub(super) trait LineSummary: Default + Send {
    /// Adds the counts of a batch.
    fn add(&mut self, other: &Self);

    /// Returns the number of answered lines so far.
    fn records(&self) -> u64;

    /// Returns the counter of unusable lines.
    fn problems(&mut self) -> &mut u64;
}

/// Result of a batch.
#[derive(Debug)]
pub(super) struct AnswerLines<S> {
    /// Lines of the output.
    pub(super) lines: Vec<u8>,
    pub(super) summary: S,
    problems: Vec<Problem>,
}

impl<S: LineSummary> AnswerLines<S> {
    /// Records an unusable line.
    pub(super) fn problem(&mut self, problem: Problem) {
        *self.summary.problems() += 1;
        self.problems.push(problem);
    }
}

/// Processes all lines with `answer`, a batch with the name of its file at a time, in `workers` threads. Writes the
/// output in the order of the lines.
///
/// # Errors
/// [`OfflineError`] if a file cannot be read or written, or `answer` fails. Unusable lines are reported to the watcher
/// and counted in the summary instead.
pub(super) fn answer_lines<S: LineSummary>(
    lines: InputLines,
    mut output: OutputWriter,
    workers: usize,
    summary: &mut S,
    watcher: &dyn Watcher,
    answer: impl Fn(&str, &LineBatch, &mut AnswerLines<S>) -> Result<(), OfflineError> + Sync,
) -> Result<(), OfflineError> {
    let name = lines.name().to_owned();
    watcher.begins(&name, lines.size());
    let answered = in_order(
        batch_limits(workers),
        lines.into_batches(),
        |_| 0,
        |batch| {
            let batch = batch?;
            let mut answers = AnswerLines { lines: Vec::new(), summary: S::default(), problems: Vec::new() };
            answer(&name, &batch, &mut answers)?;
            Ok((answers, batch.consumed))
        },
        |answered: Result<(AnswerLines<S>, u64), OfflineError>| {
            let (answers, consumed) = answered?;
            answers.problems.iter().for_each(|problem| watcher.problem(problem));
            output.write(&answers.lines)?;
            summary.add(&answers.summary);
            watcher.advances(consumed, summary.records());
            Ok(())
        },
    );
    watcher.ends();
    answered.and_then(|()| output.finish())
}
