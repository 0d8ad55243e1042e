//! One line of the requests, and one of the candidates.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::toolsets::{PlanToolset, PlanToolsets};
use crate::OfflineError;
use crate::lines::{LineBatch, parse_line};
use crate::processing::ProcessedBatch;
use callwright_common::json::scalar_text;
use callwright_plan::generation::PlanInputs;
use callwright_plan::producers::{Candidate, Request};
use callwright_plan::when::needs_plan;
use callwright_search::embedding::{Embedder, Vector};
use callwright_types::{Message, Speaker};

/// Request with its toolset.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlanRecord {
    pub(super) id: Value,
    pub(super) query: String,
    pub(super) toolset: String,
    /// Names of the called tools, if known.
    pub(super) calls: Option<Vec<String>>,
}

/// Used members of a line; others, such as the expected result, are ignored.
#[derive(Deserialize)]
struct PlanRecordLine {
    id: Option<Value>,
    query: Option<String>,
    toolset: Option<Value>,
    calls: Option<Vec<String>>,
}

/// Members of an output line, in order.
#[derive(Serialize)]
pub(super) struct CandidatesLine<'a> {
    id: &'a Value,
    candidates: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Map<String, Value>>,
}

/// Usable line of the requests.
pub(super) struct ReadRecord<'t> {
    /// Line number.
    pub(super) line: u64,
    pub(super) record: PlanRecord,
    pub(super) request: Request,
    pub(super) toolset: &'t PlanToolset,
    /// Vectors of the request's clauses, if there is an embedder.
    pub(super) vectors: Vec<Vector>,
}

/// Candidates for a request: tool, argument and candidates, in the order of the tools.
#[derive(Debug, Default)]
pub(super) struct RequestCandidates {
    pub(super) arguments: Vec<(String, String, Vec<Candidate>)>,
    pub(super) unknown_calls: u64,
}

/// Reads the records of a batch; the vectors of their requests are computed together.
pub(super) async fn read_batch<'t, R>(
    batch: &LineBatch,
    toolsets: &'t PlanToolsets,
    embedder: Option<&dyn Embedder>,
    processed: &mut ProcessedBatch<'_, R>,
) -> Result<Vec<ReadRecord<'t>>, OfflineError> {
    let records = processed.parse(batch, |text| {
        let record = PlanRecord::read(text)?;
        let toolset = toolsets.get(&record.toolset)?;
        Ok((record, toolset))
    });
    let records = records.into_iter().map(|(line, (record, toolset))| {
        let request = Request::parse(&record.query);
        ReadRecord { line, record, request, toolset, vectors: Vec::new() }
    });
    let mut records: Vec<ReadRecord<'t>> = records.collect();
    let Some(embedder) = embedder else { return Ok(records) };
    let texts: Vec<String> = records.iter().flat_map(|read| read.request.texts()).collect();
    let mut vectors = embedder.embed(texts).await.map_err(OfflineError::Unembedded)?.into_iter();
    for read in &mut records {
        read.vectors = vectors.by_ref().take(read.request.texts().len()).collect();
    }
    Ok(records)
}

impl ReadRecord<'_> {
    /// Returns the candidates of all arguments, or of those of the called tools if these are known.
    pub(super) fn candidates(&self, count: usize) -> RequestCandidates {
        let Self { toolset, .. } = self;
        let mut found = RequestCandidates::default();
        let mut scores = toolset.producers.score(&self.request, &self.vectors);
        let mut tools: Vec<usize> = (0..toolset.len()).collect();
        if let Some(calls) = &self.record.calls {
            let called: HashSet<&str> = calls.iter().map(String::as_str).collect();
            tools.retain(|at| toolset.name(*at).is_some_and(|name| called.contains(name)));
            found.unknown_calls = (called.len() - tools.len()) as u64;
            scores = scores.using(tools.iter().copied());
        }
        for at in tools {
            let Some(name) = toolset.name(at) else { continue };
            for argument in toolset.producers.arguments(at) {
                let candidates = toolset.producers.candidates(at, argument, &scores, count);
                found.arguments.push((name.to_owned(), argument.to_owned(), candidates));
            }
        }
        found
    }
}

impl PlanRecord {
    /// Returns the conversation: the request alone.
    pub(super) fn conversation(&self) -> [Message; 1] {
        let (text, speaker) = (self.query.clone(), Speaker::User);
        [Message { speaker, text, calls: Vec::new(), answers: None, name: None }]
    }

    /// Parses a line.
    ///
    /// # Errors
    /// The error and its remedy if the line is unusable.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let line: PlanRecordLine = parse_line(text, "a record", "an object with `id`, `query` and `toolset`")?;
        let id = line.id.filter(|id| id.is_string() || id.is_number());
        let toolset = line.toolset.as_ref().and_then(scalar_text);
        Ok(Self {
            id: id.ok_or("there is no `id`; give each record a string or a number")?,
            query: line.query.ok_or("there is no `query`; give the text of the request")?,
            toolset: toolset.ok_or("there is no `toolset`; give the `id` of a line of --tools")?,
            calls: line.calls,
        })
    }
}

/// Returns the line of the output with the candidates of a record.
pub(super) fn candidates_line<'a>(
    record: &'a PlanRecord,
    found: &RequestCandidates,
    toolset: &PlanToolset,
    details: bool,
) -> CandidatesLine<'a> {
    let (mut candidates, mut why) = (Map::new(), Map::new());
    for (tool, argument, of_argument) in &found.arguments {
        let key = format!("{tool}.{argument}");
        let names = of_argument.iter().filter_map(|candidate| toolset.name(candidate.tool)).map(Value::from);
        candidates.insert(key.clone(), names.collect());
        if details {
            why.insert(key, of_argument.iter().map(|candidate| candidate_json(candidate, toolset)).collect());
        }
    }
    CandidatesLine { id: &record.id, candidates, why: details.then_some(why) }
}

pub(super) fn candidate_json(candidate: &Candidate, toolset: &PlanToolset) -> Value {
    let reasons = candidate.reasons.iter().map(|reason| (reason.evidence.to_string(), Value::from(reason.weight)));
    serde_json::json!({
        "tool": toolset.name(candidate.tool),
        "output": candidate.output,
        "in_list": candidate.in_list,
        "score": candidate.score,
        "reasons": reasons.collect::<Map<String, Value>>(),
    })
}

/// Members of an output line, in order.
#[derive(Serialize)]
pub(super) struct PlanNeededLine<'a> {
    id: &'a Value,
    pub(super) plan_needed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Value>,
}

/// Returns the line of the output: whether a record needs a plan, with all tools of its toolset offered.
pub(super) fn needed_line<'a>(read: &'a ReadRecord<'_>) -> PlanNeededLine<'a> {
    let ReadRecord { record, request, toolset, vectors, .. } = read;
    let offered: Vec<usize> = (0..toolset.len()).collect();
    let why = needs_plan(&PlanInputs {
        tools: &toolset.tools,
        producers: &toolset.producers,
        scores: &toolset.producers.score(request, vectors),
        offered: &offered,
        conversation: &record.conversation(),
        memory: &[],
        outline: &[],
    });
    let why = why.map(|why| {
        json!({
            "tool": toolset.name(why.tool),
            "argument": why.argument,
            "producer": candidate_json(&why.producer, toolset),
        })
    });
    PlanNeededLine { id: &record.id, plan_needed: why.is_some(), why }
}
