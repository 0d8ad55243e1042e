//! `explain`: recorded failures of APIs, explained from a folder of documentation as a server would explain them.

mod docs;
mod record;
mod summary;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::answers::answer_lines;
use super::input::Input;
use super::lines::Lines;
use super::output::Output;
use super::{OfflineError, Watcher};
use callwright_knowledge::explain::Settings;
use callwright_search::embedding::Embedder;

use docs::Library;
use record::explain_line;
pub use summary::ExplainSummary;

/// What is to be explained.
#[derive(Debug)]
pub struct ExplainJob {
    /// The folder of documentation; the stem of a file's name is the name of its API.
    pub docs: PathBuf,
    /// Lines `{"id", "api", "operation"?, "status"?, "body"}`.
    pub failures: PathBuf,
    /// Where the passages go.
    pub explanations: PathBuf,
    /// How much an explanation may say, and how sure it must be.
    pub settings: Settings,
    /// What turns texts into vectors; without it, words alone are searched.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Are the places of passages and their scores written too?
    pub details: bool,
    /// Threads that search.
    pub jobs: usize,
}

/// Explains every line and writes one line for each that can be used, in their order.
///
/// # Errors
/// [`OfflineError`]: a file that cannot be read or written, or a folder without documentation. Lines that cannot be used are told to
/// the watcher and counted in the summary instead.
pub fn explain(job: &ExplainJob, runtime: &Handle, watcher: &dyn Watcher) -> Result<ExplainSummary, OfflineError> {
    let library = runtime.block_on(Library::read(&job.docs, &job.settings, job.embedder.as_ref()))?;
    library.errors().iter().for_each(|error| watcher.left_out(&error.to_string()));
    let failures = Lines::of(Input::open(&job.failures)?);
    let output = Output::create(&job.explanations, &[&job.failures])?;
    let mut summary = ExplainSummary::of(&library);
    answer_lines(failures, output, job.jobs, &mut summary, watcher, |file, batch, answers| {
        for line in &batch.lines {
            let read = line.text.as_deref().map_err(Clone::clone);
            let explain = |text| runtime.block_on(explain_line(text, &library, job.details, &mut answers.lines));
            match read.and_then(explain) {
                Ok(explanation) => answers.summary.count(&explanation),
                Err(message) => answers.problem(line.problem(file, message)),
            }
        }
        Ok(())
    })?;
    Ok(summary)
}
