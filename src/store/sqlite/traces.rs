//! Traces in SQLite.

use jiff::Timestamp;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite as Driver};

use super::Sqlite;
use super::fault::fault;
use crate::domain::Trace;
use crate::store::cursor::Cursor;
use crate::store::traces::{DEFAULT_PAGE, MAX_PAGE};
use crate::store::{StoreError, TraceFilter, TracePage, TraceRow, TraceSummary};

/// One statement for a whole batch: a round trip to SQLite's thread per trace would cost more than its insertion.
const INSERT_TRACES: &str = "\
    INSERT INTO traces (id, started_at, session, endpoint, model, upstream, policy, mode, verdict, status, duration_ms, document) \
    SELECT value->>'$[0][0]', value->>'$[0][1]', value->>'$[0][2]', value->>'$[0][3]', value->>'$[0][4]', value->>'$[0][5]', \
        value->>'$[1][0]', value->>'$[1][1]', value->>'$[1][2]', value->>'$[1][3]', value->>'$[1][4]', value->>'$[1][5]' \
    FROM json_each(?) WHERE true ON CONFLICT (id) DO NOTHING";

const INSERT_TOOLS: &str = "\
    INSERT INTO trace_tools (trace_id, started_at, tool) SELECT value->>0, value->>1, value->>2 \
    FROM json_each(?) WHERE true ON CONFLICT DO NOTHING";

const SUMMARY: &str = "\
    SELECT t.id, t.started_at, t.session, t.endpoint, t.model, t.upstream, t.policy, t.mode, t.verdict, t.status, t.duration_ms ";

impl Sqlite {
    /// See [`crate::store::Traces::append`].
    pub(in crate::store) async fn append(&self, batch: &[TraceRow]) -> Result<(), StoreError> {
        let (traces, tools) = batch_json(batch)?;
        let write = async {
            let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
            sqlx::query(INSERT_TRACES).bind(traces).execute(&mut *transaction).await?;
            if let Some(tools) = tools {
                sqlx::query(INSERT_TOOLS).bind(tools).execute(&mut *transaction).await?;
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
    pub(in crate::store) async fn expire(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        const TRACES: &str = "DELETE FROM traces WHERE rowid IN \
            (SELECT rowid FROM traces WHERE started_at < ? ORDER BY started_at LIMIT ?)";
        const INTENTS: &str = "DELETE FROM intents WHERE (session, operation, arguments_hash) IN \
            (SELECT session, operation, arguments_hash FROM intents WHERE begun_at < ? ORDER BY begun_at LIMIT ?)";
        let mut removed = 0;
        for statement in [TRACES, INTENTS] {
            let query = sqlx::query(statement).bind(before.as_millisecond()).bind(limit);
            removed += query.execute(&self.writer).await.map_err(fault)?.rows_affected();
        }
        Ok(removed)
    }
}

/// The batch as the two JSON arrays that the insertions read. A document is a *string* in it: SQLite's JSON never parses
/// it, so that neither its depth nor its numbers matter.
fn batch_json(batch: &[TraceRow]) -> Result<(String, Option<String>), StoreError> {
    let refused = |error: serde_json::Error| StoreError::Refused(error.to_string());
    let traces: Vec<_> = batch
        .iter()
        .map(|row| {
            let key = (&row.id, row.started_at, &row.session, &row.endpoint, &row.model, &row.upstream);
            (key, (&row.policy, &row.mode, row.verdict, row.status, row.duration_ms, &row.document))
        })
        .collect();
    let tools: Vec<_> =
        batch.iter().flat_map(|row| row.tools.iter().map(move |tool| (&row.id, row.started_at, tool))).collect();
    let tools = if tools.is_empty() { None } else { Some(serde_json::to_string(&tools).map_err(refused)?) };
    Ok((serde_json::to_string(&traces).map_err(refused)?, tools))
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
