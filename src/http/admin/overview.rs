//! `GET /admin/overview`, `GET /admin/sessions`, `GET /admin/tools/usage`: aggregates over stored turns, the sessions
//! that they belong to, and the tools that they call.

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::http::error;
use crate::http::json::{Answer, Json, ParsedQuery};
use crate::http::state::OperatorSide;
use callwright_store::{MAX_BUCKETS, Overview, OverviewRange, SessionFilter, time_or_age};

/// Default length of the range.
const DEFAULT_RANGE: SignedDuration = SignedDuration::from_hours(24);

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
        let buckets = self.buckets.unwrap_or(48);
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
) -> Answer<impl Serialize> {
    let overview = side.store.overview(&query.range().map_err(error::invalid_query)?).await?;
    Ok(Json(OperatorOverview { overview, approvals_pending: side.store.pending_approvals().await? }))
}

/// Returns the tools that the turns of a time range call.
pub(in crate::http) async fn tool_usage(
    State(side): State<OperatorSide>,
    ParsedQuery(UsageQuery { since, until }): ParsedQuery<UsageQuery>,
) -> Answer<impl Serialize> {
    let (since, until) = bounds(since, until).map_err(error::invalid_query)?;
    Ok(Json(side.store.tool_usage(since, until).await?))
}

/// Returns a page of sessions, the one with the newest turn first.
pub(in crate::http) async fn sessions(
    State(side): State<OperatorSide>,
    ParsedQuery(filter): ParsedQuery<SessionFilter>,
) -> Answer<impl Serialize> {
    Ok(Json(side.store.sessions(&filter).await?))
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
        assert_eq!((range.since.to_string().as_str(), range.buckets), ("2026-03-01T00:00:00Z", 48));
        for query in [
            query("2026-03-02T00:00:00Z", "2026-03-02T00:00:00Z", None),
            query("", "", Some(0)),
            query("", "", Some(MAX_BUCKETS + 1)),
        ] {
            assert!(query.range().is_err(), "{query:?}");
        }
    }
}
