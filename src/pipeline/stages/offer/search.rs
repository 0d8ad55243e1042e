//! The proxy's tool search tool: a model that lacks a tool finds it, and may call it afterwards.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{Turn, milliseconds};
use crate::pipeline::tools::{Offering, ToolAt};
use callwright_judge::feedback::{self, ToolSummary};
use callwright_judge::scanner::CheckedCall;
use callwright_openapi::dialect;
use callwright_telemetry::OperationKind;
use callwright_types::outcome::ApiAnswer;
use callwright_types::trace::Execution;
use callwright_types::{OfferReason, Outcome, Owner, SchemaDialect, Tool, ToolKind};
use callwright_wire::WrittenTool;

use super::ranking::Ranker;

/// Name of the tool, unless another tool has it.
pub const NAME: &str = "search_tools";

/// Description for the model.
const DESCRIPTION: &str = "Searches all tools, also those that are not listed here, for those that serve a task. Found tools can be called \
                           from then on. Use it if no listed tool fits, before you report that something cannot be done.";

/// Name of the query argument.
const QUERY: &str = "query";
/// Name of the argument for the maximum number of results.
const LIMIT: &str = "limit";

/// Returns an unused name: `search_tools`, else with a number appended.
pub(super) fn name(is_taken: impl Fn(&str) -> bool) -> String {
    let further = (2_u32..).map(|number| format!("{NAME}_{number}"));
    std::iter::once(NAME.to_owned()).chain(further).find(|name| !is_taken(name)).unwrap_or_default()
}

/// Returns the tool with this name, which returns at most `results` tools.
pub(super) fn tool(name: &str, results: u32, schema_dialect: SchemaDialect) -> Arc<WrittenTool> {
    let parameters = json!({
        "type": "object",
        "properties": {
            QUERY: {"type": "string", "description": "What is to be done, in a few words, such as \"cancel a booking\"."},
            LIMIT: {"type": "integer", "minimum": 1, "maximum": results, "description": "Tools wanted at most."},
        },
        "required": [QUERY],
        "additionalProperties": false,
    });
    let translated = dialect::translate(&parameters, schema_dialect);
    let tool = Tool {
        name: name.to_owned(),
        description: DESCRIPTION.to_owned(),
        parameters: Arc::new(parameters),
        kind: ToolKind::Function,
        reads: None,
        owner: Owner::Search,
        namespace: None,
    };
    Arc::new(WrittenTool::new(Arc::new(tool), Arc::new(translated.parameters), translated.strict))
}

/// Returns the query and the optional limit. In `strict` dialects, models send null for an absent limit.
pub(super) fn read(arguments: &Map<String, Value>) -> (&str, Option<u64>) {
    let query = arguments.get(QUERY).and_then(Value::as_str).unwrap_or_default();
    (query, arguments.get(LIMIT).and_then(Value::as_u64))
}

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
    let (query, limit) = read(checked.arguments());
    let limit = limit.map_or(rules.results, |limit| u32::try_from(limit).unwrap_or(u32::MAX).clamp(1, rules.results));
    let texts = [query.to_owned()];
    let ranker = Ranker::new(pipeline, turn, offering, &[&texts[0]]).await;
    let found = best(offering, &ranker, &texts, limit as usize);
    pipeline.metrics.retrieval_duration.observe(started.elapsed().as_secs_f64());
    Some(found)
}

/// Returns the `limit` best tools for a query, best first.
fn best(offering: &Offering, ranker: &Ranker, query: &[String], limit: usize) -> Vec<ToolAt> {
    let mut found: Vec<(f32, ToolAt)> = Vec::new();
    for pool in &offering.pools {
        let ranked = ranker.rank(pool, query).into_iter();
        let free = ranked.filter(|found| pool.is_free(found.position)).take(limit);
        found.extend(free.filter_map(|found| Some((found.share, pool.at(found.position)?))));
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    found.into_iter().take(limit).map(|(_, tool)| tool).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        assert_eq!(name(|_| false), "search_tools");
        assert_eq!(name(|name| ["search_tools", "search_tools_2"].contains(&name)), "search_tools_3");
    }

    #[test]
    fn arguments_are_read_as_far_as_they_are_there() {
        let of = |value: Value| value.as_object().cloned().unwrap();
        assert_eq!(read(&of(json!({"query": "book", "limit": 3}))), ("book", Some(3)));
        assert_eq!(read(&of(json!({"query": "book", "limit": null}))), ("book", None));
        assert_eq!(read(&of(json!({}))), ("", None));
    }
}
