//! `plan`: recorded requests, each with its plan, or with the tools that can supply the arguments of the tools that it may need.

mod drawn;
mod needed;
mod record;
mod summary;
mod toolsets;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::answers::{Answers, answer_lines};
use super::input::{Input, STANDARD_STREAM};
use super::lines::{Batch, Lines};
use super::output::Output;
use super::{OfflineError, Watcher};
use callwright_judge::scanner::{self, Validators};
use callwright_knowledge::planner::producers::{Edges, Request};
use callwright_search::embedding::Embedder;

pub use drawn::{DrawJob, DrawSummary, plans};
use record::{PlanRecord, write};
pub use summary::CandidatesSummary;
use toolsets::{Ingredients, Toolsets};

/// What candidates are looked for.
#[derive(Debug)]
pub struct CandidatesJob {
    /// Lines `{"id", "tools"}`.
    pub tools: PathBuf,
    /// Lines `{"id", "query", "toolset", "calls"?}`.
    pub records: PathBuf,
    /// Where the candidates go.
    pub candidates: PathBuf,
    /// What an operator confirms and forbids.
    pub edges: Edges,
    /// Candidates of an argument, at most.
    pub count: usize,
    /// What turns texts into vectors; without it, words alone are compared.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Is it written too why each is a candidate?
    pub details: bool,
    /// Is it written whether a plan is needed, in place of the candidates?
    pub auto: bool,
    /// Threads that search.
    pub jobs: usize,
}

/// Looks for the candidates of every line and writes one line for each that can be used, in their order.
///
/// # Errors
/// [`OfflineError`]: a file that cannot be read or written, no toolset, or an embedder that fails. Lines that cannot be used are told to the
/// watcher and counted in the summary instead.
pub fn candidates(
    job: &CandidatesJob,
    runtime: &Handle,
    watcher: &dyn Watcher,
) -> Result<CandidatesSummary, OfflineError> {
    if [&job.tools, &job.records].iter().all(|path| path.as_os_str() == STANDARD_STREAM) {
        return Err(OfflineError::StandardInputTwice { first: "--tools", second: "--in" });
    }
    let mut summary = CandidatesSummary::default();
    let CandidatesJob { tools, edges, embedder, .. } = job;
    let validators = job.auto.then(|| Validators::new(&scanner::Settings::default()));
    let from = Ingredients { tools, edges, embedder: embedder.as_ref(), validators: validators.as_ref() };
    let toolsets = runtime.block_on(Toolsets::read(from, watcher, &mut summary))?;
    let records = Lines::of(Input::open(&job.records)?);
    let output = Output::create(&job.candidates, &[&job.tools, &job.records])?;
    answer_lines(records, output, job.jobs, &mut summary, watcher, |file, batch, found| {
        of_batch(&toolsets, job, runtime, file, batch, found)
    })?;
    Ok(summary)
}

/// The requests of a batch get their vectors at once.
fn of_batch(
    toolsets: &Toolsets,
    job: &CandidatesJob,
    runtime: &Handle,
    file: &str,
    batch: &Batch,
    answers: &mut Answers<CandidatesSummary>,
) -> Result<(), OfflineError> {
    let mut records = Vec::new();
    for line in &batch.lines {
        let read = line.text.as_deref().map_err(Clone::clone).and_then(PlanRecord::read);
        match read.and_then(|record| toolsets.get(&record.toolset).map(|toolset| (record, toolset))) {
            Ok((record, toolset)) => records.push((Request::read(&record.query), record, toolset)),
            Err(message) => answers.problem(line.problem(file, message)),
        }
    }
    let texts: Vec<String> = records.iter().flat_map(|(request, _, _)| request.texts()).collect();
    let vectors = match &job.embedder {
        Some(embedder) => runtime.block_on(embedder.embed(texts)).map_err(OfflineError::Unembedded)?,
        None => Vec::new(),
    };
    let mut vectors = vectors.as_slice();
    for (request, record, toolset) in &records {
        let (of_request, others) = vectors.split_at_checked(request.texts().len()).unwrap_or((&[], vectors));
        vectors = others;
        if job.auto {
            needed::write(record, toolset, request, of_request, answers);
            continue;
        }
        let found = toolset.candidates(request, of_request, record.calls.as_deref(), job.count);
        answers.summary.count(&found);
        write(record, &found, toolset, job.details, &mut answers.lines);
    }
    Ok(())
}
