//! `GET /admin/shadow`: what mode `guard` would have done with the turns that ran in mode `shadow`.

use axum::extract::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::http::json::{Answer, Json, ParsedQuery};
use crate::http::state::OperatorSide;
use callwright_lab::{Replay, ReplayReport};
use callwright_store::{MAX_PAGE, TraceFilter, Traces, time_or_age};
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
) -> Answer<impl Serialize> {
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
    Ok(Json(ShadowSummary { since, more: page.next.is_some(), report: replay.into_report() }))
}
