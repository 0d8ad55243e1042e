//! Traces in SQLite.

use std::sync::Arc;

use jiff::Timestamp;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite as Driver};

use super::Sqlite;
use super::fault::fault;
use crate::domain::Trace;
use crate::store::cursor::Cursor;
use crate::store::traces::{DEFAULT_PAGE, MAX_PAGE};
use crate::store::{Ages, StoreError, TraceFilter, TracePage, TraceRow, TraceSummary};

/// Rows of one `INSERT`. One statement for many rows, as a round trip to SQLite's thread per trace would cost more than its
/// insertion; not too many, as that thread would then keep a processor from turns for a whole time slice of the scheduler
/// (3 ms), and their 99th percentile would show it.
const ROWS_PER_INSERT: usize = 20;

const INSERT_TRACES: &str = "\
    INSERT INTO traces (id, started_at, session, endpoint, model, upstream, policy, mode, verdict, status, duration_ms, tools, document) ";

const INSERT_TOOLS: &str = "\
    INSERT INTO trace_tools (tool, started_at, trace_id) SELECT column1, column2, column3 FROM (";

const EXPIRE_TOOLS: &str = "\
    DELETE FROM trace_tools WHERE (tool, started_at, trace_id) IN \
        (SELECT tool.value, trace.started_at, trace.id \
        FROM (SELECT id, started_at, tools FROM traces WHERE started_at < ?1 ORDER BY started_at, id LIMIT ?2) AS trace, \
            json_each(trace.tools) AS tool)";

const EXPIRE_TRACES: &str = "\
    DELETE FROM traces WHERE rowid IN (SELECT rowid FROM traces WHERE started_at < ?1 ORDER BY started_at, id LIMIT ?2)";

const EXPIRE_FINISHED_INTENTS: &str = "\
    DELETE FROM intents WHERE (session, operation, arguments_hash) IN \
        (SELECT session, operation, arguments_hash FROM intents WHERE begun_at < ?1 AND label IS NOT NULL ORDER BY begun_at LIMIT ?2)";

const EXPIRE_UNKNOWN_INTENTS: &str = "\
    DELETE FROM intents WHERE (session, operation, arguments_hash) IN \
        (SELECT session, operation, arguments_hash FROM intents WHERE begun_at < ?1 AND label IS NULL ORDER BY begun_at LIMIT ?2)";

/// Entries that something may still depend on have not come to an end.
const EXPIRE_APPROVALS: &str = "\
    DELETE FROM approvals WHERE id IN \
        (SELECT id FROM approvals WHERE created_at < ?1 AND expires_at < ?1 AND status NOT IN ('pending', 'approved') \
        ORDER BY created_at LIMIT ?2)";

const EXPIRE_VECTORS: &str = "\
    DELETE FROM vectors WHERE (model, text) IN \
        (SELECT model, text FROM vectors WHERE written_at < ? ORDER BY written_at LIMIT ?)";

const SUMMARY: &str = "\
    SELECT t.id, t.started_at, t.session, t.endpoint, t.model, t.upstream, t.policy, t.mode, t.verdict, t.status, t.duration_ms ";

impl Sqlite {
    /// See [`crate::store::Traces::append`].
    pub(in crate::store) async fn append(&self, batch: &[TraceRow]) -> Result<(), StoreError> {
        let write = async {
            let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
            for rows in batch.chunks(ROWS_PER_INSERT) {
                for (count, mut insert) in insert_tools(rows).into_iter().chain([(rows.len(), insert_traces(rows))]) {
                    // The text differs with the number of rows: those of the rare sizes would only crowd the cache of statements.
                    let is_usual = count == ROWS_PER_INSERT;
                    insert.build().persistent(is_usual).execute(&mut *transaction).await?;
                }
            }
            transaction.commit().await
        };
        write.await.map_err(fault)
    }

    /// See [`crate::store::Traces::list`].
    pub(in crate::store) async fn list(&self, filter: &TraceFilter) -> Result<TracePage, StoreError> {
        let limit = filter.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
        let mut query = list_query(filter, limit)?;
        let rows = query.build().fetch_all(&self.reader).await.map_err(fault)?;
        let mut traces = rows.iter().map(summary).collect::<Result<Vec<_>, _>>().map_err(fault)?;
        let more = traces.len() > limit as usize;
        traces.truncate(limit as usize);
        let next = traces.last().filter(|_| more).map(|last| Cursor::of(last).to_string());
        Ok(TracePage { traces, next })
    }

    /// See [`crate::store::Traces::get`].
    pub(in crate::store) async fn get(&self, id: &str) -> Result<Option<Trace>, StoreError> {
        let document: Option<String> = sqlx::query_scalar("SELECT document FROM traces WHERE id = ?")
            .bind(id)
            .fetch_optional(&self.reader)
            .await
            .map_err(fault)?;
        let read = |text: String| serde_json::from_str(&text);
        document
            .map(read)
            .transpose()
            .map_err(|error| StoreError::Refused(format!("trace {id} cannot be read: {error}")))
    }

    /// See [`crate::store::Traces::expire`].
    pub(in crate::store) async fn expire(&self, ages: Ages, limit: u32) -> Result<u64, StoreError> {
        let expire = async {
            let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
            let mut removed = 0;
            let statements = [
                (EXPIRE_TOOLS, ages.before),
                (EXPIRE_TRACES, ages.before),
                (EXPIRE_FINISHED_INTENTS, ages.before),
                (EXPIRE_UNKNOWN_INTENTS, ages.unknown_before),
                (EXPIRE_APPROVALS, ages.before),
                (EXPIRE_VECTORS, ages.before),
            ];
            for (statement, before) in statements {
                let Some(before) = before else { continue };
                let query = sqlx::query(statement).bind(before.as_millisecond()).bind(limit);
                let done = query.execute(&mut *transaction).await?;
                // The rows that only serve to find others do not count.
                removed += if statement == EXPIRE_TOOLS { 0 } else { done.rows_affected() };
            }
            transaction.commit().await?;
            Ok(removed)
        };
        expire.await.map_err(fault)
    }
}

fn insert_traces(rows: &[TraceRow]) -> QueryBuilder<Driver> {
    let mut insert = QueryBuilder::new(INSERT_TRACES);
    insert.push_values(rows, |mut values, row| {
        values
            .push_bind(row.id.clone())
            .push_bind(row.started_at)
            .push_bind(row.session.clone())
            .push_bind(row.endpoint.clone())
            .push_bind(row.model.clone())
            .push_bind(row.upstream.clone())
            .push_bind(row.policy.clone())
            .push_bind(row.mode.clone())
            .push_bind(row.verdict)
            .push_bind(row.status)
            .push_bind(row.duration_ms)
            .push_bind(serde_json::to_string(&row.tools).unwrap_or_default())
            .push_bind(row.document.clone());
    });
    insert.push(" ON CONFLICT (id) DO NOTHING");
    insert
}

/// The tools of traces that are not stored yet, with the number of rows of each statement; nothing where no trace has any.
fn insert_tools(rows: &[TraceRow]) -> Vec<(usize, QueryBuilder<Driver>)> {
    let tools: Vec<(&Arc<str>, &TraceRow)> =
        rows.iter().flat_map(|row| row.tools.iter().map(move |tool| (tool, row))).collect();
    let insert = |tools: &[(&Arc<str>, &TraceRow)]| {
        let mut insert = QueryBuilder::new(INSERT_TOOLS);
        insert.push_values(tools, |mut values, (tool, row)| {
            values.push_bind(Arc::clone(tool)).push_bind(row.started_at).push_bind(row.id.clone());
        });
        insert.push(") WHERE NOT EXISTS (SELECT 1 FROM traces WHERE id = column3) ON CONFLICT DO NOTHING");
        (tools.len(), insert)
    };
    tools.chunks(ROWS_PER_INSERT).map(insert).collect()
}

fn list_query(filter: &TraceFilter, limit: u32) -> Result<QueryBuilder<Driver>, StoreError> {
    let mut query = QueryBuilder::new(SUMMARY);
    // The order is always that of an index: `traces_by_time`, or the tool's own.
    let (time, id) = match &filter.tool {
        Some(tool) => {
            query
                .push("FROM trace_tools u CROSS JOIN traces t ON t.id = u.trace_id WHERE u.tool = ")
                .push_bind(tool.clone());
            ("u.started_at", "u.trace_id")
        }
        None => {
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

fn summary(row: &SqliteRow) -> Result<TraceSummary, sqlx::Error> {
    let started_at: i64 = row.try_get("started_at")?;
    Ok(TraceSummary {
        id: row.try_get("id")?,
        started_at: Timestamp::from_millisecond(started_at).unwrap_or(Timestamp::UNIX_EPOCH),
        session: row.try_get("session")?,
        endpoint: row.try_get("endpoint")?,
        model: row.try_get("model")?,
        upstream: row.try_get("upstream")?,
        policy: row.try_get("policy")?,
        mode: row.try_get("mode")?,
        verdict: row.try_get("verdict")?,
        status: row.try_get("status")?,
        duration_ms: row.try_get("duration_ms")?,
    })
}
