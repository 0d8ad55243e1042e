//! `retrieve`: recorded requests, each with the tools that it wants, best first, as a server ranks them.

mod record;
mod summary;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::answers::{Answers, answer_lines};
use super::input::{Input, STANDARD_STREAM};
use super::lines::{Batch, Lines};
use super::output::Output;
use super::{OfflineError, Watcher};
use callwright_search::embedding::{Embedder, Vector};
use callwright_search::retrieval::ToolQuery;

use record::{query_of, write};
pub use summary::RetrieveSummary;
use tools::Tools;

/// What is to be ranked.
#[derive(Debug)]
pub struct RetrieveJob {
    /// Lines `{"name", "description", "parameters"?}`.
    pub tools: PathBuf,
    /// What was learned of tools that clients send, where it is to count.
    pub representations: Option<PathBuf>,
    /// Lines `{"query"}`.
    pub queries: PathBuf,
    /// Where the rankings go.
    pub rankings: PathBuf,
    /// Names in a ranking, at most.
    pub count: usize,
    /// What turns texts into vectors; without it, words alone are compared.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Is it written too why each tool was found?
    pub details: bool,
    /// Threads that search.
    pub jobs: usize,
}

/// Ranks the tools for every line and writes one line for each that can be used, in their order.
///
/// # Errors
/// [`OfflineError`]: a file that cannot be read or written, no tools, or an embedder that fails. Lines that cannot be used are told to the
/// watcher and counted in the summary instead.
pub fn retrieve(job: &RetrieveJob, runtime: &Handle, watcher: &dyn Watcher) -> Result<RetrieveSummary, OfflineError> {
    if [&job.tools, &job.queries].iter().all(|path| path.as_os_str() == STANDARD_STREAM) {
        return Err(OfflineError::StandardInputTwice { first: "--tools", second: "--in" });
    }
    let mut summary = RetrieveSummary::default();
    let tools = runtime.block_on(Tools::read(job, watcher, &mut summary))?;
    let queries = Lines::of(Input::open(&job.queries)?);
    let output = Output::create(&job.rankings, &[&job.tools, &job.queries])?;
    answer_lines(queries, output, job.jobs, &mut summary, watcher, |file, batch, rankings| {
        rank_batch(&tools, job, runtime, file, batch, rankings)
    })?;
    Ok(summary)
}

/// The queries of a batch get their vectors at once.
fn rank_batch(
    tools: &Tools,
    job: &RetrieveJob,
    runtime: &Handle,
    file: &str,
    batch: &Batch,
    rankings: &mut Answers<RetrieveSummary>,
) -> Result<(), OfflineError> {
    let mut queries = Vec::new();
    for line in &batch.lines {
        match line.text.as_deref().map_err(Clone::clone).and_then(query_of) {
            Ok(query) => queries.push(query),
            Err(message) => rankings.problem(line.problem(file, message)),
        }
    }
    let vectors: Vec<Vector> = match &job.embedder {
        Some(embedder) => runtime.block_on(embedder.embed(queries.clone())).map_err(OfflineError::Unembedded)?,
        None => Vec::new(),
    };
    for (at, query) in queries.iter().enumerate() {
        let found = tools.index().search(&ToolQuery { text: query, vector: vectors.get(at) }, job.count);
        write(query, &found, tools, job.details, &mut rankings.lines);
        rankings.summary.count(&found);
    }
    Ok(())
}
