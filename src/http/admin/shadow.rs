//! `GET /admin/shadow`: what mode `guard` would have done with the turns that ran in mode `shadow`.

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::http::api_operation::{ApiParts, for_operators};
use crate::http::api_schema::{array, boolean, count, named, object, optional, required, text, time};
use crate::http::query::ParsedQuery;
use crate::http::state::OperatorSide;
use crate::http::{error, json};
use callwright_offline::{Replay, ReplayReport};
use callwright_store::{MAX_PAGE, StoreError, TraceFilter, Traces, time_or_age};
use callwright_types::rules::Mode;

/// Filter of the counted turns.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct ShadowQuery {
    /// Only turns with this policy.
    policy: Option<String>,
    /// Only turns that arrived at this time or later.
    #[serde(deserialize_with = "time_or_age")]
    since: Option<Timestamp>,
    /// Only turns that arrived before this time.
    #[serde(deserialize_with = "time_or_age")]
    until: Option<Timestamp>,
    /// Maximum number of turns, newest first; 1,000 by default and at most.
    limit: Option<u32>,
}

/// The summary of replayed turns.
#[derive(Serialize)]
struct ShadowSummary {
    /// Arrival time of the oldest counted turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    /// Whether there are older turns that were not counted.
    more: bool,
    #[serde(flatten)]
    report: ReplayReport,
}

/// Returns the newest turns in mode `shadow`, counted as `callwright replay` counts them.
pub(in crate::http) async fn show(
    State(side): State<OperatorSide>,
    ParsedQuery(query): ParsedQuery<ShadowQuery>,
) -> Response {
    match summary(&side, query).await {
        Ok(summary) => json::value(StatusCode::OK, &summary),
        Err(error) => error::store(&error),
    }
}

async fn summary(side: &OperatorSide, query: ShadowQuery) -> Result<ShadowSummary, StoreError> {
    let ShadowQuery { policy, since, until, limit } = query;
    let limit = Some(limit.unwrap_or(MAX_PAGE));
    let filter = TraceFilter { mode: Some(Mode::Shadow), policy, since, until, limit, ..TraceFilter::default() };
    let page = side.store.list(&filter).await?;
    let policies = side.pipeline.policies.load_full();
    let limits = &policies.default_policy().limits;
    let mut replay = Replay::default();
    // One trace at a time, because a trace may be large.
    for listed in &page.traces {
        if let Some(trace) = side.store.get(&listed.id).await? {
            replay.count_recorded(&trace, limits);
        }
    }
    let since = page.traces.last().map(|oldest| oldest.started_at);
    Ok(ShadowSummary { since, more: page.next.is_some(), report: replay.into_report() })
}

/// Describes the operation.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    let summary = "Returns what mode `guard` would have done with the newest turns in mode `shadow`.";
    let operation = for_operators("shadowSummary", summary)
        .query("policy", text(), "Only turns with this policy.")
        .time_range("Only turns that arrived at this time or later", "Only turns that arrived before this time")
        .query("limit", count(Some(u32::MAX)), "Maximum number of turns; more than 1,000 means 1,000.")
        .responds(200, "The summary.", named("ShadowSummary"))
        .fails([400, 401, 503]);
    api.operation(Method::GET, "/admin/shadow", operation);
    let counts = ["turns", "calls", "repairs", "diagnoses", "modes"].map(|name| required(name, object([])));
    let first = [optional("since", time()), required("more", boolean()), required("headline", text())];
    api.schema("ShadowSummary", object(first.into_iter().chain(counts).chain([required("notes", array(text()))])));
}
