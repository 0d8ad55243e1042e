//! `explain`: explains recorded API failures from a folder of documentation, as a server does.

mod docs;
mod record;

use std::path::PathBuf;
use std::sync::Arc;

use docs::DocumentLibrary;
use record::{explain_line, learn_line};
use tokio::runtime::Handle;

use super::OfflineError;
use super::input::STANDARD_STREAM;
use super::lines::{InputLines, LineBatch};
use super::output::OutputWriter;
use super::processing::{ProcessedBatch, process_lines};
use callwright_common::parallel::cores;
use callwright_common::progress::ProgressObserver;
use callwright_explain::Settings;
use callwright_search::embedding::Embedder;
use callwright_types::Explanation;

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
    if job.failures.as_os_str() == STANDARD_STREAM {
        return Ok(());
    }
    let mut lines = InputLines::open(&job.failures)?;
    for _ in 0..MAX_LEARNED {
        let Some(line) = lines.next_line()? else { break };
        if let Ok(text) = &line.text {
            learn_line(text, library);
        }
    }
    Ok(())
}

/// Explains every line and writes one output line for each usable one, in order.
///
/// # Errors
/// [`OfflineError`] if a file cannot be read or written, or the folder has no documentation. Unusable lines are
/// reported to the observer and counted in the summary instead.
pub fn explain(
    job: &ExplainJob,
    runtime: &Handle,
    observer: &dyn ProgressObserver,
) -> Result<ExplainSummary, OfflineError> {
    let library = runtime.block_on(DocumentLibrary::read(&job.docs, &job.settings, job.embedder.as_ref()))?;
    library.errors.iter().for_each(|error| observer.left_out(&error.to_string()));
    learn_envelopes(job, &library)?;
    let failures = InputLines::open(&job.failures)?;
    let output = OutputWriter::create(&job.explanations, &[&job.failures])?;
    let mut summary = ExplainSummary::of(&library);
    let process = |batch: &LineBatch, explained: &mut ProcessedBatch<'_, Explanation>| {
        let parsed = explained.parse(batch, |text| runtime.block_on(explain_line(text, &library, job.details)));
        for (_, (line, explanation)) in parsed {
            explained.write(&line);
            explained.record(explanation);
        }
        Ok(())
    };
    let read = process_lines(failures, Some(output), cores().get(), observer, process, |explanation| {
        summary.count(&explanation)
    })?;
    summary.problems += read.problems;
    library.warnings().iter().for_each(|warning| observer.left_out(warning));
    Ok(summary)
}

/// Counts over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainSummary {
    /// APIs in the folder.
    pub apis: u64,
    /// Indexed passages.
    pub indexed: u64,
    /// Processed failures.
    pub records: u64,
    /// Failures with at least one passage.
    pub explained: u64,
    /// Returned passages.
    pub passages: u64,
    /// Characters of the returned passages.
    pub characters: u64,
    /// Unusable lines.
    pub problems: u64,
}

impl ExplainSummary {
    fn of(library: &DocumentLibrary) -> Self {
        Self { apis: library.apis.len() as u64, indexed: library.explainer.passages() as u64, ..Self::default() }
    }

    pub(super) fn count(&mut self, explanation: &Explanation) {
        self.records += 1;
        self.explained += u64::from(explanation.is_hit());
        self.passages += explanation.passages.len() as u64;
        self.characters += explanation.passages.iter().map(|passage| passage.text.chars().count() as u64).sum::<u64>();
    }
}
