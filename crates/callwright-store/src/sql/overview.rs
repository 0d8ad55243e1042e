//! SQL of the overview and of sessions.

use std::collections::BTreeMap;

use callwright_common::limits::LISTED_ROWS;
use jiff::Timestamp;

use super::{Database, Statement, database_record, time};
use crate::StoreError;
use crate::findings::FindingKind;
use crate::overview::{
    CountedFinding, CountedTool, MAX_TURNS, Overview, OverviewBucket, OverviewRange, Quantiles, SessionFilter,
    SessionPage, SessionSummary, ToolUsage, TurnCounts, UsedTool,
};
use crate::traces::{DEFAULT_PAGE, MAX_EXAMINED, MAX_PAGE};

/// Durations of turns, each of a column of `traces`.
const DURATIONS: [&str; 2] = ["overhead_ms", "upstream_ms"];

impl Database {
    pub(crate) async fn overview(&self, range: &OverviewRange) -> Result<Overview, StoreError> {
        let buckets = range.buckets.clamp(1, crate::overview::MAX_BUCKETS);
        let mut total = TurnCounts::default();
        let mut counts = vec![TurnCounts::default(); buckets as usize];
        for row in self.fetch_all::<VerdictRow>(by_verdict(range)).await? {
            row.add_to(&mut total);
            if let Some(bucket) = usize::try_from(row.bucket).ok().and_then(|bucket| counts.get_mut(bucket)) {
                row.add_to(bucket);
            }
        }
        for column in DURATIONS {
            let rows: Vec<(i64, f64, i64)> = self.fetch_all(by_duration(range, column)).await?;
            let mut all: Vec<(f64, u64)> = Vec::new();
            let mut by_bucket: BTreeMap<usize, Vec<(f64, u64)>> = BTreeMap::new();
            for (bucket, duration, turns) in rows {
                let turns = turns.unsigned_abs();
                all.push((duration, turns));
                by_bucket.entry(usize::try_from(bucket).unwrap_or(usize::MAX)).or_default().push((duration, turns));
            }
            *quantiles(&mut total, column) = Quantiles::new(&mut all);
            for (bucket, mut durations) in by_bucket {
                if let Some(counts) = counts.get_mut(bucket) {
                    *quantiles(counts, column) = Quantiles::new(&mut durations);
                }
            }
        }
        let found: Vec<FindingRow> = self.fetch_all(by_finding(range)).await?;
        let mut tools = counted_tools(&found);
        for tool in &mut tools {
            tool.turns = self.count(calls_of(range, &tool.tool)).await?;
        }
        let buckets = (0..).zip(counts).map(|(bucket, counts)| OverviewBucket { at: range.start_of(bucket), counts });
        Ok(Overview {
            since: range.since,
            until: range.until,
            bucket_seconds: range.width() as f64 / 1e3,
            truncated: total.turns >= u64::from(MAX_TURNS),
            total,
            buckets: buckets.collect(),
            findings: counted_findings(&found),
            tools,
        })
    }

    pub(crate) async fn tool_usage(&self, since: Timestamp, until: Timestamp) -> Result<ToolUsage, StoreError> {
        let called: Vec<(String, i64)> = self.fetch_all(calls_by_tool(since, until)).await?;
        let wrong: Vec<WrongToolRow> = self.fetch_all(wrong_turns_by_tool(since, until)).await?;
        let calls: u64 = called.iter().map(|(_, turns)| turns.unsigned_abs()).sum();
        let is_capped = called.len() >= MAX_PAGE as usize || wrong.len() >= MAX_PAGE as usize;
        let mut tools: BTreeMap<String, UsedTool> = BTreeMap::new();
        for (tool, turns) in called {
            tools.entry(tool).or_default().turns = turns.unsigned_abs();
        }
        for row in wrong {
            let tool = tools.entry(row.tool).or_default();
            tool.faulty = row.faulty.unsigned_abs();
            tool.failed = row.failed.unsigned_abs();
            tool.refused = row.refused.unsigned_abs();
            tool.repaired = row.repaired.unsigned_abs();
            tool.wrong = row.wrong.unsigned_abs();
        }
        let mut tools: Vec<UsedTool> = tools.into_iter().map(|(tool, counts)| UsedTool { tool, ..counts }).collect();
        tools.sort_by_key(|tool| std::cmp::Reverse((tool.wrong, tool.turns)));
        Ok(ToolUsage { since, until, truncated: is_capped || calls >= u64::from(MAX_TURNS), tools })
    }

    pub(crate) async fn sessions(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        let limit = filter.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE) as usize;
        let rows: Vec<SessionRow> = self.fetch_all(sessions_query(filter, limit)?).await?;
        let more = rows.len() > limit;
        let mut sessions: Vec<SessionSummary> = rows.into_iter().take(limit).map(SessionRow::summary).collect();
        for session in &mut sessions {
            let verdicts: Vec<(String, i64)> = self.fetch_all(verdicts_of(filter, &session.session)).await?;
            session.verdicts = verdicts.into_iter().map(|(verdict, turns)| (verdict, turns.unsigned_abs())).collect();
        }
        let last = sessions.last().filter(|_| more);
        let next = last.map(|last| format!("{}.{}", last.last_at.as_millisecond(), last.session));
        Ok(SessionPage { sessions, next })
    }
}

fn quantiles<'a>(counts: &'a mut TurnCounts, column: &str) -> &'a mut Option<Quantiles> {
    if column == DURATIONS[0] { &mut counts.overhead_ms } else { &mut counts.upstream_ms }
}

/// Appends the turns of the range, newest first, as a table `turns`.
fn push_turns(query: &mut Statement, range: &OverviewRange, columns: &str) {
    query.push(format_args!(" FROM (SELECT (started_at - ")).push_bind(range.since.as_millisecond());
    query.push(") / ").push_bind(range.width());
    query.push(format_args!(" AS bucket, {columns} FROM traces WHERE started_at >= "));
    query.push_bind(range.since.as_millisecond()).push(" AND started_at < ").push_bind(range.until.as_millisecond());
    query.push(" ORDER BY started_at DESC, id DESC LIMIT ").push_bind(MAX_TURNS).push(") AS turns");
}

fn by_verdict(range: &OverviewRange) -> Statement {
    let mut query = Statement::beginning(
        "SELECT bucket, verdict, count(*) AS turns, \
            CAST(sum(CASE WHEN status >= 500 THEN 1 ELSE 0 END) AS BIGINT) AS errors, \
            CAST(sum(input_tokens) AS BIGINT) AS input_tokens, CAST(sum(output_tokens) AS BIGINT) AS output_tokens, \
            CAST(sum(cost_nanos) AS BIGINT) AS cost_nanos",
    );
    push_turns(&mut query, range, "verdict, status, input_tokens, output_tokens, cost_nanos");
    query.push(" GROUP BY bucket, verdict");
    query
}

/// Counts turns by duration, rounded to two significant digits: at most 90 values per power of ten.
fn by_duration(range: &OverviewRange, column: &str) -> Statement {
    let mut query = Statement::beginning(
        "SELECT bucket, CASE WHEN took < 1 THEN round(took * 100) / 100 WHEN took < 10 THEN round(took * 10) / 10 \
            WHEN took < 100 THEN round(took) WHEN took < 1000 THEN round(took / 10) * 10 \
            WHEN took < 10000 THEN round(took / 100) * 100 ELSE round(took / 1000) * 1000 END AS duration, count(*)",
    );
    push_turns(&mut query, range, &format!("{column} AS took"));
    query.push(" WHERE took IS NOT NULL GROUP BY bucket, duration");
    query
}

fn by_finding(range: &OverviewRange) -> Statement {
    let mut query = Statement::beginning(
        "SELECT kind, name, tool, count(*) AS turns FROM \
            (SELECT kind, name, tool FROM trace_findings WHERE started_at >= ",
    );
    query.push_bind(range.since.as_millisecond()).push(" AND started_at < ").push_bind(range.until.as_millisecond());
    query.push(" ORDER BY started_at DESC LIMIT ").push_bind(MAX_TURNS).push(") AS found");
    query.push(" GROUP BY kind, name, tool ORDER BY turns DESC, kind, name, tool LIMIT ").push_bind(MAX_EXAMINED);
    query
}

/// Counts the turns of the range that call a tool.
fn calls_of(range: &OverviewRange, tool: &str) -> Statement {
    let mut query = Statement::beginning("SELECT count(*) FROM (SELECT 1 FROM trace_tools WHERE tool = ");
    query.push_bind(tool).push(" AND started_at >= ").push_bind(range.since.as_millisecond());
    query.push(" AND started_at < ").push_bind(range.until.as_millisecond());
    query.push(" LIMIT ").push_bind(MAX_TURNS).push(") AS calls");
    query
}

fn calls_by_tool(since: Timestamp, until: Timestamp) -> Statement {
    let mut query =
        Statement::beginning("SELECT tool, count(*) AS turns FROM (SELECT tool FROM trace_tools WHERE started_at >= ");
    query.push_bind(since.as_millisecond()).push(" AND started_at < ").push_bind(until.as_millisecond());
    query.push(" ORDER BY started_at DESC LIMIT ").push_bind(MAX_TURNS).push(") AS calls");
    query.push(" GROUP BY tool ORDER BY turns DESC, tool LIMIT ").push_bind(MAX_PAGE);
    query
}

/// Counts the turns with a finding about each tool. A repair is nothing that went wrong.
fn wrong_turns_by_tool(since: Timestamp, until: Timestamp) -> Statement {
    let mut query = Statement::beginning(
        "SELECT tool, count(DISTINCT CASE WHEN kind NOT IN ('repair', 'shadow_repair') THEN trace_id END) AS wrong, \
            count(DISTINCT CASE WHEN kind = 'fault' THEN trace_id END) AS faulty, \
            count(DISTINCT CASE WHEN kind IN ('execution', 'client_tool') THEN trace_id END) AS failed, \
            count(DISTINCT CASE WHEN kind = 'refusal' THEN trace_id END) AS refused, \
            count(DISTINCT CASE WHEN kind = 'repair' THEN trace_id END) AS repaired FROM \
            (SELECT trace_id, kind, tool FROM trace_findings WHERE started_at >= ",
    );
    query.push_bind(since.as_millisecond()).push(" AND started_at < ").push_bind(until.as_millisecond());
    query.push(" ORDER BY started_at DESC LIMIT ").push_bind(MAX_TURNS);
    query.push(") AS found WHERE tool <> '' GROUP BY tool ORDER BY wrong DESC, tool LIMIT ").push_bind(MAX_PAGE);
    query
}

database_record! {
    struct WrongToolRow {
        tool: String,
        wrong: i64,
        faulty: i64,
        failed: i64,
        refused: i64,
        repaired: i64,
    }
}

fn push_range(query: &mut Statement, filter: &SessionFilter) {
    for (condition, bound) in [(" AND started_at >= ", filter.since), (" AND started_at < ", filter.until)] {
        if let Some(bound) = bound {
            query.push(condition).push_bind(bound.as_millisecond());
        }
    }
}

fn sessions_query(filter: &SessionFilter, limit: usize) -> Result<Statement, StoreError> {
    let mut query = Statement::beginning(
        "SELECT session, count(*) AS turns, min(started_at) AS first_at, max(started_at) AS last_at, \
            CAST(sum(input_tokens + output_tokens) AS BIGINT) AS tokens FROM \
            (SELECT session, started_at, input_tokens, output_tokens FROM traces WHERE session IS NOT NULL",
    );
    push_range(&mut query, filter);
    query.push(" ORDER BY started_at DESC LIMIT ").push_bind(MAX_SESSION_TURNS).push(") AS turns GROUP BY session");
    if let Some(cursor) = &filter.cursor {
        let parts = cursor.split_once('.').and_then(|(at, session)| Some((at.parse::<i64>().ok()?, session)));
        let (last_at, session) = parts.ok_or_else(|| StoreError::BadCursor(cursor.clone()))?;
        query.push(" HAVING max(started_at) < ").push_bind(last_at);
        query.push(" OR (max(started_at) = ").push_bind(last_at).push(" AND session < ").push_bind(session).push(")");
    }
    query.push(" ORDER BY last_at DESC, session DESC LIMIT ").push_bind(i64::try_from(limit + 1).unwrap_or(i64::MAX));
    Ok(query)
}

/// Maximum number of turns that a list of sessions reads. Unlike the overview it reads rows, not only an index.
const MAX_SESSION_TURNS: u32 = 20_000;

fn verdicts_of(filter: &SessionFilter, session: &str) -> Statement {
    let mut query = Statement::beginning("SELECT verdict, count(*) FROM (SELECT verdict FROM traces WHERE session = ");
    query.push_bind(session);
    push_range(&mut query, filter);
    query.push(" ORDER BY started_at DESC LIMIT ").push_bind(MAX_PAGE).push(") AS turns GROUP BY verdict");
    query
}

database_record! {
    struct VerdictRow {
        bucket: i64,
        verdict: String,
        turns: i64,
        errors: i64,
        input_tokens: i64,
        output_tokens: i64,
        cost_nanos: Option<i64>,
    }
}

impl VerdictRow {
    fn add_to(&self, counts: &mut TurnCounts) {
        counts.turns += self.turns.unsigned_abs();
        counts.errors += self.errors.unsigned_abs();
        *counts.verdicts.entry(self.verdict.clone()).or_default() += self.turns.unsigned_abs();
        counts.input_tokens += self.input_tokens.unsigned_abs();
        counts.output_tokens += self.output_tokens.unsigned_abs();
        if let Some(nanos) = self.cost_nanos {
            counts.cost = Some(counts.cost.unwrap_or(0.0) + nanos as f64 / 1e9);
        }
    }
}

database_record! {
    struct FindingRow {
        kind: String,
        name: String,
        tool: String,
        turns: i64,
    }
}

impl FindingRow {
    fn counted(&self) -> Option<CountedFinding> {
        let kind = FindingKind::ALL.into_iter().find(|kind| kind.label() == self.kind)?;
        Some(CountedFinding { kind, name: self.name.clone(), turns: self.turns.unsigned_abs() })
    }
}

/// Adds the tools up.
fn counted_findings(rows: &[FindingRow]) -> Vec<CountedFinding> {
    let mut sums: BTreeMap<(FindingKind, &str), u64> = BTreeMap::new();
    for row in rows {
        if let Some(counted) = row.counted() {
            *sums.entry((counted.kind, &row.name)).or_default() += counted.turns;
        }
    }
    let mut findings: Vec<CountedFinding> =
        sums.into_iter().map(|((kind, name), turns)| CountedFinding { kind, name: name.to_owned(), turns }).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.turns));
    findings.truncate(LISTED_ROWS);
    findings
}

/// Returns the tools with the most findings, without the number of their turns.
fn counted_tools(rows: &[FindingRow]) -> Vec<CountedTool> {
    let mut by_tool: BTreeMap<&str, Vec<CountedFinding>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.tool.is_empty()) {
        by_tool.entry(&row.tool).or_default().extend(row.counted());
    }
    let mut tools: Vec<CountedTool> =
        by_tool.into_iter().map(|(tool, findings)| CountedTool { tool: tool.to_owned(), turns: 0, findings }).collect();
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.findings.iter().map(|finding| finding.turns).sum::<u64>()));
    tools.truncate(LISTED_ROWS);
    tools
}

database_record! {
    struct SessionRow {
        session: String,
        turns: i64,
        first_at: i64,
        last_at: i64,
        tokens: i64,
    }
}

impl SessionRow {
    fn summary(self) -> SessionSummary {
        SessionSummary {
            session: self.session,
            turns: self.turns.unsigned_abs(),
            first_at: time(self.first_at),
            last_at: time(self.last_at),
            verdicts: BTreeMap::new(),
            tokens: self.tokens.unsigned_abs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Location;
    use crate::sqlite::Sqlite;

    #[tokio::test]
    async fn the_overview_reads_indexes_alone() {
        let database = Database::Sqlite(Sqlite::open(&Location::Memory).await.unwrap());
        let range = OverviewRange { since: Timestamp::UNIX_EPOCH, until: Timestamp::MAX, buckets: 10 };
        for mut query in [
            by_verdict(&range),
            by_duration(&range, DURATIONS[0]),
            by_duration(&range, DURATIONS[1]),
            by_finding(&range),
            calls_by_tool(range.since, range.until),
            wrong_turns_by_tool(range.since, range.until),
        ] {
            query.text = format!("EXPLAIN QUERY PLAN {}", query.text).into();
            let steps: Vec<(i64, i64, i64, String)> = database.fetch_all(query).await.unwrap();
            let search = steps.iter().map(|(.., step)| step).find(|step| step.starts_with("SEARCH")).unwrap();
            let is_by_time = ["COVERING INDEX traces_by_time", "COVERING INDEX trace_tools_by_time", "PRIMARY KEY"];
            assert!(is_by_time.iter().any(|index| search.contains(index)), "{search}");
        }
    }
}
