//! Execution of statements in SQLite.

use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, AssertSqlSafe, Error, FromRow, Sqlite as Driver};

use super::Sqlite;
use crate::StoreError;
use crate::sql::{SqlValue, Statement};

/// Primary result codes (<https://www.sqlite.org/rescode.html>) caused by the request, not by the state of the
/// database: `SQLITE_TOOBIG`, `SQLITE_CONSTRAINT`, `SQLITE_MISMATCH`.
const REFUSALS: [u32; 3] = [18, 19, 20];

/// Mask for the primary result code in the low byte of an extended one.
const PRIMARY_CODE: u32 = 0xff;

impl Sqlite {
    pub(crate) async fn fetch_all<T: for<'r> FromRow<'r, SqliteRow> + Send + Unpin>(
        &self,
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        let (text, arguments, is_usual) = parts(statement)?;
        let query = sqlx::query_as_with::<Driver, T, _>(text, arguments).persistent(is_usual);
        query.fetch_all(&self.reader).await.map_err(fault)
    }

    /// Executes a write and returns the number of changed rows.
    pub(crate) async fn execute(&self, statement: Statement) -> Result<u64, StoreError> {
        self.check_file()?;
        let (text, arguments, is_usual) = parts(statement)?;
        let query = sqlx::query_with::<Driver, _>(text, arguments).persistent(is_usual);
        query.execute(&self.writer).await.map(|done| done.rows_affected()).map_err(fault)
    }

    /// Begins a transaction. It takes the write lock before it reads: no other process can write in between.
    pub(crate) async fn begin(&self) -> Result<SqliteTransaction, StoreError> {
        self.check_file()?;
        self.writer.begin_with("BEGIN IMMEDIATE").await.map(SqliteTransaction).map_err(fault)
    }
}

/// Open transaction; rolled back unless committed.
pub(crate) struct SqliteTransaction(sqlx::Transaction<'static, Driver>);

impl SqliteTransaction {
    pub(crate) async fn fetch_all<T: for<'r> FromRow<'r, SqliteRow> + Send + Unpin>(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        let (text, arguments, is_usual) = parts(statement)?;
        let query = sqlx::query_as_with::<Driver, T, _>(text, arguments).persistent(is_usual);
        query.fetch_all(&mut *self.0).await.map_err(fault)
    }

    /// Executes a write and returns the number of changed rows.
    pub(crate) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let (text, arguments, is_usual) = parts(statement)?;
        let query = sqlx::query_with::<Driver, _>(text, arguments).persistent(is_usual);
        query.execute(&mut *self.0).await.map(|done| done.rows_affected()).map_err(fault)
    }

    /// Commits. All writes are on disk when this returns.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.0.commit().await.map_err(fault)
    }
}

type Parts = (AssertSqlSafe<std::borrow::Cow<'static, str>>, SqliteArguments, bool);

/// Splits a statement for the driver. The text is this crate's own; external data is only in the arguments.
fn parts(statement: Statement) -> Result<Parts, StoreError> {
    let Statement { text, values, is_usual } = statement;
    let mut arguments = SqliteArguments::default();
    for value in values {
        let added = match value {
            SqlValue::Integer(value) => arguments.add(value),
            SqlValue::Real(value) => arguments.add(value),
            SqlValue::Text(value) => arguments.add(value),
            SqlValue::Bytes(value) => arguments.add(value),
            SqlValue::Flag(value) => arguments.add(value),
        };
        added.map_err(|error| StoreError::Refused(error.to_string()))?;
    }
    Ok((AssertSqlSafe(text), arguments, is_usual))
}

/// Classifies an error: whether a retry may succeed.
fn fault(error: Error) -> StoreError {
    let code = error.as_database_error().and_then(|error| error.code()).and_then(|code| code.parse::<u32>().ok());
    match code {
        Some(code) if REFUSALS.contains(&(code & PRIMARY_CODE)) => StoreError::Refused(error.to_string()),
        _ => StoreError::Unavailable(error.to_string()),
    }
}
