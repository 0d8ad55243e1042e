//! `GET /admin/overview`, `GET /admin/sessions`, `GET /admin/tools/usage`: aggregates over stored turns, the sessions
//! that they belong to, and the tools that they call.

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::PAGE_LIMIT;
use crate::http::api_operation::{ApiParts, for_operators};
use crate::http::api_schema::{
    array, boolean, count, map_of, named, number, object, one_of, optional, required, text, time,
};
use crate::http::query::ParsedQuery;
use crate::http::state::OperatorSide;
use crate::http::{error, json};
use callwright_store::{FindingKind, MAX_BUCKETS, Overview, OverviewRange, SessionFilter, StoreError, time_or_age};

/// Default length of the range.
const DEFAULT_RANGE: SignedDuration = SignedDuration::from_hours(24);

/// Default number of intervals.
const DEFAULT_BUCKETS: u32 = 48;

/// Range of the counted turns.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct OverviewQuery {
    #[serde(deserialize_with = "time_or_age")]
    since: Option<Timestamp>,
    #[serde(deserialize_with = "time_or_age")]
    until: Option<Timestamp>,
    buckets: Option<u32>,
}

impl OverviewQuery {
    fn range(&self) -> Result<OverviewRange, String> {
        let (since, until) = bounds(self.since, self.until)?;
        let buckets = self.buckets.unwrap_or(DEFAULT_BUCKETS);
        if !(1..=MAX_BUCKETS).contains(&buckets) {
            return Err(format!("`buckets` is {buckets}; it must be 1 to {MAX_BUCKETS}"));
        }
        Ok(OverviewRange { since, until, buckets })
    }
}

/// Returns beginning and end of the range.
fn bounds(since: Option<Timestamp>, until: Option<Timestamp>) -> Result<(Timestamp, Timestamp), String> {
    let until = until.unwrap_or_else(Timestamp::now);
    let since = since.unwrap_or_else(|| until.checked_sub(DEFAULT_RANGE).unwrap_or(Timestamp::MIN));
    if since < until { Ok((since, until)) } else { Err(format!("`since` ({since}) must be before `until` ({until})")) }
}

/// Range of the counted calls.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct UsageQuery {
    #[serde(deserialize_with = "time_or_age")]
    since: Option<Timestamp>,
    #[serde(deserialize_with = "time_or_age")]
    until: Option<Timestamp>,
}

/// The overview of the stored turns, and the state of this process.
#[derive(Serialize)]
struct OperatorOverview {
    #[serde(flatten)]
    overview: Overview,
    /// Number of calls that wait for approval.
    approvals_pending: u64,
}

/// Returns the overview of a time range.
pub(in crate::http) async fn show(
    State(side): State<OperatorSide>,
    ParsedQuery(query): ParsedQuery<OverviewQuery>,
) -> Response {
    let range = match query.range() {
        Ok(range) => range,
        Err(message) => return error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_query"),
    };
    match overview(&side, &range).await {
        Ok(overview) => json::value(StatusCode::OK, &overview),
        Err(error) => error::store(&error),
    }
}

async fn overview(side: &OperatorSide, range: &OverviewRange) -> Result<OperatorOverview, StoreError> {
    let overview = side.store.overview(range).await?;
    let approvals_pending = side.store.pending_approvals().await?;
    Ok(OperatorOverview { overview, approvals_pending })
}

/// Returns the tools that the turns of a time range call.
pub(in crate::http) async fn tool_usage(
    State(side): State<OperatorSide>,
    ParsedQuery(UsageQuery { since, until }): ParsedQuery<UsageQuery>,
) -> Response {
    match bounds(since, until) {
        Ok((since, until)) => {
            let usage = side.store.tool_usage(since, until).await;
            usage.map_or_else(|error| error::store(&error), |usage| json::value(StatusCode::OK, &usage))
        }
        Err(message) => error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_query"),
    }
}

/// Returns a page of sessions, the one with the newest turn first.
pub(in crate::http) async fn sessions(
    State(side): State<OperatorSide>,
    ParsedQuery(filter): ParsedQuery<SessionFilter>,
) -> Response {
    let page = side.store.sessions(&filter).await;
    page.map_or_else(|error| error::store(&error), |page| json::value(StatusCode::OK, &page))
}

/// Describes the operations.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    const SINCE: &str = "Beginning of the range; by default 24 hours before `until`";
    const UNTIL: &str = "End of the range; by default now";
    let summary = "Returns counts, durations, tokens and findings of the turns of a time range.";
    let overview = for_operators("overview", summary)
        .time_range(SINCE, UNTIL)
        .query("buckets", count(Some(MAX_BUCKETS)), "Number of intervals, at least 1; 48 by default.")
        .responds(200, "The overview. It counts at most 200,000 turns, the newest ones.", named("Overview"))
        .fails([400, 401, 503]);
    api.operation(Method::GET, "/admin/overview", overview);
    let sessions =
        for_operators("listSessions", "Lists the sessions of a time range, the one with the newest turn first.")
            .time_range("Only turns that arrived at this time or later", "Only turns that arrived before this time")
            .query("limit", count(Some(u32::MAX)), PAGE_LIMIT)
            .query("cursor", text(), "`next` of the previous page.")
            .responds(200, "A page. It counts at most 20,000 turns, the newest ones.", named("SessionPage"))
            .fails([400, 401, 503]);
    api.operation(Method::GET, "/admin/sessions", sessions);
    let usage = for_operators("showToolUsage", "Counts the turns of a time range by the tools that they call.")
        .time_range(SINCE, UNTIL)
        .responds(200, "The tools. It counts at most 200,000 calls, the newest ones.", named("ToolUsage"))
        .fails([400, 401, 503]);
    api.operation(Method::GET, "/admin/tools/usage", usage);
    let used = object([
        required("tool", text()),
        required("turns", count(None).about("Turns that call the tool.")),
        required("faulty", count(None).about("Turns with a fault of its calls.")),
        required("failed", count(None).about("Turns in which its execution failed.")),
        required("refused", count(None).about("Turns in which its calls were not sent.")),
        required("wrong", count(None).about("Turns with at least one of these.")),
        required("repaired", count(None).about("Turns in which its calls were repaired.")),
    ]);
    let truncated =
        boolean().about("Whether the range has more calls than are counted, or more tools than are listed.");
    let usage = object([
        required("since", time()),
        required("until", time()),
        required("truncated", truncated),
        required("tools", array(used).about("Those with the most turns in which something went wrong first.")),
    ]);
    api.schema("ToolUsage", usage);
    let quantiles = object([required("p50", number()), required("p95", number())]);
    api.schema("Quantiles", quantiles.about("Milliseconds, to two significant digits."));
    let counts = || {
        [
            required("turns", count(None)),
            required("errors", count(None).about("Turns whose response has a status of 500 or more.")),
            required("verdicts", map_of(count(None))),
            required("input_tokens", count(None)),
            required("output_tokens", count(None)),
            optional("cost", number().about("In the currency of the price table, if a model has a price.")),
            optional("overhead_ms", named("Quantiles")),
            optional("upstream_ms", named("Quantiles")),
        ]
    };
    api.schema("TurnCounts", object(counts()));
    api.schema("OverviewBucket", object([required("at", time())].into_iter().chain(counts())));
    let kind = || one_of(FindingKind::ALL.map(FindingKind::label));
    let name = text().about("Label within the kind: fault code, outcome, rule, limit or kind of repair.");
    api.schema(
        "CountedFinding",
        object([required("kind", kind()), required("name", name), required("turns", count(None))]),
    );
    let tool = object([
        required("tool", text()),
        required("turns", count(None).about("Turns that call the tool.")),
        required("findings", array(named("CountedFinding"))),
    ]);
    api.schema("CountedTool", tool);
    api.schema(
        "Finding",
        object([required("kind", kind()), required("name", text()), optional("tool", text())])
            .about("What went wrong in a turn, or was repaired."),
    );
    let truncated = boolean().about("Whether the range has more turns than are counted.");
    let overview = object([
        required("since", time()),
        required("until", time()),
        required("bucket_seconds", number()),
        required("truncated", truncated),
        required("total", named("TurnCounts")),
        required("buckets", array(named("OverviewBucket"))),
        required("findings", array(named("CountedFinding"))),
        required("tools", array(named("CountedTool"))),
        required("approvals_pending", count(None)),
    ]);
    api.schema("Overview", overview);
    let session = object([
        required("session", text()),
        required("turns", count(None)),
        required("first_at", time()),
        required("last_at", time()),
        required("verdicts", map_of(count(None))),
        required("tokens", count(None)),
    ]);
    api.schema("SessionPage", object([required("sessions", array(session)), optional("next", text())]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_a_length_and_a_bounded_number_of_intervals() {
        let query = |since: &str, until: &str, buckets| OverviewQuery {
            since: since.parse().ok(),
            until: until.parse().ok(),
            buckets,
        };
        let range = query("", "2026-03-02T00:00:00Z", None).range().unwrap();
        assert_eq!((range.since.to_string().as_str(), range.buckets), ("2026-03-01T00:00:00Z", DEFAULT_BUCKETS));
        for query in [
            query("2026-03-02T00:00:00Z", "2026-03-02T00:00:00Z", None),
            query("", "", Some(0)),
            query("", "", Some(MAX_BUCKETS + 1)),
        ] {
            assert!(query.range().is_err(), "{query:?}");
        }
    }
}
