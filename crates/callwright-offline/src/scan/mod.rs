//! `scan`: judges recorded answers of models as a server does.

mod actions;
mod record;
mod summary;
mod verdict_line;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::OfflineError;
use super::input::refuse_second_stream;
use super::lines::{InputLines, LineBatch};
use super::output::OutputWriter;
use super::processing::{ProcessedBatch, process_lines};
use super::questions::QuestionIndex;
use callwright_common::parallel::cores;
use callwright_common::progress::ProgressObserver;
use callwright_judge::repair::JudgedMessage;
use callwright_policy::Policy;
use callwright_search::embedding::Embedder;
use callwright_search::retrieval::TextVectors;

use super::judge::Judge;
use record::judge_line;
pub use summary::ScanSummary;

/// Inputs and settings of a run.
#[derive(Debug)]
pub struct ScanJob {
    /// Lines `{"id", "tools"}`; optional if every line of `answers` has its own tools.
    pub tools: Option<PathBuf>,
    /// Lines `{"id", "question" or "tools", "message"}`, with other members that affect judgement.
    pub answers: PathBuf,
    /// Output file of the verdicts.
    pub verdicts: PathBuf,
    /// Policy.
    pub policy: Policy,
    /// Whether the answers come from an upstream that delivers native calls. Text is less readily taken for a call
    /// then.
    pub native_tool_calls: bool,
    /// Embedding model for the comparison of unknown names, and of requests if policy requires it; without it, words
    /// only.
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// Judges every line of the answers and writes one output line for each usable one, in order.
///
/// # Errors
/// [`OfflineError`] if a file cannot be read or written. Unusable lines are reported to the observer and counted in the
/// summary instead.
pub fn scan(job: &ScanJob, runtime: &Handle, observer: &dyn ProgressObserver) -> Result<ScanSummary, OfflineError> {
    refuse_second_stream(&[("the tools", job.tools.as_deref()), ("the answers", Some(&job.answers))])?;
    let mut summary = ScanSummary::default();
    let answers = InputLines::open(&job.answers)?;
    let questions = match &job.tools {
        Some(tools) => {
            let (questions, problems) = QuestionIndex::index(tools, observer)?;
            summary.problems += problems;
            Some(questions)
        }
        None => None,
    };
    let inputs: Vec<_> = job.tools.iter().chain([&job.answers]).map(PathBuf::as_path).collect();
    let output = OutputWriter::create(&job.verdicts, &inputs)?;
    let vectors = job.embedder.clone().map(|embedder| TextVectors::waiting(embedder, runtime.clone()));
    let judge = Judge::new(&job.policy, job.native_tool_calls, vectors);
    let process = |batch: &LineBatch, verdicts: &mut ProcessedBatch<'_, JudgedMessage>| {
        for (_, (verdict, judged)) in verdicts.parse(batch, |text| judge_line(text, &judge, questions.as_ref())) {
            verdicts.write(&verdict);
            verdicts.record(judged);
        }
        Ok(())
    };
    let count = |judged: JudgedMessage| summary.count(&judged);
    let read = process_lines(answers, Some(output), cores().get(), observer, process, count)?;
    summary.problems += read.problems;
    Ok(summary)
}
