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
mod rows;
mod words;

use std::path::PathBuf;

use super::OfflineError;
use super::judge::Judge;
use super::lines::{InputLines, LineBatch};
use super::processing::{ProcessedBatch, process_lines};
use callwright_common::parallel::cores;
use callwright_common::progress::ProgressObserver;
use callwright_policy::Policy;
use callwright_search::embedding::{Settings, built_in};
use callwright_search::retrieval::TextVectors;

use counts::JudgedTrace;
pub use counts::{Judgements, Replay};
pub use fates::{Fates, TurnFates};
pub use reading::each_trace;
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
/// [`OfflineError`] if the file cannot be read. Unusable lines are reported to the observer and counted instead.
pub fn replay(job: &ReplayJob, observer: &dyn ProgressObserver) -> Result<Replay, OfflineError> {
    let lines = InputLines::open(&job.traces)?;
    // A damaged table is reported where it is configured; names are compared by spelling then.
    let vectors = built_in(&Settings::default()).ok().map(TextVectors::new);
    let judge = Judge::new(&job.policy, job.native_tool_calls, vectors);
    let process = |batch: &LineBatch, replayed: &mut ProcessedBatch<'_, JudgedTrace>| {
        for line in &batch.lines {
            let read = line
                .text()
                .and_then(|text| reading::read(text, |record| replayed.record(JudgedTrace::new(record, &judge))));
            if let Err(message) = read {
                replayed.problem(line.number, message);
            }
        }
        Ok(())
    };
    let mut all = Replay::default();
    let limits = &job.policy.limits;
    let read = process_lines(lines, None, cores().get(), observer, process, |judged| all.count(&judged, limits))?;
    (all.lines, all.problems) = (read.lines, read.problems);
    Ok(all)
}
