//! Find tools: runs a call of the proxy's search tool, answers it, and offers the tools found.

use std::time::Instant;

use crate::pipeline::Pipeline;
use crate::pipeline::record::milliseconds;
use crate::pipeline::turn::Turn;
use callwright_judge::feedback::FoundTool;
use callwright_judge::scanner::CheckedCall;
use callwright_telemetry::OperationKind;
use callwright_types::outcome::ApiAnswer;
use callwright_types::trace::Execution;
use callwright_types::{OfferReason, Outcome, Owner};

use super::Offering;
use super::choose::ChoiceRules;
use super::pool::ToolAt;
use super::ranking::RankingQuery;
use super::{search, vectors};

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
            let lines: Vec<FoundTool<'_>> = tools
                .iter()
                .filter_map(|tool| offering.tool(*tool))
                .map(|tool| FoundTool { name: &tool.name, description: &tool.description })
                .collect();
            pipeline.templates.found_tools(&lines)
        }
        None => pipeline.templates.no_further_search(turn.policy.offer.search_tools.per_turn),
    };
    offering.grow(pipeline, turn, &found.unwrap_or_default(), OfferReason::Searched);
    let outcome = Outcome::Answered(ApiAnswer::new(http::StatusCode::OK.as_u16(), text.clone()));
    let execution = Execution {
        call: checked.call().clone(),
        toolset: String::new(),
        operation: "search".to_owned(),
        outcome: outcome.label().to_owned(),
        status: None,
        body: Some(text),
        approval: None,
        explanation: None,
        credential: None,
        started_ms: milliseconds(started_after),
        duration_ms: milliseconds(started.elapsed()),
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
    let policy = ChoiceRules { offer: &turn.policy.offer, room: offering.room, required: &[] };
    let (vectors, _) = vectors(pipeline, turn, &offering.pools, policy, &[&texts[0]]).await;
    let found = offering.find(&RankingQuery::of(&texts, &vectors), limit as usize);
    pipeline.metrics.retrieval_duration.observe(started.elapsed().as_secs_f64());
    Some(found)
}
