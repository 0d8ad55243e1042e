//! Memory: aggregates over the stored turns of a time range, and the sessions in it.
//!
//! Each query reads a bounded number of rows of an index, newest first.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::findings::FindingKind;
use super::traces::time_or_age;
use super::{Store, StoreError};

/// Maximum number of turns that an overview reads.
pub const MAX_TURNS: u32 = 200_000;

/// Maximum number of buckets of an overview.
pub const MAX_BUCKETS: u32 = 200;

/// Time range of an overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverviewRange {
    /// Arrival at this time or later.
    pub since: Timestamp,
    /// Arrival before this time.
    pub until: Timestamp,
    /// Number of intervals of equal length, 1 to [`MAX_BUCKETS`].
    pub buckets: u32,
}

impl OverviewRange {
    /// Returns the length of a bucket in milliseconds, at least one.
    pub(crate) fn width(&self) -> i64 {
        let length = self.until.as_millisecond().saturating_sub(self.since.as_millisecond()).max(1);
        let buckets = i64::from(self.buckets.clamp(1, MAX_BUCKETS));
        (length + buckets - 1) / buckets
    }

    /// Returns the beginning of a bucket.
    pub(crate) fn start_of(&self, bucket: u32) -> Timestamp {
        let offset = SignedDuration::from_millis(self.width().saturating_mul(i64::from(bucket)));
        self.since.checked_add(offset).unwrap_or(Timestamp::MAX)
    }
}

/// Aggregates over a time range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Overview {
    /// Beginning of the range.
    pub since: Timestamp,
    /// End of the range.
    pub until: Timestamp,
    /// Length of a bucket in seconds.
    pub bucket_seconds: f64,
    /// Whether the range has more than [`MAX_TURNS`] turns, of which the newest are counted.
    pub truncated: bool,
    pub total: TurnCounts,
    /// Counts by interval, oldest first; empty intervals are included.
    pub buckets: Vec<OverviewBucket>,
    /// The most frequent findings.
    pub findings: Vec<CountedFinding>,
    /// The tools with the most turns with findings.
    pub tools: Vec<CountedTool>,
}

/// Turns of one interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverviewBucket {
    /// Beginning of the interval.
    pub at: Timestamp,
    #[serde(flatten)]
    pub counts: TurnCounts,
}

/// Counts, tokens and durations of turns.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TurnCounts {
    /// Number of turns.
    pub turns: u64,
    /// Number of turns whose response has a status of 500 or more.
    pub errors: u64,
    /// Number of turns by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Prompt tokens.
    pub input_tokens: u64,
    /// Completion tokens.
    pub output_tokens: u64,
    /// Cost in the currency of the price table, if a model has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Overhead in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead_ms: Option<Quantiles>,
    /// Time at the upstream in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_ms: Option<Quantiles>,
}

/// Quantiles of a duration, to two significant digits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
}

impl Quantiles {
    /// Computes the quantiles from the number of turns of each duration; `None` if there are no turns.
    pub(crate) fn new(counts: &mut [(f64, u64)]) -> Option<Self> {
        counts.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let total: u64 = counts.iter().map(|(_, count)| count).sum();
        let at = |share: f64| {
            let rank = (share * total as f64).ceil().max(1.0) as u64;
            let mut seen = 0;
            let found = counts.iter().find(|(_, count)| {
                seen += count;
                seen >= rank
            });
            found.map(|(value, _)| *value)
        };
        Some(Self { p50: at(0.5)?, p95: at(0.95)? })
    }
}

/// Number of turns with a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CountedFinding {
    pub kind: FindingKind,
    /// Label within the kind.
    pub name: String,
    /// Number of turns; a turn with several tools counts once per tool.
    pub turns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CountedTool {
    /// Name of the tool.
    pub tool: String,
    /// Number of turns that call it.
    pub turns: u64,
    /// Its findings, most frequent first.
    pub findings: Vec<CountedFinding>,
}

/// Tools that were called in a time range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolUsage {
    /// Beginning of the range.
    pub since: Timestamp,
    /// End of the range.
    pub until: Timestamp,
    /// Whether the range has more calls than are counted, or more tools than are listed.
    pub truncated: bool,
    /// The tools, those with the most turns in which something went wrong first.
    pub tools: Vec<UsedTool>,
}

/// Turns of a time range that call one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct UsedTool {
    /// Name of the tool.
    pub tool: String,
    /// Number of turns that call it.
    pub turns: u64,
    /// Number of turns with a fault of its calls.
    pub faulty: u64,
    /// Number of turns in which its execution failed.
    pub failed: u64,
    /// Number of turns in which its calls were not sent.
    pub refused: u64,
    /// Number of turns with at least one of these.
    pub wrong: u64,
    /// Number of turns in which its calls were repaired.
    pub repaired: u64,
}

/// Filter and page of the list of sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionFilter {
    /// Only turns that arrived at this time or later.
    #[serde(deserialize_with = "time_or_age")]
    pub since: Option<Timestamp>,
    /// Only turns that arrived before this time.
    #[serde(deserialize_with = "time_or_age")]
    pub until: Option<Timestamp>,
    /// Sessions per page; default [`DEFAULT_PAGE`](super::DEFAULT_PAGE), at most [`MAX_PAGE`](super::MAX_PAGE).
    pub limit: Option<u32>,
    /// Value of `next` of the previous page.
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SessionPage {
    /// Sessions, the one with the newest turn first.
    pub sessions: Vec<SessionSummary>,
    /// Cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionSummary {
    /// Session id.
    pub session: String,
    /// Number of turns in the range.
    pub turns: u64,
    /// Arrival of the first turn in the range.
    pub first_at: Timestamp,
    /// Arrival of the last turn in the range.
    pub last_at: Timestamp,
    /// Number of turns by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Prompt and completion tokens.
    pub tokens: u64,
}

impl Store {
    /// Returns aggregates over the turns of a range.
    pub async fn overview(&self, range: &OverviewRange) -> Result<Overview, StoreError> {
        self.database()?.overview(range).await
    }

    /// Returns the tools of the calls of a time range. It counts the newest calls, as many as an overview counts turns.
    pub async fn tool_usage(&self, since: Timestamp, until: Timestamp) -> Result<ToolUsage, StoreError> {
        self.database()?.tool_usage(since, until).await
    }

    /// Returns a page of sessions. It counts the newest turns of the range, at most [`MAX_TURNS`].
    ///
    /// # Errors
    /// [`StoreError`], including [`StoreError::BadCursor`].
    pub async fn sessions(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        self.database()?.sessions(filter).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::on_every_database;
    use crate::samples::{rows, trace_calling};
    use crate::{FindingFilter, TraceFilter, Traces};
    use callwright_types::trace::Execution;
    use callwright_types::{Diagnosis, FaultCode, RefusalReason, Trace, Usage, Verdict};
    use serde_json::{Value, json};

    fn at(millisecond: i64) -> Timestamp {
        Timestamp::from_millisecond(millisecond).unwrap()
    }

    /// A turn whose call of `tool` lacks a parameter.
    fn faulty(id: &str, millisecond: i64, tool: &str) -> Trace {
        let mut trace = trace_calling(id, millisecond, &[tool]);
        let diagnosis = Diagnosis {
            code: FaultCode::ParameterMissing,
            call: 0,
            path: Default::default(),
            message: String::new(),
            facts: Value::Null,
            suggestion: None,
        };
        trace.attempts[0].diagnoses = vec![diagnosis.clone(), diagnosis];
        Trace { verdict: Verdict::Faulty, status: 502, ..trace }
    }

    fn execution(tool: &str, outcome: &str, reason: Option<RefusalReason>) -> Execution {
        serde_json::from_value(json!({
            "call": {"id": "1", "name": tool, "arguments": ""}, "toolset": "t", "operation": "GET /",
            "outcome": outcome, "reason": reason, "duration_ms": 0.0,
        }))
        .unwrap()
    }

    fn trace_with(id: &str, millisecond: i64, question: &str) -> Trace {
        let request = json!({"messages": [{"role": "user", "content": question}]});
        Trace { request: Some(request), session: Some("s".to_owned()), ..trace_calling(id, millisecond, &["f"]) }
    }

    #[test]
    fn quantiles_are_those_of_the_single_values() {
        let mut counts = [(9.0, 1), (1.0, 90), (5.0, 9)];
        assert_eq!(Quantiles::new(&mut counts), Some(Quantiles { p50: 1.0, p95: 5.0 }));
        assert_eq!(Quantiles::new(&mut []), None);
        assert_eq!(Quantiles::new(&mut [(2.0, 1)]), Some(Quantiles { p50: 2.0, p95: 2.0 }));
    }

    on_every_database! {
        async fn an_overview_counts_the_turns_of_its_range_by_interval(store: Store) {
            let usage = Usage { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13, cached_tokens: 0 };
            let turns = [
                Trace { usage, cost: Some(0.25), overhead_ms: 0.256, ..trace_calling("a", 1_000, &["f"]) },
                Trace { usage, overhead_ms: 12.4, ..trace_calling("b", 1_999, &["f"]) },
                faulty("c", 3_000, "g"),
                trace_calling("before", 999, &["f"]),
                trace_calling("after", 5_000, &["f"]),
            ];
            store.append(&rows(turns)).await.unwrap();
            let range = OverviewRange { since: at(1_000), until: at(5_000), buckets: 4 };
            let overview = store.overview(&range).await.unwrap();
            assert_eq!((overview.bucket_seconds, overview.truncated, overview.buckets.len()), (1.0, false, 4));
            let counts: Vec<u64> = overview.buckets.iter().map(|bucket| bucket.counts.turns).collect();
            assert_eq!(counts, [2, 0, 1, 0]);
            let first = &overview.buckets[0];
            assert_eq!((first.at, first.counts.input_tokens, first.counts.output_tokens), (at(1_000), 20, 6));
            assert_eq!(first.counts.cost, Some(0.25));
            assert_eq!(first.counts.overhead_ms, Some(Quantiles { p50: 0.26, p95: 12.0 }));
            assert_eq!(first.counts.verdicts, BTreeMap::from([("clean".to_owned(), 2)]));
            let total = &overview.total;
            assert_eq!((total.turns, total.errors, total.upstream_ms.unwrap().p50), (3, 1, 1.0));
            let finding = CountedFinding { kind: FindingKind::Fault, name: "E3.4".to_owned(), turns: 1 };
            assert_eq!(overview.findings, std::slice::from_ref(&finding));
            assert_eq!(overview.tools, [CountedTool { tool: "g".to_owned(), turns: 1, findings: vec![finding] }]);
        }

        async fn the_tools_of_a_range_are_counted_by_turn(store: Store) {
            let mut wrong = faulty("c", 3_000, "g");
            wrong.executions = vec![execution("g", "client_error", None)];
            let mut refused = trace_calling("d", 3_001, &["g", "h"]);
            refused.executions = vec![execution("h", "refused", Some(RefusalReason::NoServer))];
            let turns = [
                trace_calling("a", 1_000, &["f", "f", "g"]),
                wrong,
                refused,
                trace_calling("before", 999, &["f"]),
                faulty("after", 5_000, "f"),
            ];
            store.append(&rows(turns)).await.unwrap();
            let usage = store.tool_usage(at(1_000), at(5_000)).await.unwrap();
            assert_eq!((usage.since, usage.until, usage.truncated), (at(1_000), at(5_000), false));
            let used = |tool: &str, turns| UsedTool { tool: tool.to_owned(), turns, ..UsedTool::default() };
            let expected = [
                UsedTool { faulty: 1, failed: 1, wrong: 1, ..used("g", 3) },
                UsedTool { refused: 1, wrong: 1, ..used("h", 1) },
                used("f", 1),
            ];
            assert_eq!(usage.tools, expected);
            assert_eq!(store.tool_usage(at(0), at(1)).await.unwrap().tools, []);
        }

        async fn findings_filter_a_list_and_go_with_their_trace(store: Store) {
            let mut twice = faulty("twice", 3, "f");
            twice.attempts.push(faulty("", 0, "g").attempts.remove(0));
            store.append(&rows([faulty("one", 1, "f"), trace_calling("clean", 2, &["f"]), twice])).await.unwrap();
            let filter = |finding: &str, tool: Option<&str>| TraceFilter {
                finding: Some(finding.parse::<FindingFilter>().unwrap()),
                tool: tool.map(str::to_owned),
                ..TraceFilter::default()
            };
            let ids = async |filter: TraceFilter| -> Vec<String> {
                store.list(&filter).await.unwrap().traces.into_iter().map(|trace| trace.id).collect()
            };
            assert_eq!(ids(filter("fault:E3.4", None)).await, ["twice", "one"]);
            assert_eq!(ids(filter("fault:E3.4", Some("g"))).await, ["twice"]);
            assert_eq!(ids(filter("fault:E1", None)).await, [""; 0]);
            let page = store.list(&TraceFilter { limit: Some(1), ..filter("fault:E3.4", None) }).await.unwrap();
            assert_eq!(page.traces[0].findings.len(), 2);
            let next = store.list(&TraceFilter { cursor: page.next, ..filter("fault:E3.4", None) }).await.unwrap();
            assert_eq!((next.traces[0].id.as_str(), next.next), ("one", None));
            let ages = crate::Ages { before: Some(at(3)), ..Default::default() };
            store.expire(ages, 100).await.unwrap();
            let range = OverviewRange { since: at(0), until: at(10), buckets: 1 };
            assert_eq!(store.overview(&range).await.unwrap().findings[0].turns, 2);
            let deletion = crate::Deletion { before: Some(at(10)), ..Default::default() };
            store.delete(&deletion).await.unwrap();
            assert_eq!(store.overview(&range).await.unwrap().findings, []);
        }

        async fn a_text_search_reads_a_bounded_number_of_traces_per_page(store: Store) {
            let (needle, hay) = ("Ein BÜRO im 3. Stock?", "Something else");
            let turns = (0..2_200).map(|number| {
                let question = if number == 0 || number == 150 || number >= 2_198 { needle } else { hay };
                trace_with(&format!("{number:04}"), number, question)
            });
            for batch in rows(turns).chunks(200) {
                store.append(batch).await.unwrap();
            }
            let search = |cursor, limit| TraceFilter { text: Some("büro".to_owned()), cursor, limit, ..TraceFilter::default() };
            let page = store.list(&search(None, None)).await.unwrap();
            let ids: Vec<&str> = page.traces.iter().map(|trace| trace.id.as_str()).collect();
            assert_eq!((ids.as_slice(), page.examined), (["2199", "2198"].as_slice(), Some(2_000)));
            assert_eq!(page.traces[0].question.as_deref(), Some(needle));
            let rest = store.list(&search(page.next, None)).await.unwrap();
            let ids: Vec<&str> = rest.traces.iter().map(|trace| trace.id.as_str()).collect();
            assert_eq!((ids.as_slice(), rest.next), (["0150", "0000"].as_slice(), None));
            let first = store.list(&search(None, Some(1))).await.unwrap();
            let second = store.list(&search(first.next, Some(1))).await.unwrap();
            assert_eq!((first.traces[0].id.as_str(), second.traces[0].id.as_str()), ("2199", "2198"));
        }

        async fn sessions_are_listed_by_their_newest_turn(store: Store) {
            let turn = |id: &str, millisecond: i64, session: &str| Trace {
                session: Some(session.to_owned()), ..trace_calling(id, millisecond, &["f"])
            };
            store.append(&rows([turn("1", 1, "a"), turn("2", 2, "b"), turn("3", 3, "a"), trace_calling("4", 4, &[])])).await.unwrap();
            let filter = SessionFilter { limit: Some(1), ..SessionFilter::default() };
            let page = store.sessions(&filter).await.unwrap();
            assert_eq!((page.sessions[0].session.as_str(), page.sessions[0].turns, page.sessions[0].first_at), ("a", 2, at(1)));
            let rest = store.sessions(&SessionFilter { cursor: page.next, ..filter }).await.unwrap();
            assert_eq!((rest.sessions[0].session.as_str(), rest.next), ("b", None));
            assert_eq!(rest.sessions[0].verdicts, BTreeMap::from([("clean".to_owned(), 1)]));
            let error = store.sessions(&SessionFilter { cursor: Some("x".to_owned()), ..SessionFilter::default() }).await;
            assert!(matches!(error, Err(StoreError::BadCursor(_))));
        }
    }
}
