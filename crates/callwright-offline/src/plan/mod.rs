//! `plan`: for recorded requests, either plans or the candidate producers of arguments. Owns the files of these
//! commands. Must not plan by itself: the planner does.

mod drawn;
mod needed;
mod record;
mod summary;
mod toolsets;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::answers::{AnswerLines, answer_lines};
use super::input::{InputReader, STANDARD_STREAM};
use super::lines::{InputLines, LineBatch};
use super::output::OutputWriter;
use super::{OfflineError, Watcher};
use callwright_common::parallel::cores;
use callwright_judge::scanner::{self, Validators};
use callwright_knowledge::planner::producers::{Edges, Request};
use callwright_search::embedding::Embedder;

pub use drawn::{DrawJob, DrawSummary, plans};
use record::{PlanRecord, write};
pub use summary::CandidatesSummary;
use toolsets::{Ingredients, PlanToolsets};

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
/// reported to the watcher and counted in the summary instead.
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
    let toolsets = runtime.block_on(PlanToolsets::read(from, watcher, &mut summary))?;
    let records = InputLines::of(InputReader::open(&job.records)?);
    let output = OutputWriter::create(&job.candidates, &[&job.tools, &job.records])?;
    answer_lines(records, output, cores().get(), &mut summary, watcher, |file, batch, found| {
        of_batch(&toolsets, job, runtime, file, batch, found)
    })?;
    Ok(summary)
}

/// Processes a batch; the vectors of its requests are computed together.
fn of_batch(
    toolsets: &PlanToolsets,
    job: &CandidatesJob,
    runtime: &Handle,
    file: &str,
    batch: &LineBatch,
    answers: &mut AnswerLines<CandidatesSummary>,
) -> Result<(), OfflineError> {
    let mut records = Vec::new();
    for line in &batch.lines {
        let read = line.text.as_deref().map_err(Clone::clone).and_then(PlanRecord::read);
        match read.and_then(|record| toolsets.get(&record.toolset).map(|toolset| (record, toolset))) {
            Ok((record, toolset)) => records.push((Request::parse(&record.query), record, toolset)),
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
