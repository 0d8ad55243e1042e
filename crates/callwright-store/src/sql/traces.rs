//! SQL of traces.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::insertion::{Insertion, ROWS_PER_INSERT};
use super::revisions::Topic;
use super::{Database, Lock, SqlValue, Statement, database_record, time};
use crate::findings::Finding;
use crate::question;
use crate::traces::{DEFAULT_PAGE, MAX_EXAMINED, MAX_PAGE};
use crate::{Ages, LearnableTraces, Revision, StoreError, TraceFilter, TracePage, TraceRow, TraceSummary};
use callwright_types::Trace;

static INSERT_TRACES: Insertion<23, ROWS_PER_INSERT> = Insertion::new(
    "INSERT INTO traces (id, started_at, session, endpoint, model, upstream, policy, mode, verdict, status, duration_ms, tools, \
        document, revision, tenant, attempts, overhead_ms, upstream_ms, input_tokens, output_tokens, cost_nanos, findings, question) VALUES ",
    " ON CONFLICT (id) DO NOTHING",
);

/// Excludes tools of traces that are stored already.
static INSERT_TOOLS: Insertion<3, ROWS_PER_INSERT> = Insertion::new(
    "INSERT INTO trace_tools (tool, started_at, trace_id) SELECT column1, column2, column3 FROM (VALUES ",
    ") AS given WHERE NOT EXISTS (SELECT 1 FROM traces WHERE id = given.column3) ON CONFLICT DO NOTHING",
);

/// Excludes findings of traces that are stored already.
static INSERT_FINDINGS: Insertion<5, ROWS_PER_INSERT> = Insertion::new(
    "INSERT INTO trace_findings (started_at, trace_id, kind, name, tool) \
        SELECT column1, column2, column3, column4, column5 FROM (VALUES ",
    ") AS given WHERE NOT EXISTS (SELECT 1 FROM traces WHERE id = given.column2) ON CONFLICT DO NOTHING",
);

const GET: &str = "SELECT document FROM traces WHERE id = $1";

const TAUGHT: &str = "SELECT id, revision, document FROM traces WHERE revision > $1 ORDER BY revision LIMIT $2";

const EXPIRE_TRACES: &str = "\
    DELETE FROM traces WHERE id IN (SELECT id FROM traces WHERE started_at < $1 ORDER BY started_at, id LIMIT $2)";

const EXPIRE_FINDINGS: &str = "\
    DELETE FROM trace_findings WHERE (started_at, trace_id) IN \
        (SELECT started_at, id FROM traces WHERE started_at < $1 ORDER BY started_at, id LIMIT $2)";

const EXPIRE_FINISHED_INTENTS: &str = "\
    DELETE FROM intents WHERE (session, operation, arguments_hash) IN \
        (SELECT session, operation, arguments_hash FROM intents WHERE begun_at < $1 AND label IS NOT NULL ORDER BY begun_at LIMIT $2)";

const EXPIRE_UNKNOWN_INTENTS: &str = "\
    DELETE FROM intents WHERE (session, operation, arguments_hash) IN \
        (SELECT session, operation, arguments_hash FROM intents WHERE begun_at < $1 AND label IS NULL ORDER BY begun_at LIMIT $2)";

/// Excludes entries that a turn may still depend on.
const EXPIRE_APPROVALS: &str = "\
    DELETE FROM approvals WHERE id IN \
        (SELECT id FROM approvals WHERE created_at < $1 AND expires_at < $1 AND status NOT IN ('pending', 'approved') \
        ORDER BY created_at LIMIT $2)";

const EXPIRE_VECTORS: &str = "\
    DELETE FROM vectors WHERE (model, text) IN \
        (SELECT model, text FROM vectors WHERE written_at < $1 ORDER BY written_at LIMIT $2)";

const EXPIRE_FEEDBACK: &str = "\
    DELETE FROM feedback WHERE (trace, source) IN (SELECT trace, source FROM feedback WHERE at < $1 ORDER BY at LIMIT $2)";

/// The tombstones are old enough that every process has noticed the removal.
const EXPIRE_LESSONS: &str = "\
    DELETE FROM lessons WHERE id IN (SELECT id FROM lessons WHERE deleted AND updated_at < $1 ORDER BY id LIMIT $2)";

const EXPIRE_PROCEDURES: &str = "\
    DELETE FROM procedures WHERE id IN (SELECT id FROM procedures WHERE deleted AND updated_at < $1 ORDER BY id LIMIT $2)";

const EXPIRE_REPRESENTATIONS: &str = "\
    DELETE FROM representations WHERE id IN \
    (SELECT id FROM representations WHERE deleted AND updated_at < $1 ORDER BY id LIMIT $2)";

const EXPIRE_SAMPLES: &str = "\
    DELETE FROM samples WHERE id IN (SELECT id FROM samples WHERE deleted AND updated_at < $1 ORDER BY id LIMIT $2)";

/// A running process renews these rows on every report.
const EXPIRE_KEY_REQUESTS: &str = "\
    DELETE FROM key_requests WHERE (subject, owner) IN \
        (SELECT subject, owner FROM key_requests WHERE seen_at < $1 ORDER BY seen_at LIMIT $2)";

/// A running process renews its row on every report.
const EXPIRE_KEY_TELLINGS: &str = "\
    DELETE FROM key_tellings WHERE owner IN (SELECT owner FROM key_tellings WHERE told_at < $1 ORDER BY told_at LIMIT $2)";

const EXPIRE_KEY_USAGE: &str = "\
    DELETE FROM key_usage WHERE (subject, day) IN (SELECT subject, day FROM key_usage WHERE day < $1 ORDER BY day LIMIT $2)";

const SUMMARY: &str = "\
    SELECT t.id, t.started_at, t.session, t.endpoint, t.model, t.upstream, t.policy, t.mode, t.verdict, t.status, t.duration_ms, \
        t.attempts, t.input_tokens, t.output_tokens, t.cost_nanos, t.tools, t.findings, t.question ";

/// Number of traces that a text search reads at once: a trace may be large.
const SEARCH_SLICE: u32 = 25;

impl Database {
    pub(crate) async fn append(&self, batch: &[TraceRow]) -> Result<(), StoreError> {
        let teaching = batch.iter().filter(|row| row.teaches).count();
        let mut transaction = self.begin(Lock::Rows).await?;
        let mut revision = transaction.revisions(Topic::Traces, teaching).await?;
        for rows in batch.chunks(ROWS_PER_INSERT) {
            let inserts = [insert_tools(rows), insert_findings(rows), insert_traces(rows, &mut revision)];
            for insert in inserts.into_iter().flatten() {
                transaction.execute(insert).await?;
            }
        }
        transaction.commit().await
    }

    pub(crate) async fn list(&self, filter: &TraceFilter) -> Result<TracePage, StoreError> {
        let limit = filter.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
        if let Some(text) = filter.text.as_deref().map(str::to_lowercase).filter(|text| !text.is_empty()) {
            return self.search(filter, &text, limit).await;
        }
        let rows: Vec<TraceSummaryRow> = self.fetch_all(list_query(filter, limit)?).await?;
        let mut traces: Vec<TraceSummary> = rows.into_iter().map(TraceSummaryRow::summary).collect();
        let more = traces.len() > limit as usize;
        traces.truncate(limit as usize);
        let next = traces.last().filter(|_| more).map(|last| Cursor::after(last).to_string());
        Ok(TracePage { traces, next, examined: None })
    }

    /// Reads traces, newest first, until `limit` of them contain the text or [`MAX_EXAMINED`] are read.
    async fn search(&self, filter: &TraceFilter, text: &str, limit: u32) -> Result<TracePage, StoreError> {
        let mut page = TracePage::default();
        let mut examined = 0;
        let mut slice = TraceFilter { cursor: filter.cursor.clone(), ..filter.clone() };
        loop {
            let mut rows: Vec<TraceSummaryRow> = self.fetch_all(list_query(&slice, SEARCH_SLICE)?).await?;
            let more = rows.len() > SEARCH_SLICE as usize;
            rows.truncate(SEARCH_SLICE as usize);
            let Some(last) = rows.last() else { break };
            let last = Cursor { started_at: last.started_at, id: last.id.clone() };
            let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
            let matching = self.containing(&ids, text).await?;
            for row in rows {
                // The page ends before the first trace that does not fit.
                if page.traces.len() == limit as usize {
                    page.next = page.traces.last().map(|last| Cursor::after(last).to_string());
                    page.examined = Some(examined);
                    return Ok(page);
                }
                examined += 1;
                if matching.contains(&row.id) {
                    page.traces.push(row.summary());
                }
            }
            if !more {
                break;
            }
            if examined >= MAX_EXAMINED {
                page.next = Some(last.to_string());
                break;
            }
            slice.cursor = Some(last.to_string());
        }
        page.examined = Some(examined);
        Ok(page)
    }

    /// Returns the ids of the traces that contain a text.
    async fn containing(&self, ids: &[&str], text: &str) -> Result<BTreeSet<String>, StoreError> {
        let mut query = Statement::beginning("SELECT id, document FROM traces WHERE id IN ");
        query.push_tuple(ids.iter().copied());
        let rows: Vec<(String, String)> = self.fetch_all(query.usual(true)).await?;
        let text = text.to_owned();
        // Parsing takes milliseconds per megabyte.
        let matching = tokio::task::spawn_blocking(move || {
            let matching = rows.into_iter().filter(|(_, document)| question::contains(document, &text));
            matching.map(|(id, _)| id).collect()
        });
        matching.await.map_err(|error| StoreError::Refused(error.to_string()))
    }

    pub(crate) async fn get(&self, id: &str) -> Result<Option<Trace>, StoreError> {
        let row: Option<(String,)> = self.fetch_optional(Statement::new(GET).bind(id)).await?;
        row.map(|(document,)| parse(id, &document)).transpose()
    }

    pub(crate) async fn learnable(&self, after: Revision, limit: u32) -> Result<LearnableTraces, StoreError> {
        let rows: Vec<(String, i64, String)> =
            self.fetch_all(Statement::new(TAUGHT).bind(after).bind(limit.max(1))).await?;
        let mut learnable = LearnableTraces { traces: Vec::with_capacity(rows.len()), upto: after };
        for (id, revision, document) in rows {
            learnable.upto = revision;
            match parse(&id, &document) {
                Ok(trace) => learnable.traces.push((revision, trace)),
                Err(error) => tracing::warn!(%error, "skipping a stored trace that cannot be parsed"),
            }
        }
        Ok(learnable)
    }

    pub(crate) async fn expire(&self, ages: Ages, limit: u32) -> Result<u64, StoreError> {
        let mut transaction = self.begin(Lock::Named("callwright/expiry")).await?;
        let mut removed = 0;
        if let Some(before) = ages.before {
            // Rows of the search index do not count.
            let tools = self.expired_tools();
            transaction.execute(tools.bind(before.as_millisecond()).bind(limit)).await?;
            let findings = Statement::new(EXPIRE_FINDINGS);
            transaction.execute(findings.bind(before.as_millisecond()).bind(limit)).await?;
        }
        let statements = [
            (EXPIRE_TRACES, ages.before),
            (EXPIRE_FINISHED_INTENTS, ages.before),
            (EXPIRE_UNKNOWN_INTENTS, ages.unknown_before),
            (EXPIRE_APPROVALS, ages.before),
            (EXPIRE_VECTORS, ages.before),
            (EXPIRE_FEEDBACK, ages.before),
            (EXPIRE_LESSONS, ages.before),
            (EXPIRE_PROCEDURES, ages.before),
            (EXPIRE_REPRESENTATIONS, ages.before),
            (EXPIRE_SAMPLES, ages.before),
            (EXPIRE_KEY_REQUESTS, ages.before),
            (EXPIRE_KEY_TELLINGS, ages.before),
        ];
        for (statement, before) in statements {
            let Some(before) = before else { continue };
            removed += transaction.execute(Statement::new(statement).bind(before.as_millisecond()).bind(limit)).await?;
        }
        if let Some(before) = ages.before {
            let expire = Statement::new(EXPIRE_KEY_USAGE).bind(first_day_kept(before).to_string()).bind(limit);
            removed += transaction.execute(expire).await?;
        }
        transaction.commit().await?;
        Ok(removed + self.forget_leases(limit).await?)
    }

    /// Removes the tool rows of the oldest traces, by their full primary key.
    fn expired_tools(&self) -> Statement {
        let tools = self.elements_of("trace.tools");
        let text = format!(
            "DELETE FROM trace_tools WHERE (tool, started_at, trace_id) IN \
            (SELECT element.value, trace.started_at, trace.id \
            FROM (SELECT id, started_at, tools FROM traces WHERE started_at < $1 ORDER BY started_at, id LIMIT $2) AS trace, \
                {tools})"
        );
        Statement::beginning(text).usual(true)
    }
}

/// Returns the first day whose key usage is kept: monthly budgets require all days of the month.
fn first_day_kept(before: Timestamp) -> Date {
    before.min(Timestamp::now()).to_zoned(TimeZone::UTC).date().first_of_month()
}

fn parse(id: &str, document: &str) -> Result<Trace, StoreError> {
    serde_json::from_str(document).map_err(|error| StoreError::Refused(format!("trace {id} cannot be read: {error}")))
}

/// Returns the insertion of traces. Rows to learn from take the next revisions, starting at `revision`.
fn insert_traces(rows: &[TraceRow], revision: &mut Revision) -> Vec<Statement> {
    INSERT_TRACES.statements(rows, |row| {
        let taken = row.teaches.then(|| std::mem::replace(revision, *revision + 1));
        [
            row.id.clone().into(),
            row.started_at.into(),
            row.session.clone().into(),
            row.endpoint.clone().into(),
            row.model.clone().into(),
            row.upstream.clone().into(),
            row.policy.clone().into(),
            row.mode.clone().into(),
            row.verdict.clone().into(),
            row.status.into(),
            row.duration_ms.into(),
            serde_json::to_string(&row.tools).unwrap_or_default().into(),
            row.document.clone().into(),
            SqlValue::from(taken),
            row.tenant.clone().into(),
            row.figures.attempts.into(),
            row.figures.overhead_ms.into(),
            row.figures.upstream_ms.into(),
            row.figures.input_tokens.into(),
            row.figures.output_tokens.into(),
            row.figures.cost_nanos.into(),
            serde_json::to_string(&row.findings).unwrap_or_default().into(),
            row.question.clone().into(),
        ]
    })
}

/// Returns the insertions of the tools of traces that are not stored yet.
fn insert_tools(rows: &[TraceRow]) -> Vec<Statement> {
    let tools: Vec<(&Arc<str>, &TraceRow)> =
        rows.iter().flat_map(|row| row.tools.iter().map(move |tool| (tool, row))).collect();
    INSERT_TOOLS
        .statements(&tools, |(tool, row)| [Arc::clone(tool).into(), row.started_at.into(), row.id.clone().into()])
}

/// Returns the insertions of the findings of traces that are not stored yet.
fn insert_findings(rows: &[TraceRow]) -> Vec<Statement> {
    let findings: Vec<(&Finding, &TraceRow)> =
        rows.iter().flat_map(|row| row.findings.iter().map(move |finding| (finding, row))).collect();
    INSERT_FINDINGS.statements(&findings, |(finding, row)| {
        [
            row.started_at.into(),
            row.id.clone().into(),
            finding.kind.label().into(),
            Arc::clone(&finding.name).into(),
            Arc::clone(&finding.tool).into(),
        ]
    })
}

fn list_query(filter: &TraceFilter, limit: u32) -> Result<Statement, StoreError> {
    let mut query = Statement::beginning(SUMMARY);
    // The order always is that of an index: `traces_by_time`, the primary key of the tool table, or that of the findings.
    let (time, id) = match (&filter.finding, &filter.tool) {
        (Some(finding), tool) => {
            query.push("FROM trace_findings u CROSS JOIN traces t WHERE t.id = u.trace_id AND u.kind = ");
            query.push_bind(finding.kind.label()).push(" AND u.name = ").push_bind(finding.name.clone());
            // A finding of several tools is one turn: the first of its rows counts.
            query.push(
                " AND u.tool = (SELECT min(v.tool) FROM trace_findings v WHERE v.kind = u.kind AND v.name = u.name \
                    AND v.started_at = u.started_at AND v.trace_id = u.trace_id)",
            );
            if let Some(tool) = tool {
                query.push(" AND EXISTS (SELECT 1 FROM trace_tools x WHERE x.tool = ").push_bind(tool.clone());
                query.push(" AND x.started_at = u.started_at AND x.trace_id = u.trace_id)");
            }
            ("u.started_at", "u.trace_id")
        }
        (None, Some(tool)) => {
            query
                .push("FROM trace_tools u CROSS JOIN traces t WHERE t.id = u.trace_id AND u.tool = ")
                .push_bind(tool.clone());
            ("u.started_at", "u.trace_id")
        }
        (None, None) => {
            query.push("FROM traces t WHERE true");
            ("t.started_at", "t.id")
        }
    };
    let verdict = filter.verdict.map(|verdict| verdict.label().to_owned());
    let texts = [
        (" AND t.verdict = ", verdict),
        (" AND t.model = ", filter.model.clone()),
        (" AND t.session = ", filter.session.clone()),
        (" AND t.policy = ", filter.policy.clone()),
        (" AND t.mode = ", filter.mode.map(|mode| mode.label().to_owned())),
        (" AND t.tenant = ", filter.key.clone()),
    ];
    for (condition, value) in texts {
        if let Some(value) = value {
            query.push(condition).push_bind(value);
        }
    }
    if let Some(status) = filter.status {
        query.push(" AND t.status = ").push_bind(status);
    }
    if let Some(since) = filter.since {
        query.push(format_args!(" AND {time} >= ")).push_bind(since.as_millisecond());
    }
    if let Some(until) = filter.until {
        query.push(format_args!(" AND {time} < ")).push_bind(until.as_millisecond());
    }
    if let Some(cursor) = &filter.cursor {
        let cursor: Cursor = cursor.parse()?;
        query.push(format_args!(" AND ({time}, {id}) < (")).push_bind(cursor.started_at);
        query.push(", ").push_bind(cursor.id).push(")");
    }
    query.push(format_args!(" ORDER BY {time} DESC, {id} DESC LIMIT ")).push_bind(limit + 1);
    Ok(query)
}

database_record! {
    struct TraceSummaryRow {
        id: String,
        started_at: i64,
        session: Option<String>,
        endpoint: String,
        model: String,
        upstream: String,
        policy: String,
        mode: String,
        verdict: String,
        status: i64,
        duration_ms: f64,
        attempts: i64,
        input_tokens: i64,
        output_tokens: i64,
        cost_nanos: Option<i64>,
        tools: String,
        findings: String,
        question: Option<String>,
    }
}

impl TraceSummaryRow {
    fn summary(self) -> TraceSummary {
        TraceSummary {
            id: self.id,
            started_at: time(self.started_at),
            session: self.session,
            endpoint: self.endpoint,
            model: self.model,
            upstream: self.upstream,
            policy: self.policy,
            mode: self.mode,
            verdict: self.verdict,
            status: u16::try_from(self.status).unwrap_or_default(),
            duration_ms: self.duration_ms,
            attempts: u32::try_from(self.attempts).unwrap_or_default(),
            input_tokens: self.input_tokens.unsigned_abs(),
            output_tokens: self.output_tokens.unsigned_abs(),
            cost: self.cost_nanos.map(|nanos| nanos as f64 / 1e9),
            tools: serde_json::from_str(&self.tools).unwrap_or_default(),
            findings: serde_json::from_str(&self.findings).unwrap_or_default(),
            question: self.question,
        }
    }
}

/// Last trace of a page: the next page holds older ones. Stable while new traces arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cursor {
    started_at: i64,
    id: String,
}

impl Cursor {
    /// Returns the cursor after this trace.
    fn after(trace: &TraceSummary) -> Self {
        Self { started_at: trace.started_at.as_millisecond(), id: trace.id.clone() }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.started_at, self.id)
    }
}

impl FromStr for Cursor {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('.').and_then(|(time, id)| Some((time.parse().ok()?, id.to_owned())));
        let (started_at, id) = parts.ok_or_else(|| StoreError::BadCursor(text.to_owned()))?;
        Ok(Self { started_at, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Location;
    use crate::sqlite::Sqlite;
    use callwright_types::Verdict;
    use callwright_types::rules::Mode;

    /// Returns SQLite's query plan for a filter, which names the index.
    async fn plan(database: &Database, filter: &TraceFilter) -> String {
        let mut query = list_query(filter, 10).unwrap();
        query.text = format!("EXPLAIN QUERY PLAN {}", query.text).into();
        let steps: Vec<(i64, i64, i64, String)> = database.fetch_all(query).await.unwrap();
        steps.into_iter().map(|(.., step)| step).collect::<Vec<_>>().join("; ")
    }

    #[tokio::test]
    async fn every_filter_has_an_index_in_the_order_of_the_list() {
        let database = Database::Sqlite(Sqlite::open(&Location::Memory).await.unwrap());
        let text = || Some("x".to_owned());
        let none = TraceFilter::default;
        for (index, filter) in [
            ("traces_by_time", none()),
            ("traces_by_time", TraceFilter { model: text(), ..none() }),
            ("traces_by_time", TraceFilter { policy: text(), ..none() }),
            ("traces_by_session", TraceFilter { session: text(), ..none() }),
            ("traces_by_time", TraceFilter { key: text(), ..none() }),
            ("traces_by_time", TraceFilter { mode: Some(Mode::Shadow), ..none() }),
            ("traces_by_time", TraceFilter { status: Some(502), ..none() }),
            ("traces_by_time", TraceFilter { verdict: Some(Verdict::Faulty), ..none() }),
            ("trace_findings_by_name", TraceFilter { finding: "fault:E3.4".parse().ok(), ..none() }),
        ] {
            let plan = plan(&database, &filter).await;
            assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{index}: {plan}");
        }
    }
}
