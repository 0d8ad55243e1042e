//! Open database of either kind, and its transactions.
//!
//! The futures of the driver have 15 kB each. They are boxed here, because every open stream keeps the future of its
//! turn, which has room for any store operation that the turn may make.

use futures_util::future::BoxFuture;
use sqlx::FromRow;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

use super::Statement;
use crate::postgres::{self, Postgres};
use crate::sqlite::{self, Sqlite};
use crate::{Location, Settings, StoreError};

/// Row type that both databases can decode.
pub(crate) trait DatabaseRecord:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin> DatabaseRecord for T {}

/// Defines a row type whose fields have the names of the columns. A field in parentheses is a row type
/// of the same row.
///
/// Does what `derive(FromRow)` of sqlx does, whose macros would compile the drivers and SQLite once more for the build.
macro_rules! database_record {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $name:ident $(($part:ident: $part_type:ty))? {
            $($(#[$field_attribute:meta])* $field_visible:vis $field:ident: $field_type:ty,)*
        }
    ) => {
        $(#[$attribute])*
        $visible struct $name {
            $($part: $part_type,)?
            $($(#[$field_attribute])* $field_visible $field: $field_type,)*
        }

        impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for $name
        where
            &'static str: sqlx::ColumnIndex<R>,
            $($part_type: sqlx::FromRow<'r, R>,)?
            $($field_type: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,)*
        {
            fn from_row(row: &'r R) -> sqlx::Result<Self> {
                Ok(Self {
                    $($part: <$part_type as sqlx::FromRow<'r, R>>::from_row(row)?,)?
                    $($field: row.try_get(stringify!($field))?,)*
                })
            }
        }
    };
}
pub(crate) use database_record;

/// Evaluates an expression for each kind of database.
macro_rules! on {
    ($kind:ident, $database:expr, |$one:ident| $body:expr) => {
        match $database {
            $kind::Sqlite($one) => $body,
            $kind::Postgres($one) => $body,
        }
    };
}

/// Open database.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// Lock of a transaction. SQLite has one writer at a time, so that every transaction is exclusive there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock<'a> {
    /// Only the rows that the transaction writes.
    Rows,
    /// Advisory lock with this name, in all replicas.
    Named(&'a str),
}

impl Database {
    /// Opens the store, runs the migrations, and expires entries that turns of ended processes waited for. `owner`
    /// identifies this process.
    ///
    /// # Errors
    /// A message that names the location and the remedy.
    pub(crate) fn open<'a>(
        location: &'a Location,
        settings: &'a Settings,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<Self, String>> {
        Box::pin(Self::opened(location, settings, owner))
    }

    /// Opens the store and runs the migrations. Entries that a serving process waits for are kept.
    ///
    /// # Errors
    /// A message that names the location and the remedy.
    pub(crate) async fn open_beside(location: &Location, settings: &Settings) -> Result<Self, String> {
        Ok(match location {
            Location::Postgres(url) => Self::Postgres(Postgres::open(url, &settings.postgres).await?),
            _ => Self::Sqlite(Sqlite::open(location).await?),
        })
    }

    async fn opened(location: &Location, settings: &Settings, owner: &str) -> Result<Self, String> {
        let database = Self::open_beside(location, settings).await?;
        match database.arrive(owner).await {
            Ok(()) => Ok(database),
            Err(error) => {
                database.close().await;
                Err(format!("cannot use {location}: {error}"))
            }
        }
    }

    async fn arrive(&self, owner: &str) -> Result<(), StoreError> {
        self.live(owner).await?;
        self.abandon_waiting(owner).await.map(drop)
    }

    /// Whether other replicas may use the database. An SQLite file is served by one process at a time.
    pub(super) const fn has_replicas(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Returns all rows.
    pub(crate) async fn fetch_all<T: DatabaseRecord>(&self, statement: Statement) -> Result<Vec<T>, StoreError> {
        on!(Self, self, |database| Box::pin(database.fetch_all(statement)).await)
    }

    /// Returns the first row, if there is one.
    pub(crate) async fn fetch_optional<T: DatabaseRecord>(
        &self,
        statement: Statement,
    ) -> Result<Option<T>, StoreError> {
        on!(Self, self, |database| Box::pin(database.fetch_all(statement)).await)
            .map(|rows: Vec<T>| rows.into_iter().next())
    }

    /// Returns the number that the statement selects.
    pub(crate) async fn count(&self, statement: Statement) -> Result<u64, StoreError> {
        let row: Option<(i64,)> = self.fetch_optional(statement).await?;
        Ok(row.map_or(0, |(count,)| count.unsigned_abs()))
    }

    /// Executes a write and returns the number of changed rows. It is on disk when this returns.
    pub(crate) async fn execute(&self, statement: Statement) -> Result<u64, StoreError> {
        on!(Self, self, |database| Box::pin(database.execute(statement)).await)
    }

    /// Begins a transaction. It is rolled back unless committed.
    pub(crate) async fn begin(&self, lock: Lock<'_>) -> Result<DatabaseTransaction, StoreError> {
        match self {
            Self::Sqlite(sqlite) => Box::pin(sqlite.begin()).await.map(DatabaseTransaction::Sqlite),
            Self::Postgres(postgres) => Box::pin(postgres.begin(lock)).await.map(DatabaseTransaction::Postgres),
        }
    }

    /// Waits for running statements and closes the database.
    pub(crate) async fn close(&self) {
        on!(Self, self, |database| database.close().await);
    }

    /// Returns the SQL expression of the database's clock in milliseconds, which all replicas share.
    pub(super) const fn clock(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
            Self::Postgres(_) => "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }

    /// Returns the SQL of a table `element` with a column `value`: the elements of a JSON array in a column.
    pub(super) fn elements_of(&self, column: &str) -> String {
        match self {
            Self::Sqlite(_) => format!("json_each({column}) AS element"),
            Self::Postgres(_) => format!("json_array_elements_text({column}::json) AS element(value)"),
        }
    }
}

/// Open transaction.
pub(crate) enum DatabaseTransaction {
    Sqlite(sqlite::SqliteTransaction),
    Postgres(postgres::PostgresTransaction),
}

impl DatabaseTransaction {
    /// Returns all rows.
    pub(crate) async fn fetch_all<T: DatabaseRecord>(&mut self, statement: Statement) -> Result<Vec<T>, StoreError> {
        on!(Self, self, |transaction| Box::pin(transaction.fetch_all(statement)).await)
    }

    /// Returns the first row, if there is one.
    pub(crate) async fn fetch_optional<T: DatabaseRecord>(
        &mut self,
        statement: Statement,
    ) -> Result<Option<T>, StoreError> {
        self.fetch_all(statement).await.map(|rows: Vec<T>| rows.into_iter().next())
    }

    /// Returns the number that the statement selects.
    pub(crate) async fn count(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let row: Option<(i64,)> = self.fetch_optional(statement).await?;
        Ok(row.map_or(0, |(count,)| count.unsigned_abs()))
    }

    /// Executes a write and returns the number of changed rows.
    pub(crate) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        on!(Self, self, |transaction| Box::pin(transaction.execute(statement)).await)
    }

    /// Commits. All writes are on disk when this returns.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        on!(Self, self, |transaction| Box::pin(transaction.commit()).await)
    }
}
