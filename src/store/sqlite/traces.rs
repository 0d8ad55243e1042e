//! Traces in SQLite.

use jiff::Timestamp;
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite as Driver};

use super::Sqlite;
use super::fault::fault;
use crate::domain::Trace;
use crate::store::cursor::Cursor;
use crate::store::traces::{DEFAULT_PAGE, MAX_PAGE};
use crate::store::{StoreError, TraceFilter, TracePage, TraceRow, TraceSummary};

/// One statement for a whole batch: a round trip to SQLite's thread per trace would cost more than its insertion. The columns
/// come as one JSON array, the documents as one blob out of which each row cuts its own: as JSON strings they would be
/// escaped here and unescaped there. `MATERIALIZED`: SQLite writes an element's text anew for every mention of `value`.
const INSERT_TRACES: &str = "\
    INSERT INTO traces (id, started_at, session, endpoint, model, upstream, policy, mode, verdict, status, duration_ms, tools, document) \
    WITH batch (trace) AS MATERIALIZED (SELECT value FROM json_each(?1)) \
    SELECT trace->>'$.id', trace->>'$.started_at', trace->>'$.session', trace->>'$.endpoint', trace->>'$.model', \
        trace->>'$.upstream', trace->>'$.policy', trace->>'$.mode', trace->>'$.verdict', trace->>'$.status', \
        trace->>'$.duration_ms', trace->'$.tools', CAST(substr(?2, trace->>'$.offset', trace->>'$.length') AS TEXT) \
    FROM batch WHERE true ON CONFLICT (id) DO NOTHING";

const INSERT_TOOLS: &str = "\
    INSERT INTO trace_tools (tool, started_at, trace_id) \
    WITH batch (trace) AS MATERIALIZED (SELECT value FROM json_each(?1)) \
    SELECT tool.value, trace->>'$.started_at', trace->>'$.id' FROM batch, json_each(trace, '$.tools') AS tool \
    WHERE NOT EXISTS (SELECT 1 FROM traces WHERE id = trace->>'$.id') ON CONFLICT DO NOTHING";

const EXPIRE_TOOLS: &str = "\
    DELETE FROM trace_tools WHERE (tool, started_at, trace_id) IN \
        (SELECT tool.value, trace.started_at, trace.id \
        FROM (SELECT id, started_at, tools FROM traces WHERE started_at < ?1 ORDER BY started_at, id LIMIT ?2) AS trace, \
            json_each(trace.tools) AS tool)";

const EXPIRE_TRACES: &str = "\
    DELETE FROM traces WHERE rowid IN (SELECT rowid FROM traces WHERE started_at < ?1 ORDER BY started_at, id LIMIT ?2)";

const EXPIRE_INTENTS: &str = "\
    DELETE FROM intents WHERE (session, operation, arguments_hash) IN \
        (SELECT session, operation, arguments_hash FROM intents WHERE begun_at < ?1 ORDER BY begun_at LIMIT ?2)";

const SUMMARY: &str = "\
    SELECT t.id, t.started_at, t.session, t.endpoint, t.model, t.upstream, t.policy, t.mode, t.verdict, t.status, t.duration_ms ";

impl Sqlite {
    /// See [`crate::store::Traces::append`].
    pub(in crate::store) async fn append(&self, batch: &[TraceRow]) -> Result<(), StoreError> {
        let (columns, documents) = columns_and_documents(batch)?;
        let write = async {
            let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
            if batch.iter().any(|row| !row.tools.is_empty()) {
                sqlx::query(INSERT_TOOLS).bind(&columns).execute(&mut *transaction).await?;
            }
            sqlx::query(INSERT_TRACES).bind(&columns).bind(documents).execute(&mut *transaction).await?;
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
    pub(in crate::store) async fn expire(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let expire = async {
            let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
            let mut removed = 0;
            for statement in [EXPIRE_TOOLS, EXPIRE_TRACES, EXPIRE_INTENTS] {
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

/// A batch's columns as JSON, and its documents as one blob.
fn columns_and_documents(batch: &[TraceRow]) -> Result<(String, Vec<u8>), StoreError> {
    let mut documents = Vec::with_capacity(batch.iter().map(|row| row.document.len()).sum());
    let mut columns = Vec::with_capacity(batch.len());
    for row in batch {
        // SQL counts from 1.
        columns.push(Columns { row, offset: documents.len() + 1, length: row.document.len() });
        documents.extend_from_slice(row.document.as_bytes());
    }
    let columns = serde_json::to_string(&columns).map_err(|error| StoreError::Refused(error.to_string()))?;
    Ok((columns, documents))
}

/// A row's columns, and where its document is.
#[derive(Serialize)]
struct Columns<'a> {
    #[serde(flatten)]
    row: &'a TraceRow,
    offset: usize,
    length: usize,
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
