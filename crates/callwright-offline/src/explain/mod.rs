//! `explain`: explains recorded API failures from a folder of documentation, as a server does.

mod docs;
mod record;
mod summary;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::answers::answer_lines;
use super::input::InputReader;
use super::lines::InputLines;
use super::output::OutputWriter;
use super::{OfflineError, Watcher};
use callwright_common::parallel::cores;
use callwright_knowledge::explain::Settings;
use callwright_search::embedding::Embedder;

use docs::DocumentLibrary;
use record::{explain_line, learn_line};
pub use summary::ExplainSummary;

/// Inputs and settings of a run.
#[derive(Debug)]
pub struct ExplainJob {
    /// Documentation folder; the stem of a file name is the name of its API.
    pub docs: PathBuf,
    /// Lines `{"id", "api", "operation"?, "status"?, "body"}`.
    pub failures: PathBuf,
    /// Output file of the passages.
    pub explanations: PathBuf,
    /// Limits of an explanation: its length and minimum scores.
    pub settings: Settings,
    /// Embedding model; without it, search uses words only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Whether sources and scores of passages are written too.
    pub details: bool,
}

/// Maximum number of failures from which the constant members of an API's bodies are learned.
const MAX_LEARNED: usize = 20_000;

/// Learns the constant members of the APIs' error bodies from the failures, so that their order does not matter.
/// Standard input can be read only once, so nothing is learned from it.
fn learn_envelopes(job: &ExplainJob, library: &DocumentLibrary) -> Result<(), OfflineError> {
    if job.failures.as_os_str() == "-" {
        return Ok(());
    }
    let mut lines = InputLines::of(InputReader::open(&job.failures)?);
    let mut left = MAX_LEARNED;
    while left > 0
        && let Some(batch) = lines.next_batch()?
    {
        for line in batch.lines.iter().take(left) {
            if let Ok(text) = &line.text {
                learn_line(text, library);
            }
        }
        left = left.saturating_sub(batch.lines.len());
    }
    Ok(())
}

/// Explains every line and writes one output line for each usable one, in order.
///
/// # Errors
/// [`OfflineError`] if a file cannot be read or written, or the folder has no documentation. Unusable lines are
/// reported to the watcher and counted in the summary instead.
pub fn explain(job: &ExplainJob, runtime: &Handle, watcher: &dyn Watcher) -> Result<ExplainSummary, OfflineError> {
    let library = runtime.block_on(DocumentLibrary::read(&job.docs, &job.settings, job.embedder.as_ref()))?;
    library.errors().iter().for_each(|error| watcher.left_out(&error.to_string()));
    learn_envelopes(job, &library)?;
    let failures = InputLines::of(InputReader::open(&job.failures)?);
    let output = OutputWriter::create(&job.explanations, &[&job.failures])?;
    let mut summary = ExplainSummary::of(&library);
    answer_lines(failures, output, cores().get(), &mut summary, watcher, |file, batch, answers| {
        for line in &batch.lines {
            let read = line.text.as_deref().map_err(Clone::clone);
            let explained =
                read.and_then(|text| runtime.block_on(explain_line(text, &library, job.details, &mut answers.lines)));
            match explained {
                Ok(explanation) => answers.summary.count(&explanation),
                Err(message) => answers.problem(line.problem(file, message)),
            }
        }
        Ok(())
    })?;
    library.warnings().iter().for_each(|warning| watcher.left_out(warning));
    Ok(summary)
}
