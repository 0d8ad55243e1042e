//! `explain`: recorded failures of APIs, explained from a folder of documentation as a server would explain them.

mod docs;
mod record;
mod summary;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::input::Input;
use super::lines::{Batch, Lines};
use super::output::Output;
use super::parallel::in_order;
use super::{OfflineError, Problem, Watcher};
use crate::embedding::Embedder;
use crate::explain::Settings;

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
    let mut output = Output::create(&job.explanations, &[&job.failures])?;
    let name = failures.name().to_owned();
    let mut summary = ExplainSummary::of(&library);
    watcher.begins(&name, failures.size());
    let explained = in_order(
        job.jobs,
        failures.into_batches(),
        |batch| batch.map(|batch| explain_batch(&library, job, runtime, &name, batch)),
        |explained| {
            let Explained { lines, problems, summary: of_batch, consumed } = explained?;
            problems.iter().for_each(|problem| watcher.problem(problem));
            output.write(&lines)?;
            summary.add(&of_batch);
            watcher.advances(consumed, summary.records);
            Ok(())
        },
    );
    watcher.ends();
    explained.and_then(|()| output.finish())?;
    Ok(summary)
}

/// What came of a batch.
struct Explained {
    lines: Vec<u8>,
    problems: Vec<Problem>,
    summary: ExplainSummary,
    consumed: u64,
}

fn explain_batch(library: &Library, job: &ExplainJob, runtime: &Handle, file: &str, batch: Batch) -> Explained {
    let mut explained = Explained {
        lines: Vec::new(),
        problems: Vec::new(),
        summary: ExplainSummary::default(),
        consumed: batch.consumed,
    };
    for line in &batch.lines {
        let read = line.text.as_deref().map_err(Clone::clone);
        let done =
            read.and_then(|text| runtime.block_on(explain_line(text, library, job.details, &mut explained.lines)));
        match done {
            Ok(explanation) => explained.summary.count(&explanation),
            Err(message) => {
                explained.summary.problems += 1;
                explained.problems.push(line.problem(file, message));
            }
        }
    }
    explained
}
