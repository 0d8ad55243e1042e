//! `scan`: judges recorded answers of models as a server does.

mod verdict_line;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::runtime::Handle;
use verdict_line::verdict_line;

use super::OfflineError;
use super::input::refuse_second_stream;
use super::judge::Judge;
use super::lines::{InputLines, LineBatch};
use super::output::OutputWriter;
use super::processing::{ProcessedBatch, process_lines};
use super::questions::QuestionIndex;
use crate::tool_sets::{NO_TOOLS, OfferedToolSet, ToolSetKey};
use callwright_common::limits::WORD_CHARS;
use callwright_common::parallel::cores;
use callwright_common::progress::ProgressObserver;
use callwright_common::text::excerpt;
use callwright_judge::repair::JudgedMessage;
use callwright_policy::Policy;
use callwright_search::embedding::Embedder;
use callwright_search::retrieval::TextVectors;
use callwright_types::{FaultCode, RepairKind};
use callwright_wire::{RecordedAnswer, name_of};

/// Inputs and settings of a run.
#[derive(Debug)]
pub struct ScanJob {
    /// Lines `{"id", "tools"}`; optional if every line of `answers` has its own tools.
    pub tools: Option<PathBuf>,
    /// Lines `{"id", "question" or "tools", "message"}`, with other members that affect judgement.
    pub answers: PathBuf,
    /// Output file of the verdicts.
    pub verdicts: PathBuf,
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
    let read = process_lines(answers, Some(output), cores().get(), observer, process, |judged| summary.count(&judged))?;
    summary.problems += read.problems;
    Ok(summary)
}

/// Counts over a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanSummary {
    /// Answers by verdict label.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Diagnoses by code.
    pub codes: BTreeMap<FaultCode, u64>,
    pub noted: BTreeMap<FaultCode, u64>,
    /// Repairs by label of their kind.
    pub repairs: BTreeMap<&'static str, u64>,
    /// Calls in the answers.
    pub calls: u64,
    /// Unusable lines.
    pub problems: u64,
}

impl ScanSummary {
    /// Returns the number of judged answers.
    pub fn records(&self) -> u64 {
        self.verdicts.values().sum()
    }

    pub(super) fn count(&mut self, message: &JudgedMessage) {
        *self.verdicts.entry(message.verdict().label()).or_default() += 1;
        self.calls += message.calls.len() as u64;
        for diagnosis in message.diagnoses() {
            *self.codes.entry(diagnosis.code).or_default() += 1;
        }
        for diagnosis in message.advice() {
            *self.noted.entry(diagnosis.code).or_default() += 1;
        }
        for repair in message.calls.iter().flat_map(|call| &call.repairs) {
            *self.repairs.entry(RepairKind::label(repair.kind)).or_default() += 1;
        }
    }
}

/// Judges a line. Returns the line of the output and the judgement.
///
/// # Errors
/// The error and its remedy if the line is unusable.
pub(super) fn judge_line(
    text: &str,
    judge: &Judge<'_>,
    questions: Option<&QuestionIndex>,
) -> Result<(Box<RawValue>, JudgedMessage), String> {
    let answer = RecordedAnswer::parse(text).map_err(|error| error.message)?;
    let id = answer.member("id").filter(|id| name_of(id).is_some());
    let id = id.ok_or("there is no `id`; give each line a string or a number that its verdict can repeat")?;
    let message = answer.message().map_err(|error| error.message)?;
    let offered = offered(&answer, judge, questions)?;
    let judged = judge.message(&message, answer.is_cut_off(), &answer, &offered);
    Ok((verdict_line(id, &judged), judged))
}

/// Returns the offered tools: the line's own, or those of its question.
fn offered(
    answer: &RecordedAnswer<'_>,
    judge: &Judge<'_>,
    questions: Option<&QuestionIndex>,
) -> Result<Arc<OfferedToolSet>, String> {
    if let Some(text) = answer.tools_text().map_err(|error| error.message)? {
        return judge.offered(ToolSetKey::Own(text.to_owned()), answer, || Ok(text.to_owned()));
    }
    let question = answer.member("question").and_then(name_of);
    if question.is_none() && answer.brings_tools() {
        return judge.offered(ToolSetKey::Own(NO_TOOLS.to_owned()), answer, || Ok(NO_TOOLS.to_owned()));
    }
    let question = question.ok_or(
        "there are neither `tools` nor a `question`; give one of them, `\"tools\": []` where none was offered",
    )?;
    let Some(questions) = questions else {
        return Err("it names a `question`, but no --tools file with its tools is given; give one".to_owned());
    };
    judge.offered(ToolSetKey::Question(question.clone()), answer, || {
        questions.tools_text(&question)?.ok_or_else(|| {
            let id = excerpt(&question, WORD_CHARS);
            format!("there is no question `{id}` in the --tools file; add a line with that `id`")
        })
    })
}
