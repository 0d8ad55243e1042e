//! One line of the queries, and one of the rankings.

use serde::{Deserialize, Serialize};

use super::tools::RetrievalTools;
use callwright_common::json::raw;
use callwright_search::retrieval::RankedTool;

/// Used members of a line; others are ignored.
#[derive(Deserialize)]
struct RetrievalQueryLine {
    query: Option<String>,
}

/// Members of an output line, in order.
#[derive(Serialize)]
struct RankingLine<'a> {
    query: &'a str,
    ranked: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Vec<RankingReason<'a>>>,
}

/// Reasons for a found tool.
#[derive(Serialize)]
struct RankingReason<'a> {
    score: f32,
    named: bool,
    words: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    meaning: Option<f32>,
    /// Cosine similarity of the tool's closest text.
    #[serde(skip_serializing_if = "Option::is_none")]
    closest: Option<f32>,
    /// Description of the pattern to which that text belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<&'a str>,
    /// Margin by the classifier above that of a wrong tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    margin: Option<f32>,
}

/// Returns the query of a line.
///
/// # Errors
/// The error and its remedy if the line is unusable.
pub(super) fn query_of(text: &str) -> Result<String, String> {
    let line: RetrievalQueryLine = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    line.query.ok_or_else(|| "there is no `query`; give the text of a request".to_owned())
}

/// Appends the ranking for a query.
pub(super) fn write(query: &str, found: &[RankedTool], tools: &RetrievalTools, details: bool, lines: &mut Vec<u8>) {
    let line = RankingLine {
        query,
        ranked: found.iter().filter_map(|found| tools.name(found.position)).collect(),
        why: details.then(|| found.iter().map(|found| why(found, tools)).collect()),
    };
    lines.extend_from_slice(raw(&line).get().as_bytes());
    lines.push(b'\n');
}

fn why<'a>(found: &RankedTool, tools: &'a RetrievalTools) -> RankingReason<'a> {
    let closest = found.why.closest;
    let pattern = closest.and_then(|closest| tools.pattern(found.position, closest.pattern?));
    RankingReason {
        score: found.score,
        named: found.why.named,
        words: found.why.words,
        meaning: found.why.meaning,
        closest: closest.map(|closest| closest.cosine),
        pattern,
        margin: found.why.margin,
    }
}

fn unreadable(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => format!("the line is not a query: {error}; give an object with `query`"),
        _ => format!("the line is not valid JSON: {error}; give one object on each line"),
    }
}
