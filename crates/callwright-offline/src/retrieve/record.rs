//! One line of the queries, and one of the rankings.

use serde::{Deserialize, Serialize};

use super::tools::RetrievalTools;
use crate::lines::parse_line;
use callwright_search::retrieval::RankedTool;

/// Used members of a line; others are ignored.
#[derive(Deserialize)]
struct RetrievalQueryLine {
    query: Option<String>,
}

/// Members of an output line, in order.
#[derive(Serialize)]
pub(super) struct RankingLine<'a> {
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
    let line: RetrievalQueryLine = parse_line(text, "a query", "an object with `query`")?;
    line.query.ok_or_else(|| "there is no `query`; give the text of a request".to_owned())
}

/// Returns the line of the output for a query.
pub(super) fn ranking_line<'a>(
    query: &'a str,
    found: &[RankedTool],
    tools: &'a RetrievalTools,
    details: bool,
) -> RankingLine<'a> {
    RankingLine {
        query,
        ranked: found.iter().filter_map(|found| tools.name(found.position)).collect(),
        why: details.then(|| found.iter().map(|found| why(found, tools)).collect()),
    }
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
