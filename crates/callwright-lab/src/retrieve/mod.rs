//! `retrieve`: ranks tools for recorded requests, best first, as a server does.

mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;
use tools::RetrievalTools;
use tools::{query_of, ranking_line};

use super::OfflineError;
use super::input::refuse_second_stream;
use super::lines::{InputLines, LineBatch};
use super::output::OutputWriter;
use super::processing::{ProcessedBatch, process_lines};
use callwright_common::parallel::cores;
use callwright_common::progress::ProgressObserver;
use callwright_search::embedding::{Embedder, Vector};
use callwright_search::retrieval::ToolQuery;

pub(crate) use tools::tool_index;

/// Ranks the tools for every line and writes one output line for each usable one, in order.
///
/// # Errors
/// [`OfflineError`] if a file cannot be read or written, there are no tools, or the embedder fails. Unusable lines are
/// reported to the observer and counted in the summary instead.
pub fn retrieve(
    job: &RetrieveJob,
    runtime: &Handle,
    observer: &dyn ProgressObserver,
) -> Result<RetrieveSummary, OfflineError> {
    refuse_second_stream(&[("--tools", Some(&job.tools)), ("--in", Some(&job.queries))])?;
    let mut summary = RetrieveSummary::default();
    let tools = runtime.block_on(RetrievalTools::read(job, observer, &mut summary))?;
    let queries = InputLines::open(&job.queries)?;
    let output = OutputWriter::create(&job.rankings, &[&job.tools, &job.queries])?;
    let process =
        |batch: &LineBatch, rankings: &mut ProcessedBatch<'_, bool>| rank_batch(&tools, job, runtime, batch, rankings);
    let read =
        process_lines(queries, Some(output), cores().get(), observer, process, |is_empty| summary.count(is_empty))?;
    summary.problems += read.problems;
    Ok(summary)
}

/// Processes a batch; the vectors of its queries are computed together.
fn rank_batch(
    tools: &RetrievalTools,
    job: &RetrieveJob,
    runtime: &Handle,
    batch: &LineBatch,
    rankings: &mut ProcessedBatch<'_, bool>,
) -> Result<(), OfflineError> {
    let queries: Vec<String> = rankings.parse(batch, query_of).into_iter().map(|(_, query)| query).collect();
    let vectors: Vec<Vector> = match &job.embedder {
        Some(embedder) => runtime.block_on(embedder.embed(queries.clone())).map_err(OfflineError::Unembedded)?,
        None => Vec::new(),
    };
    for (at, query) in queries.iter().enumerate() {
        let found = tools.index.search(&ToolQuery { text: query, vector: vectors.get(at) }, job.count);
        rankings.write(&ranking_line(query, &found, tools, job.details));
        rankings.record(found.is_empty());
    }
    Ok(())
}

/// Inputs and settings of a run.
#[derive(Debug)]
pub struct RetrieveJob {
    /// Lines `{"name", "description", "parameters"?}`.
    pub tools: PathBuf,
    /// Learned representations of tools defined by clients, if they are used.
    pub representations: Option<PathBuf>,
    /// Lines `{"query"}`.
    pub queries: PathBuf,
    /// Output file of the rankings.
    pub rankings: PathBuf,
    /// Maximum number of names in a ranking.
    pub count: usize,
    /// Embedding model; without it, texts are compared by words only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Whether the reasons for each tool are written too.
    pub details: bool,
}

/// Counts over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetrieveSummary {
    /// Ranked tools.
    pub tools: u64,
    /// Tools with learned representations.
    pub learned: u64,
    /// Answered queries.
    pub records: u64,
    /// Queries without a found tool.
    pub empty: u64,
    /// Whether the classifier beside the representations is not used, because it was learned with other vectors.
    pub unfit_classifier: bool,
    /// Unusable lines of tools and queries.
    pub problems: u64,
}

impl RetrieveSummary {
    pub(super) fn count(&mut self, is_empty: bool) {
        self.records += 1;
        self.empty += u64::from(is_empty);
    }
}
