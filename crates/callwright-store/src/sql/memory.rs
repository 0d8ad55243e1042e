//! SQL of lessons, procedures, representations and tool samples, whose tables have the same columns.

use std::collections::HashMap;

use super::revisions::Topic;
use super::{Database, DatabaseTransaction, Lock, Statement, VALUES_PER_SELECT, now};
use crate::settings::SWEEP_ROWS;
use crate::traces::{DEFAULT_PAGE, MAX_PAGE};
use crate::{
    Changes, ForgetCounts, ForgetSelection, Memorable, MemoryFilter, MemoryPage, MemoryStatus, PutResult, Revision,
    StoreError,
};
use callwright_types::memory::ToolSample;
use callwright_types::representation::SharedRepresentation;
use callwright_types::{Lesson, Procedure};

/// Documents with a table of their own.
pub(crate) trait MemoryTable: Memorable {
    const TOPIC: Topic;
}

impl MemoryTable for Lesson {
    const TOPIC: Topic = Topic::Lessons;
}

impl MemoryTable for Procedure {
    const TOPIC: Topic = Topic::Procedures;
}

impl MemoryTable for SharedRepresentation {
    const TOPIC: Topic = Topic::Representations;
}

impl MemoryTable for ToolSample {
    const TOPIC: Topic = Topic::Samples;
}

/// Assignments that turn a row into a tombstone without learned content.
const TOMBSTONE: &str = "deleted = $2, retired = $2, oldest_at = NULL, toolsets = '[]', tools = '[]', traces = '[]', sessions = '[]', \
    document = NULL";

impl Database {
    pub(crate) async fn put<M: MemoryTable>(&self, batch: &[M], seen: Revision) -> Result<PutResult, StoreError> {
        let latest: HashMap<&str, usize> =
            batch.iter().enumerate().map(|(position, item)| (item.id(), position)).collect();
        let batch: Vec<&M> = batch
            .iter()
            .enumerate()
            .filter(|(position, item)| latest.get(item.id()) == Some(position))
            .map(|(_, item)| item)
            .collect();
        let mut transaction = self.begin(Lock::Rows).await?;
        let first = transaction.revisions(M::TOPIC, batch.len()).await?;
        let mut put = PutResult::default();
        for (item, revision) in batch.into_iter().zip(first..) {
            if write(&mut transaction, item, revision, ReplaceCondition::Unchanged(seen)).await? {
                put.revision = revision;
            } else {
                put.outdated.push(item.id().to_owned());
            }
        }
        transaction.commit().await?;
        Ok(put)
    }

    pub(crate) async fn restore<M: MemoryTable>(&self, batch: &[M]) -> Result<(), StoreError> {
        let mut transaction = self.begin(Lock::Rows).await?;
        let first = transaction.revisions(M::TOPIC, batch.len()).await?;
        for (item, revision) in batch.iter().zip(first..) {
            write(&mut transaction, item, revision, ReplaceCondition::Any).await?;
        }
        transaction.commit().await
    }

    pub(crate) async fn changed<M: MemoryTable>(&self, after: Revision, limit: u32) -> Result<Changes<M>, StoreError> {
        let limit = limit.max(1);
        let table = M::TOPIC.name();
        let text = format!(
            "SELECT id, revision, deleted, document FROM {table} WHERE revision > $1 ORDER BY revision LIMIT $2"
        );
        let query = Statement::beginning(text).usual(true).bind(after).bind(limit);
        let rows: Vec<(String, i64, bool, Option<String>)> = self.fetch_all(query).await?;
        let more = rows.len() >= limit as usize;
        let mut changes = Changes { changed: Vec::new(), removed: Vec::new(), upto: after, more };
        for (id, revision, deleted, document) in rows {
            changes.upto = revision;
            match document.filter(|_| !deleted).map(|document| parse::<M>(&id, &document)) {
                None => changes.removed.push(id),
                Some(Ok(item)) => changes.changed.push(item),
                // An unreadable document must not hide the others.
                Some(Err(error)) => tracing::warn!(%error, "skipping a stored document that cannot be parsed"),
            }
        }
        Ok(changes)
    }

    pub(crate) async fn find<M: MemoryTable>(&self, id: &str) -> Result<Option<M>, StoreError> {
        let text = format!("SELECT document FROM {} WHERE id = $1 AND NOT deleted", M::TOPIC.name());
        let row: Option<(String,)> = self.fetch_optional(Statement::beginning(text).usual(true).bind(id)).await?;
        row.map(|(document,)| parse(id, &document)).transpose()
    }

    pub(crate) async fn page<M: MemoryTable>(&self, filter: &MemoryFilter) -> Result<MemoryPage<M>, StoreError> {
        let limit = filter.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
        let mut query = Statement::beginning(format!("SELECT id, document FROM {} WHERE NOT deleted", M::TOPIC.name()));
        if let Some(scope) = &filter.scope {
            query.push(" AND scope = ").push_bind(scope.as_str());
        }
        for (column, value) in [("toolsets", &filter.toolset), ("tools", &filter.tool)] {
            if let Some(value) = value {
                self.push_has(&mut query, column, [value.as_str()]);
            }
        }
        match filter.status {
            None => {}
            Some(MemoryStatus::Active) => drop(query.push(" AND NOT retired")),
            Some(MemoryStatus::Retired) => drop(query.push(" AND retired")),
        }
        if let Some(after) = &filter.after {
            query.push(" AND id > ").push_bind(after);
        }
        query.push(" ORDER BY id LIMIT ").push_bind(limit + 1);
        let mut rows: Vec<(String, String)> = self.fetch_all(query).await?;
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next = rows.last().filter(|_| more).map(|(id, _)| id.clone());
        let mut items = Vec::with_capacity(rows.len());
        for (id, document) in &rows {
            match parse(id, document) {
                Ok(item) => items.push(item),
                // An unreadable document must not hide the others.
                Err(error) => tracing::warn!(%error, "skipping a stored document that cannot be parsed"),
            }
        }
        Ok(MemoryPage { items, next })
    }

    pub(crate) async fn remove<M: MemoryTable>(&self, ids: &[String]) -> Result<u64, StoreError> {
        let mut transaction = self.begin(Lock::Rows).await?;
        let first = transaction.revisions(M::TOPIC, ids.len()).await?;
        let mut removed = 0;
        for (id, revision) in ids.iter().zip(first..) {
            removed += write_tombstone::<M>(&mut transaction, id, revision).await?;
        }
        transaction.commit().await?;
        Ok(removed)
    }

    pub(crate) async fn forget<M: MemoryTable>(&self, what: &ForgetSelection) -> Result<ForgetCounts, StoreError> {
        let mut forgot = ForgetCounts::default();
        let mut transaction = self.begin(Lock::Rows).await?;
        // Taking a revision locks the topic until the commit.
        transaction.revisions(M::TOPIC, 1).await?;
        for query in self.resting_on::<M>(what) {
            loop {
                // Processed documents do not match the query again.
                let rows: Vec<(String, String)> = transaction.fetch_all(query.clone()).await?;
                if rows.is_empty() {
                    break;
                }
                let first = transaction.revisions(M::TOPIC, rows.len()).await?;
                for ((id, document), revision) in rows.iter().zip(first..) {
                    match without::<M>(what, id, document) {
                        Some(left) => {
                            write(&mut transaction, &left, revision, ReplaceCondition::Any).await?;
                            forgot.changed += 1;
                        }
                        None => forgot.removed += write_tombstone::<M>(&mut transaction, id, revision).await?,
                    }
                }
            }
        }
        transaction.commit().await?;
        Ok(forgot)
    }

    /// Returns the queries for documents whose evidence is to be forgotten.
    fn resting_on<M: MemoryTable>(&self, what: &ForgetSelection) -> Vec<Statement> {
        let traces: Vec<&str> = match what {
            ForgetSelection::Traces(traces) => traces.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        let batches: Vec<&[&str]> = match what {
            ForgetSelection::Traces(_) => traces.chunks(VALUES_PER_SELECT).collect(),
            _ => vec![&[]],
        };
        let mut queries = Vec::with_capacity(batches.len());
        for traces in batches {
            let table = M::TOPIC.name();
            let mut query = Statement::beginning(format!("SELECT id, document FROM {table} WHERE NOT deleted"));
            match what {
                ForgetSelection::Scope(scope) => drop(query.push(" AND scope = ").push_bind(scope.as_str())),
                ForgetSelection::Session(session) => self.push_has(&mut query, "sessions", [session.as_str()]),
                ForgetSelection::Before(time) => drop(query.push(" AND oldest_at < ").push_bind(time.as_millisecond())),
                ForgetSelection::Traces(_) => self.push_has(&mut query, "traces", traces.iter().copied()),
            }
            query.push(format_args!(" ORDER BY id LIMIT {SWEEP_ROWS}"));
            queries.push(query);
        }
        queries
    }

    /// Adds the condition that the JSON array in this column contains one of these texts.
    fn push_has<'a>(&self, query: &mut Statement, column: &str, values: impl IntoIterator<Item = &'a str>) {
        let elements = self.elements_of(column);
        query.push(format_args!(" AND EXISTS (SELECT 1 FROM {elements} WHERE element.value IN ")).push_tuple(values);
        query.push(")");
    }
}

/// Condition for replacing a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplaceCondition {
    /// Replaces any row.
    Any,
    /// Replaces a row that was not changed after this revision and not removed.
    Unchanged(Revision),
    /// Replaces a row that is older or was removed.
    Newer,
}

/// Inserts or replaces a document if the guard allows it; returns whether it did.
pub(super) async fn write<M: MemoryTable>(
    transaction: &mut DatabaseTransaction,
    item: &M,
    revision: Revision,
    guard: ReplaceCondition,
) -> Result<bool, StoreError> {
    let table = M::TOPIC.name();
    let condition = match guard {
        ReplaceCondition::Any => String::new(),
        ReplaceCondition::Unchanged(_) => format!(" WHERE NOT {table}.deleted AND {table}.revision <= $13"),
        ReplaceCondition::Newer => format!(" WHERE {table}.deleted OR {table}.updated_at < excluded.updated_at"),
    };
    let text = format!(
        "INSERT INTO {table} (id, scope, revision, updated_at, oldest_at, deleted, retired, toolsets, tools, traces, sessions, document) \
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
        ON CONFLICT (id) DO UPDATE SET scope = excluded.scope, revision = excluded.revision, updated_at = excluded.updated_at, \
            oldest_at = excluded.oldest_at, deleted = excluded.deleted, retired = excluded.retired, toolsets = excluded.toolsets, \
            tools = excluded.tools, traces = excluded.traces, sessions = excluded.sessions, document = excluded.document{condition}"
    );
    let evidence = item.evidence();
    let mut write = Statement::beginning(text)
        .usual(true)
        .bind(item.id())
        .bind(item.scope().as_str())
        .bind(revision)
        .bind(item.updated_at().as_millisecond())
        .bind(evidence.iter().map(|evidence| evidence.at.as_millisecond()).min())
        .bind(false)
        .bind(item.is_retired())
        .bind(array(item.toolsets())?)
        .bind(array(item.tools())?)
        .bind(array(evidence.iter().filter_map(|evidence| evidence.trace.as_deref()))?)
        .bind(array(evidence.iter().filter_map(|evidence| evidence.session.as_deref()))?)
        .bind(serde_json::to_string(item)?);
    if let ReplaceCondition::Unchanged(seen) = guard {
        write = write.bind(seen);
    }
    Ok(transaction.execute(write).await? > 0)
}

fn array<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<String, StoreError> {
    Ok(serde_json::to_string(&texts.into_iter().collect::<Vec<_>>())?)
}

/// Replaces a document by a tombstone, so that every process drops it; returns the number of changed rows.
async fn write_tombstone<M: MemoryTable>(
    transaction: &mut DatabaseTransaction,
    id: &str,
    revision: Revision,
) -> Result<u64, StoreError> {
    let table = M::TOPIC.name();
    let text = format!("UPDATE {table} SET {TOMBSTONE}, revision = $3, updated_at = $4 WHERE id = $1 AND NOT deleted");
    let update = Statement::beginning(text).usual(true).bind(id).bind(true).bind(revision).bind(now());
    transaction.execute(update).await
}

/// Returns the rest of a document after evidence is forgotten; `None` if nothing remains. An unreadable document is not
/// kept either, because its evidence is unknown.
fn without<M: MemoryTable>(what: &ForgetSelection, id: &str, document: &str) -> Option<M> {
    let mut item: M = parse(id, document).ok()?;
    item.evidence_mut().retain(|evidence| match what {
        ForgetSelection::Scope(_) => false,
        ForgetSelection::Session(session) => evidence.session.as_ref() != Some(session),
        ForgetSelection::Traces(traces) => !evidence.trace.as_ref().is_some_and(|trace| traces.contains(trace)),
        // In the precision of the column.
        ForgetSelection::Before(time) => evidence.at.as_millisecond() >= time.as_millisecond(),
    });
    match item.evidence().is_empty() {
        false => Some(item),
        // All documents of a scope are removed.
        true if matches!(what, ForgetSelection::Scope(_)) => None,
        true => item.without_evidence(),
    }
}

fn parse<M: MemoryTable>(id: &str, document: &str) -> Result<M, StoreError> {
    let table = M::TOPIC.name();
    serde_json::from_str(document)
        .map_err(|error| StoreError::Refused(format!("`{id}` in the table {table} cannot be read: {error}")))
}

#[cfg(test)]
mod tests;
