//! `plan`: for recorded requests, either plans or the candidate producers of arguments. Owns the files of these
//! commands. Must not plan by itself: the planner does.

mod drawn;
mod record;
mod toolsets;

use std::path::PathBuf;
use std::sync::Arc;

use record::{RequestCandidates, candidates_line, needed_line, read_batch};
use tokio::runtime::Handle;
use toolsets::{Ingredients, PlanToolsets, ToolsetCounts};

use super::OfflineError;
use super::input::refuse_second_stream;
use super::lines::{InputLines, LineBatch};
use super::output::OutputWriter;
use super::processing::{ProcessedBatch, process_lines};
use callwright_common::parallel::cores;
use callwright_common::progress::ProgressObserver;
use callwright_judge::scanner;
use callwright_judge::scanner::Validators;
use callwright_plan::producers::Edges;
use callwright_search::embedding::Embedder;

pub use drawn::{DrawJob, DrawSummary, plans};

/// Inputs and settings of a run.
#[derive(Debug)]
pub struct CandidatesJob {
    /// Lines `{"id", "tools"}`.
    pub tools: PathBuf,
    /// Lines `{"id", "query", "toolset", "calls"?}`.
    pub records: PathBuf,
    /// Output file of the candidates.
    pub candidates: PathBuf,
    /// Edges that an operator confirms and forbids.
    pub edges: Edges,
    /// Maximum number of candidates of an argument.
    pub count: usize,
    /// Embedding model; without it, texts are compared by words only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Whether the reasons for each candidate are written too.
    pub details: bool,
    /// Whether the output states if a plan is needed, instead of the candidates.
    pub auto: bool,
}

/// Finds the candidates of every line and writes one output line for each usable one, in order.
///
/// # Errors
/// [`OfflineError`] if a file cannot be read or written, there is no toolset, or the embedder fails. Unusable lines are
/// reported to the observer and counted in the summary instead.
pub fn candidates(
    job: &CandidatesJob,
    runtime: &Handle,
    observer: &dyn ProgressObserver,
) -> Result<CandidatesSummary, OfflineError> {
    refuse_second_stream(&[("--tools", Some(&job.tools)), ("--in", Some(&job.records))])?;
    let CandidatesJob { tools, edges, embedder, .. } = job;
    let validators = job.auto.then(|| Validators::new(&scanner::Settings::default()));
    let from = Ingredients { tools, edges, embedder: embedder.as_ref(), validators: validators.as_ref() };
    let toolsets = runtime.block_on(PlanToolsets::read(from, observer))?;
    let ToolsetCounts { toolsets: known, tools, repeated, problems } = toolsets.counts;
    let mut summary = CandidatesSummary { toolsets: known, tools, repeated, problems, ..CandidatesSummary::default() };
    let records = InputLines::open(&job.records)?;
    let output = OutputWriter::create(&job.candidates, &[&job.tools, &job.records])?;
    let process = |batch: &LineBatch, found: &mut ProcessedBatch<'_, RecordResult>| {
        for read in runtime.block_on(read_batch(batch, &toolsets, job.embedder.as_deref(), found))? {
            if job.auto {
                let line = needed_line(&read);
                found.write(&line);
                found.record(RecordResult::Needed(line.plan_needed));
                continue;
            }
            let candidates = read.candidates(job.count);
            found.write(&candidates_line(&read.record, &candidates, read.toolset, job.details));
            found.record(RecordResult::Candidates(candidates));
        }
        Ok(())
    };
    let read = process_lines(records, Some(output), cores().get(), observer, process, |result| summary.count(&result))?;
    summary.problems += read.problems;
    Ok(summary)
}

/// Counts over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CandidatesSummary {
    /// Usable toolsets.
    pub toolsets: u64,
    pub tools: u64,
    /// Tools skipped because their toolset has another tool of the same name.
    pub repeated: u64,
    /// Answered records.
    pub records: u64,
    /// Records that need a plan, if that is computed.
    pub needed: u64,
    /// Arguments searched for.
    pub arguments: u64,
    /// Arguments without a candidate.
    pub empty: u64,
    /// Calls of records that name a tool outside the toolset; they are skipped.
    pub unknown_calls: u64,
    /// Lines of tools and records that are unusable as a whole or in part.
    pub problems: u64,
}

#[derive(Debug)]
enum RecordResult {
    /// Whether the record needs a plan.
    Needed(bool),
    /// Candidates of its arguments.
    Candidates(RequestCandidates),
}

impl CandidatesSummary {
    fn count(&mut self, result: &RecordResult) {
        self.records += 1;
        match result {
            RecordResult::Needed(is_needed) => self.needed += u64::from(*is_needed),
            RecordResult::Candidates(found) => {
                self.arguments += found.arguments.len() as u64;
                self.empty += found.arguments.iter().filter(|(_, _, candidates)| candidates.is_empty()).count() as u64;
                self.unknown_calls += found.unknown_calls;
            }
        }
    }
}
