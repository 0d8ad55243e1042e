//! `retrieve`: ranks tools for recorded requests, best first, as a server does.

mod job;
mod record;
mod tools;

use tokio::runtime::Handle;

use super::answers::{AnswerLines, answer_lines};
use super::input::{InputReader, STANDARD_STREAM};
use super::lines::{InputLines, LineBatch};
use super::output::OutputWriter;
use super::{OfflineError, Watcher};
use callwright_common::parallel::cores;
use callwright_search::embedding::Vector;
use callwright_search::retrieval::ToolQuery;

pub use job::{RetrieveJob, RetrieveSummary};
use record::{query_of, write};
use tools::RetrievalTools;

pub(crate) use tools::tool_index;

/// Ranks the tools for every line and writes one output line for each usable one, in order.
///
/// # Errors
/// [`OfflineError`] if a file cannot be read or written, there are no tools, or the embedder fails. Unusable lines are
/// reported to the watcher and counted in the summary instead.
pub fn retrieve(job: &RetrieveJob, runtime: &Handle, watcher: &dyn Watcher) -> Result<RetrieveSummary, OfflineError> {
    if [&job.tools, &job.queries].iter().all(|path| path.as_os_str() == STANDARD_STREAM) {
        return Err(OfflineError::StandardInputTwice { first: "--tools", second: "--in" });
    }
    let mut summary = RetrieveSummary::default();
    let tools = runtime.block_on(RetrievalTools::read(job, watcher, &mut summary))?;
    let queries = InputLines::of(InputReader::open(&job.queries)?);
    let output = OutputWriter::create(&job.rankings, &[&job.tools, &job.queries])?;
    answer_lines(queries, output, cores().get(), &mut summary, watcher, |file, batch, rankings| {
        rank_batch(&tools, job, runtime, file, batch, rankings)
    })?;
    Ok(summary)
}

/// Processes a batch; the vectors of its queries are computed together.
fn rank_batch(
    tools: &RetrievalTools,
    job: &RetrieveJob,
    runtime: &Handle,
    file: &str,
    batch: &LineBatch,
    rankings: &mut AnswerLines<RetrieveSummary>,
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
