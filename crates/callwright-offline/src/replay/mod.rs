//! `replay`: outcomes of recorded turns under a given policy. Owns the counts and their report. Must not judge by
//! itself.
//!
//! It counts the answers that the model gave before any feedback: those to the client's request and to tool results.
//! Answers to feedback depend on that feedback, so they are not counted.

mod again;
mod answer;
mod counts;
mod fates;
pub(super) mod reading;
mod recorded;
mod rows;
mod words;

use std::path::PathBuf;

use super::input::InputReader;
use super::judge::Judge;
use super::lines::{InputLines, LineBatch, batch_limits};
use super::{OfflineError, Problem, Watcher};
use callwright_common::parallel::{cores, in_order};
use callwright_policy::Policy;
use callwright_search::embedding::{Settings, built_in};
use callwright_search::retrieval::TextVectors;

pub use counts::{Judgements, Replay};
pub use fates::{Fates, TurnFates};
pub use rows::{Row, Rows};
pub use words::{ReplayReport, grouped};

/// Inputs and settings of a run.
#[derive(Debug)]
pub struct ReplayJob {
    /// Traces from `GET /admin/traces/{id}`, lists or pages of them, or pages of summaries.
    pub traces: PathBuf,
    /// Policy to apply, as in mode `guard`.
    pub policy: Policy,
    /// Whether the upstream delivers native calls. Text is less readily taken for a call then.
    pub native_tool_calls: bool,
}

/// Reads the traces once and counts the outcomes.
///
/// # Errors
/// [`OfflineError`] if the file cannot be read. Unusable lines are reported to the watcher and counted instead.
pub fn replay(job: &ReplayJob, watcher: &dyn Watcher) -> Result<Replay, OfflineError> {
    let lines = InputLines::of(InputReader::open(&job.traces)?);
    let name = lines.name().to_owned();
    watcher.begins(&name, lines.size());
    // A damaged table is reported where it is configured; names are compared by spelling then.
    let vectors = built_in(&Settings::default()).ok().map(TextVectors::new);
    let judge = Judge::new(&job.policy, job.native_tool_calls, vectors);
    let mut all = Replay::default();
    let counted: Result<(), OfflineError> = in_order(
        batch_limits(cores().get()),
        lines.into_batches(),
        |_| 0,
        |batch| batch.map(|batch| count_batch(&judge, &name, &batch)),
        |counted| {
            let (of_batch, problems, consumed) = counted?;
            problems.iter().for_each(|problem| watcher.problem(problem));
            all.add(of_batch);
            watcher.advances(consumed, all.turns.all());
            Ok(())
        },
    );
    watcher.ends();
    counted?;
    Ok(all)
}

fn count_batch(judge: &Judge<'_>, file: &str, batch: &LineBatch) -> (Replay, Vec<Problem>, u64) {
    let (mut counted, mut problems) = (Replay::default(), Vec::new());
    for line in &batch.lines {
        counted.lines += 1;
        let read = line.text.as_deref().map_err(Clone::clone);
        if let Err(message) = read.and_then(|text| reading::read(text, |record| counted.count(&record, judge))) {
            counted.problems += 1;
            problems.push(line.problem(file, message));
        }
    }
    (counted, problems, batch.consumed)
}
