//! Find tools: runs a call of the proxy's search tool, answers it, and offers the tools found.

use std::time::Instant;

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{Turn, milliseconds};
use crate::pipeline::tools::{Offering, ToolAt};
use callwright_judge::feedback::{self, ToolSummary};
use callwright_judge::scanner::CheckedCall;
use callwright_telemetry::OperationKind;
use callwright_types::outcome::ApiAnswer;
use callwright_types::trace::Execution;
use callwright_types::{OfferReason, Outcome, Owner};

use super::ranking::{self, RankingQuery, Searches, vectors};
use super::search;

/// Whether the call searches for tools.
pub(crate) fn is_search(checked: &CheckedCall) -> bool {
    checked.tool().tool.owner == Owner::Search
}

/// Runs a search and offers the tools found. The outcome is the text for the model.
pub(crate) async fn find(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    checked: &CheckedCall,
) -> (Outcome, Execution) {
    let (started, started_after) = (Instant::now(), turn.record.elapsed());
    let found = found(pipeline, turn, offering, checked).await;
    if let Some(tools) = &found {
        turn.record.operation(OperationKind::Retrieval, started, tools.len());
    }
    let text = match &found {
        Some(tools) => {
            let lines: Vec<ToolSummary<'_>> = tools
                .iter()
                .filter_map(|tool| offering.tool(*tool))
                .map(|tool| ToolSummary { name: &tool.name, description: &tool.description })
                .collect();
            feedback::found_tools(&lines)
        }
        None => feedback::no_further_search(turn.policy.offer.search_tools.per_turn),
    };
    offering.grow(pipeline, turn, &found.unwrap_or_default(), OfferReason::Searched);
    let outcome = Outcome::Answered(ApiAnswer::new(http::StatusCode::OK.as_u16(), text.clone()));
    let execution = Execution {
        call: checked.call().clone(),
        operation: "search".to_owned(),
        outcome: outcome.label().to_owned(),
        body: Some(text),
        started_ms: milliseconds(started_after),
        duration_ms: milliseconds(started.elapsed()),
        ..Execution::default()
    };
    (outcome, execution)
}

/// Returns the tools found, best first; `None` if the turn has used all its searches.
async fn found(
    pipeline: &Pipeline,
    turn: &Turn,
    offering: &mut Offering,
    checked: &CheckedCall,
) -> Option<Vec<ToolAt>> {
    let rules = &turn.policy.offer.search_tools;
    if offering.searches >= rules.per_turn {
        return None;
    }
    offering.searches += 1;
    let started = Instant::now();
    let (query, limit) = search::read(checked.arguments());
    let limit = limit.map_or(rules.results, |limit| u32::try_from(limit).unwrap_or(u32::MAX).clamp(1, rules.results));
    let texts = [query.to_owned()];
    let (vectors, _) = vectors(pipeline, turn, &offering.pools, offering.room, &[&texts[0]]).await;
    let found = best(offering, &RankingQuery::of(&texts, &vectors), limit as usize);
    pipeline.metrics.retrieval_duration.observe(started.elapsed().as_secs_f64());
    Some(found)
}

/// Returns the `limit` best tools for a query, best first.
fn best(offering: &Offering, query: &RankingQuery<'_>, limit: usize) -> Vec<ToolAt> {
    let mut found: Vec<(f32, ToolAt)> = Vec::new();
    let searches = Searches::default();
    for pool in &offering.pools {
        let ranked = ranking::rank(pool, query, &searches).into_iter();
        let free = ranked.filter(|found| pool.is_free(found.position)).take(limit);
        found.extend(free.filter_map(|found| Some((found.share, pool.at(found.position)?))));
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    found.into_iter().take(limit).map(|(_, tool)| tool).collect()
}
