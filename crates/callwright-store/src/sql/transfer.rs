//! SQL of export and import.

use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Column, FromRow, Row, TypeInfo, ValueRef};

use super::memory::{MemoryTable, ReplaceCondition, write};
use super::{Database, Lock, SqlValue, Statement};
use crate::{
    ExportPart, ExportPosition, FeedbackResult, ImportResult, PortableItem, PortableRow, StoreError, TraceRow,
};
use callwright_types::memory::ToolSample;
use callwright_types::representation::SharedRepresentation;
use callwright_types::{Lesson, Procedure, Trace, VirtualKey};

/// Table of turn state or key usage.
struct PortableTable {
    name: &'static str,
    /// Columns of the primary key, all of type text.
    key: &'static [&'static str],
    columns: &'static [(&'static str, ColumnKind)],
}

#[derive(Clone, Copy)]
enum ColumnKind {
    Text,
    Integer,
    Flag,
}

use ColumnKind::{Flag, Integer, Text};

/// Tables that are moved as rows. The column `owner` is not exported: no turn waits in the other store.
const TABLES: [PortableTable; 6] = [
    PortableTable {
        name: "intents",
        key: &["session", "operation", "arguments_hash"],
        columns: &[
            ("session", Text),
            ("operation", Text),
            ("arguments_hash", Text),
            ("begun_at", Integer),
            ("label", Text),
            ("turn", Text),
            ("idempotency_key", Text),
            ("answer", Text),
        ],
    },
    PortableTable {
        name: "kept_parts",
        key: &["turn"],
        columns: &[
            ("turn", Text),
            ("tenant", Text),
            ("calls", Text),
            ("context", Text),
            ("history", Text),
            ("expires_at", Integer),
            ("document", Text),
        ],
    },
    PortableTable {
        name: "plans",
        key: &["tenant", "key"],
        columns: &[("tenant", Text), ("key", Text), ("turn", Text), ("expires_at", Integer), ("document", Text)],
    },
    PortableTable {
        name: "approvals",
        key: &["id"],
        columns: &[
            ("id", Text),
            ("status", Text),
            ("mode", Text),
            ("created_at", Integer),
            ("expires_at", Integer),
            ("valid_ms", Integer),
            ("tenant", Text),
            ("client", Text),
            ("session", Text),
            ("trace", Text),
            ("toolset", Text),
            ("tool", Text),
            ("operation", Text),
            ("method", Text),
            ("digest", Text),
            ("keep", Flag),
            ("target", Text),
            ("arguments", Text),
            ("decided_at", Integer),
            ("decided_by", Text),
            ("comment", Text),
            ("used_at", Integer),
        ],
    },
    PortableTable {
        name: "provider_objects",
        key: &["id"],
        columns: &[("id", Text), ("tenant", Text), ("team", Text), ("expires_at", Integer), ("reserved", Text)],
    },
    PortableTable {
        name: "key_usage",
        key: &["subject", "day"],
        columns: &[("subject", Text), ("day", Text), ("requests", Integer), ("tokens", Integer), ("nanos", Integer)],
    },
];

/// Table whose rows are exported as documents.
struct DocumentTable {
    name: &'static str,
    /// Condition of the exported rows, or an empty text.
    condition: &'static str,
    /// Columns of the primary key, all of type text.
    key: &'static [&'static str],
    read: fn(&str) -> serde_json::Result<PortableItem>,
}

/// Tables of documents, which are exported before [`TABLES`]. The topic of a position counts both in this order.
const DOCUMENTS: [DocumentTable; 7] = [
    DocumentTable { name: "traces", condition: "", key: &["id"], read: trace },
    DocumentTable { name: "lessons", condition: NOT_DELETED, key: &["id"], read: lesson },
    DocumentTable { name: "procedures", condition: NOT_DELETED, key: &["id"], read: procedure },
    DocumentTable { name: "feedback", condition: "", key: &["trace", "source"], read: feedback },
    DocumentTable { name: "representations", condition: NOT_DELETED, key: &["id"], read: representation },
    DocumentTable { name: "samples", condition: NOT_DELETED, key: &["id"], read: sample },
    DocumentTable { name: "virtual_keys", condition: "", key: &["id"], read: key },
];

impl Database {
    pub(crate) async fn export(&self, position: ExportPosition, limit: u32) -> Result<ExportPart, StoreError> {
        let ExportPosition { topic, after } = position;
        let mut exported = ExportPart::default();
        let last = if let Some(table) = DOCUMENTS.get(topic) {
            self.documents(table, &after, limit, &mut exported).await?
        } else if let Some(table) = TABLES.get(topic - DOCUMENTS.len()) {
            self.rows(table, &after, limit, &mut exported).await?
        } else {
            return Ok(exported);
        };
        exported.next = Some(match last {
            Some(after) => ExportPosition { topic, after },
            None => ExportPosition { topic: topic + 1, after: Vec::new() },
        });
        Ok(exported)
    }

    /// Exports the next documents of a table; returns the key of the last one, if any.
    async fn documents(
        &self,
        table: &DocumentTable,
        after: &[String],
        limit: u32,
        exported: &mut ExportPart,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let DocumentTable { name, condition, key, read } = *table;
        let columns = format!("{}, document", key.join(", "));
        let cells: Vec<Cells> = self.fetch_all(next_rows(name, &columns, condition, key, after, limit)).await?;
        for Cells(cells) in &cells {
            let document = cells.get("document").and_then(Json::as_str).unwrap_or_default();
            match read(document) {
                Ok(item) => exported.items.push(item),
                Err(error) => exported.problems.push(format!("{name} {}: {error}", key_of(cells, key).join(" "))),
            }
        }
        Ok(cells.last().map(|Cells(cells)| key_of(cells, key)))
    }

    async fn rows(
        &self,
        table: &PortableTable,
        after: &[String],
        limit: u32,
        exported: &mut ExportPart,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let columns: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let query = next_rows(table.name, &columns.join(", "), "", table.key, after, limit);
        let cells: Vec<Cells> = self.fetch_all(query).await?;
        let last = cells.last().map(|Cells(cells)| key_of(cells, table.key));
        for Cells(columns) in cells {
            exported.items.push(PortableItem::Row(PortableRow { table: table.name.to_owned(), columns }));
        }
        Ok(last)
    }

    pub(crate) async fn import(&self, item: PortableItem) -> Result<ImportResult, StoreError> {
        match item {
            PortableItem::Trace(document) => {
                let trace: Trace = serde_json::from_str(document.get())?;
                if self.fetch_optional::<(String,)>(Statement::new(HAS_TRACE).bind(&trace.id)).await?.is_some() {
                    return Ok(ImportResult::Unchanged);
                }
                self.append(&[TraceRow::new(&trace)?]).await?;
                Ok(ImportResult::Written)
            }
            PortableItem::Lesson(lesson) => self.import_memory(&lesson).await,
            PortableItem::Procedure(procedure) => self.import_memory(&procedure).await,
            PortableItem::Representation(shared) => self.import_memory(&shared).await,
            PortableItem::Sample(sample) => self.import_memory(&sample).await,
            PortableItem::Key(key) => self.import_key(&key).await,
            PortableItem::Feedback(row) => Ok(match self.give(&row).await? {
                FeedbackResult::New => ImportResult::Written,
                FeedbackResult::Repeated => ImportResult::Unchanged,
            }),
            PortableItem::Row(row) => self.import_row(&row).await,
        }
    }

    async fn import_memory<M: MemoryTable>(&self, item: &M) -> Result<ImportResult, StoreError> {
        let mut transaction = self.begin(Lock::Rows).await?;
        let revision = transaction.revisions(M::TOPIC, 1).await?;
        let is_written = write(&mut transaction, item, revision, ReplaceCondition::Newer).await?;
        transaction.commit().await?;
        Ok(imported(is_written))
    }

    async fn import_row(&self, row: &PortableRow) -> Result<ImportResult, StoreError> {
        let table = TABLES
            .iter()
            .find(|table| table.name == row.table)
            .ok_or_else(|| StoreError::Refused(format!("the table `{}` is unknown or not importable", row.table)))?;
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        let mut insert = Statement::beginning(format!("INSERT INTO {} ({}) VALUES ", table.name, names.join(", ")));
        let values: Result<Vec<SqlValue>, StoreError> =
            table.columns.iter().map(|(name, kind)| value(&row.columns, name, *kind)).collect();
        insert.push_tuple(values?).push(" ON CONFLICT DO NOTHING");
        Ok(imported(self.execute(insert.usual(true)).await? > 0))
    }
}

const HAS_TRACE: &str = "SELECT id FROM traces WHERE id = $1";

/// Excludes tombstones.
const NOT_DELETED: &str = " AND NOT deleted";

fn imported(is_written: bool) -> ImportResult {
    if is_written { ImportResult::Written } else { ImportResult::Unchanged }
}

fn trace(document: &str) -> serde_json::Result<PortableItem> {
    RawValue::from_string(document.to_owned()).map(PortableItem::Trace)
}

fn lesson(document: &str) -> serde_json::Result<PortableItem> {
    serde_json::from_str::<Lesson>(document).map(PortableItem::Lesson)
}

fn procedure(document: &str) -> serde_json::Result<PortableItem> {
    serde_json::from_str::<Procedure>(document).map(PortableItem::Procedure)
}

fn representation(document: &str) -> serde_json::Result<PortableItem> {
    serde_json::from_str::<SharedRepresentation>(document).map(PortableItem::Representation)
}

fn sample(document: &str) -> serde_json::Result<PortableItem> {
    serde_json::from_str::<ToolSample>(document).map(PortableItem::Sample)
}

fn key(document: &str) -> serde_json::Result<PortableItem> {
    serde_json::from_str::<VirtualKey>(document).map(PortableItem::Key)
}

fn feedback(document: &str) -> serde_json::Result<PortableItem> {
    serde_json::from_str(document).map(PortableItem::Feedback)
}

/// Returns the query for the rows after the one with this key.
fn next_rows(table: &str, columns: &str, condition: &str, key: &[&str], after: &[String], limit: u32) -> Statement {
    let order = key.join(", ");
    let mut query = Statement::beginning(format!("SELECT {columns} FROM {table} WHERE true{condition}"));
    if !after.is_empty() {
        query.push(format_args!(" AND ({order}) > ")).push_tuple(after);
    }
    query.push(format_args!(" ORDER BY {order} LIMIT ")).push_bind(limit);
    query
}

fn key_of(cells: &Map<String, Json>, key: &[&str]) -> Vec<String> {
    key.iter().map(|name| cells.get(*name).and_then(Json::as_str).unwrap_or_default().to_owned()).collect()
}

/// Converts a JSON value to a column value; SQLite represents flags as numbers.
fn value(columns: &Map<String, Json>, name: &str, kind: ColumnKind) -> Result<SqlValue, StoreError> {
    let given = columns.get(name).unwrap_or(&Json::Null);
    let value = match (kind, given) {
        (Text, Json::Null) => Some(SqlValue::Text(None)),
        (Text, Json::String(text)) => Some(SqlValue::from(text)),
        (Integer, Json::Null) => Some(SqlValue::Integer(None)),
        (Integer, Json::Number(number)) => number.as_i64().map(SqlValue::from),
        (Flag, Json::Bool(flag)) => Some(SqlValue::from(*flag)),
        (Flag, Json::Number(number)) => number.as_i64().map(|number| SqlValue::from(number != 0)),
        _ => None,
    };
    value.ok_or_else(|| StoreError::Refused(format!("the column `{name}` is `{given}`")))
}

/// Row as a JSON object.
struct Cells(Map<String, Json>);

impl<'r> FromRow<'r, SqliteRow> for Cells {
    fn from_row(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        let mut cells = Map::new();
        for column in row.columns() {
            let raw = row.try_get_raw(column.ordinal())?;
            let is_integer = raw.type_info().name() == "INTEGER";
            let value = match (raw.is_null(), is_integer) {
                (true, _) => Json::Null,
                (false, true) => row.try_get::<i64, _>(column.ordinal())?.into(),
                (false, false) => row.try_get::<String, _>(column.ordinal())?.into(),
            };
            cells.insert(column.name().to_owned(), value);
        }
        Ok(Self(cells))
    }
}

impl<'r> FromRow<'r, PgRow> for Cells {
    fn from_row(row: &'r PgRow) -> Result<Self, sqlx::Error> {
        let mut cells = Map::new();
        for column in row.columns() {
            let is_null = row.try_get_raw(column.ordinal())?.is_null();
            let value = match (is_null, column.type_info().name()) {
                (true, _) => Json::Null,
                (false, "INT8") => row.try_get::<i64, _>(column.ordinal())?.into(),
                (false, "BOOL") => row.try_get::<bool, _>(column.ordinal())?.into(),
                (false, _) => row.try_get::<String, _>(column.ordinal())?.into(),
            };
            cells.insert(column.name().to_owned(), value);
        }
        Ok(Self(cells))
    }
}
