//! Execution of statements in SQLite.

use std::borrow::Cow;

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

type Parts = (AssertSqlSafe<Cow<'static, str>>, SqliteArguments, bool);

/// Splits a statement for the driver. The text is this crate's own; external data is only in the arguments.
fn parts(statement: Statement) -> Result<Parts, StoreError> {
    let Statement { text, anonymous: composed, values, is_usual } = statement;
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
    let text = match (composed, text) {
        (Some(composed), _) => Cow::Borrowed(composed),
        (None, Cow::Owned(text)) => Cow::Owned(anonymous(&text).unwrap_or(text)),
        (None, constant @ Cow::Borrowed(_)) => constant,
    };
    Ok((AssertSqlSafe(text), arguments, is_usual))
}

/// Returns a composed text with `?` for `$1, $2, ...`; `None` if the placeholders are not numbered in their order. SQLite
/// searches the name of each placeholder among all others, which takes quadratic time, and `?` has none.
fn anonymous(text: &str) -> Option<String> {
    let mut pieces = text.split('$');
    let mut anonymous = String::with_capacity(text.len());
    anonymous.push_str(pieces.next()?);
    for (position, piece) in pieces.enumerate() {
        let end = piece.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(piece.len());
        let (number, rest) = piece.split_at(end);
        if number.parse() != Ok(position + 1) {
            return None;
        }
        anonymous.push('?');
        anonymous.push_str(rest);
    }
    Some(anonymous)
}

/// Classifies an error: whether a retry may succeed.
fn fault(error: Error) -> StoreError {
    let code = error.as_database_error().and_then(|error| error.code()).and_then(|code| code.parse::<u32>().ok());
    match code {
        Some(code) if REFUSALS.contains(&(code & PRIMARY_CODE)) => StoreError::Refused(error.to_string()),
        _ => StoreError::Unavailable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_lose_their_numbers_only_in_order() {
        assert_eq!(anonymous("VALUES ($1, $2), ($3, $4) ON").unwrap(), "VALUES (?, ?), (?, ?) ON");
        assert_eq!(anonymous("a < $1").unwrap(), "a < ?");
        assert_eq!(anonymous("a").unwrap(), "a");
        for reused in ["$1 $1", "$2", "$", "'$x' $1"] {
            assert_eq!(anonymous(reused), None, "{reused}");
        }
    }
}
