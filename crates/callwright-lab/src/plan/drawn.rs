//! `plan`: draws the plan of each recorded request with a model.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use super::record::{PlanRecord, ReadRecord, read_batch};
use super::toolsets::{Ingredients, PlanToolsets, ToolsetCounts};
use crate::OfflineError;
use crate::input::refuse_second_stream;
use crate::journal::{JournaledModel, journal_beside};
use crate::lines::{InputLines, LineBatch};
use crate::output::OutputWriter;
use crate::processing::{ProcessedBatch, process_lines};
use callwright_common::progress::ProgressObserver;
use callwright_judge::scanner::{self, Validators};
use callwright_plan::generation::{GenerationError, GenerationOutcome, GenerationSettings, PlanInputs, generate};
use callwright_plan::producers::Edges;
use callwright_search::embedding::Embedder;
use callwright_types::plan::Source;
use callwright_types::{Cost, Plan};

/// Inputs and settings of a run.
#[derive(Debug)]
pub struct DrawJob {
    /// Lines `{"id", "tools"}`.
    pub tools: PathBuf,
    /// Lines `{"id", "query", "toolset"}`.
    pub records: PathBuf,
    /// Output file of the plans.
    pub plans: PathBuf,
    /// Edges that an operator confirms and forbids.
    pub edges: Edges,
    /// Embedding model; without it, texts are compared by words only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Model that draws the plans.
    pub model: Arc<JournaledModel>,
    /// Settings and limits of drawing.
    pub settings: GenerationSettings,
    /// Whether graph, cost and rejected drafts are written too.
    pub details: bool,
    /// Number of plans drawn in parallel.
    pub jobs: usize,
}

/// Counts over a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DrawSummary {
    /// Usable toolsets.
    pub toolsets: u64,
    pub tools: u64,
    /// Tools skipped because their toolset has another tool of the same name.
    pub repeated: u64,
    /// Answered records.
    pub records: u64,
    /// Records with a plan.
    pub plans: u64,
    /// Plans with a question to the user.
    pub with_question: u64,
    /// Records that no tool serves, according to the model.
    pub unserved: u64,
    /// Records whose plan would exceed a limit.
    pub limited: u64,
    /// Calls of all plans.
    pub calls: u64,
    /// Cost of the model requests.
    pub cost: Cost,
    /// Unusable lines of tools and records, and records without a usable answer of the model.
    pub problems: u64,
}

/// Draws the plan of every line and writes one output line for each usable one, in order. An interrupted run is resumed.
///
/// # Errors
/// [`OfflineError`] if a file cannot be read or written, there is no toolset, or the embedder fails. Unusable lines are
/// reported to the observer and counted in the summary instead.
pub fn plans(job: &DrawJob, runtime: &Handle, observer: &dyn ProgressObserver) -> Result<DrawSummary, OfflineError> {
    refuse_second_stream(&[("--tools", Some(&job.tools)), ("--in", Some(&job.records))])?;
    let validators = Validators::new(&scanner::Settings::default());
    let from = Ingredients {
        tools: &job.tools,
        edges: &job.edges,
        embedder: job.embedder.as_ref(),
        validators: Some(&validators),
    };
    let toolsets = runtime.block_on(PlanToolsets::read(from, observer))?;
    let ToolsetCounts { toolsets: known, tools, repeated, problems } = toolsets.counts;
    let mut summary = DrawSummary { toolsets: known, tools, repeated, problems, ..DrawSummary::default() };
    let records = InputLines::open(&job.records)?;
    if let Some(journal) = journal_beside(&job.plans) {
        job.model.resume(journal)?;
    }
    let output = OutputWriter::create(&job.plans, &[&job.tools, &job.records])?;
    // One thread: the plans of a batch are drawn concurrently, and wait for a model.
    let process = |batch: &LineBatch, drawn: &mut ProcessedBatch<'_, GenerationOutcome>| {
        runtime.block_on(draw_batch(job, &toolsets, batch, drawn))
    };
    let read = process_lines(records, Some(output), 1, observer, process, |drawn| summary.count(&drawn))?;
    summary.problems += read.problems;
    summary.cost = job.model.cost();
    job.model.finish()?;
    Ok(summary)
}

async fn draw_batch(
    job: &DrawJob,
    toolsets: &PlanToolsets,
    batch: &LineBatch,
    processed: &mut ProcessedBatch<'_, GenerationOutcome>,
) -> Result<(), OfflineError> {
    let records = read_batch(batch, toolsets, job.embedder.as_deref(), processed).await?;
    let drawing = stream::iter(&records).map(|read| draw(job, read));
    let drawn: Vec<GenerationOutcome> = drawing.buffered(job.jobs.max(1)).collect().await;
    for (read, drawn) in records.iter().zip(drawn) {
        if let Err(reason @ (GenerationError::Unanswered(_) | GenerationError::Unusable(_))) = &drawn.result {
            processed.problem(read.line, reason.to_string());
        }
        processed.write(&written(&read.record, &drawn, job.details));
        processed.record(drawn);
    }
    Ok(())
}

async fn draw(job: &DrawJob, read: &ReadRecord<'_>) -> GenerationOutcome {
    let ReadRecord { record, request, toolset, vectors, .. } = read;
    let scores = toolset.producers.score(request, vectors);
    let offered: Vec<usize> = (0..toolset.len()).collect();
    let inputs = PlanInputs {
        tools: &toolset.tools,
        producers: &toolset.producers,
        scores: &scores,
        offered: &offered,
        conversation: &record.conversation(),
        memory: &[],
        outline: &[],
    };
    generate(&inputs, job.model.as_ref(), &job.settings).await
}

impl DrawSummary {
    fn count(&mut self, drawn: &GenerationOutcome) {
        self.records += 1;
        match &drawn.result {
            Ok(plan) => {
                self.plans += 1;
                self.with_question += u64::from(plan.missing().next().is_some());
                self.calls += plan.nodes().len() as u64;
            }
            Err(GenerationError::NoTool) => self.unserved += 1,
            Err(GenerationError::Limit(_)) => self.limited += 1,
            // Reported as a problem of its line.
            Err(
                GenerationError::Unanswered(_)
                | GenerationError::Unusable(_)
                | GenerationError::GuessedKey { .. }
                | GenerationError::NotIndexed,
            ) => {}
        }
    }
}

/// Returns a line of the output.
fn written(record: &PlanRecord, drawn: &GenerationOutcome, details: bool) -> Map<String, Value> {
    let mut line = Map::from_iter([("id".to_owned(), record.id.clone())]);
    match &drawn.result {
        Ok(plan) => {
            line.insert("plan".to_owned(), calls(plan));
            let missing: Vec<Value> = plan
                .missing()
                .map(|missing| json!({"label": missing.node.label, "argument": missing.argument, "question": missing.question}))
                .collect();
            if !missing.is_empty() {
                line.insert("missing".to_owned(), missing.into());
            }
        }
        Err(reason) => {
            line.insert("plan".to_owned(), Value::Array(Vec::new()));
            line.insert("why".to_owned(), reason.to_string().into());
        }
    }
    if details {
        line.insert("graph".to_owned(), drawn.result.as_ref().map_or(Value::Null, |plan| json!(plan)));
        line.insert("spent".to_owned(), json!(drawn.cost));
        line.insert("notes".to_owned(), json!(drawn.notes));
    }
    line
}

/// Returns the calls in topological order, without missing arguments.
fn calls(plan: &Plan) -> Value {
    let calls = plan.nodes().iter().map(|node| {
        let given = node.arguments.iter().filter(|argument| !matches!(argument.source, Source::Missing { .. }));
        let arguments: Map<String, Value> =
            given.map(|argument| (argument.name.clone(), argument.source.written())).collect();
        json!({"name": node.tool, "arguments": arguments, "label": node.label})
    });
    calls.collect()
}
