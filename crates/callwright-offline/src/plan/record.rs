//! One line of the requests, and one of the candidates.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::toolsets::{PlanToolset, RequestCandidates};
use callwright_common::json::{raw, scalar_text};
use callwright_knowledge::planner::producers::Candidate;

/// Request with its toolset.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlanRecord {
    /// Id, as given.
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
struct CandidatesLine<'a> {
    id: &'a Value,
    candidates: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Map<String, Value>>,
}

impl PlanRecord {
    /// Parses a line.
    ///
    /// # Errors
    /// The error and its remedy if the line is unusable.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let line: PlanRecordLine = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
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

/// Appends the candidates of a record.
pub(super) fn write(
    record: &PlanRecord,
    found: &RequestCandidates,
    toolset: &PlanToolset,
    details: bool,
    lines: &mut Vec<u8>,
) {
    let (mut candidates, mut why) = (Map::new(), Map::new());
    for (tool, argument, of_argument) in &found.arguments {
        let key = format!("{tool}.{argument}");
        let names = of_argument.iter().filter_map(|candidate| toolset.name(candidate.tool)).map(Value::from);
        candidates.insert(key.clone(), names.collect());
        if details {
            why.insert(key, of_argument.iter().map(|candidate| candidate_json(candidate, toolset)).collect());
        }
    }
    let answer = CandidatesLine { id: &record.id, candidates, why: details.then_some(why) };
    lines.extend_from_slice(raw(&answer).get().as_bytes());
    lines.push(b'\n');
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

fn unreadable(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => {
            format!("the line is not a record: {error}; give an object with `id`, `query` and `toolset`")
        }
        _ => format!("the line is not valid JSON: {error}; give one object on each line"),
    }
}
