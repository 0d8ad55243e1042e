//! The seam: an open database of either kind, and a transaction in it.

use futures_util::future::BoxFuture;
use sqlx::FromRow;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

use super::Statement;
use crate::postgres::{self, Postgres};
use crate::sqlite::{self, Sqlite};
use crate::{Location, Settings, StoreError};

/// What a row is read as, from either database.
pub(crate) trait Record: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

impl<T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin> Record for T {}

/// Expands one expression for each kind of database.
macro_rules! on {
    ($kind:ident, $database:expr, |$one:ident| $body:expr) => {
        match $database {
            $kind::Sqlite($one) => $body,
            $kind::Postgres($one) => $body,
        }
    };
}

/// An open database.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// What a transaction is alone with. SQLite has one writer at a time, so that every transaction is alone there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock<'a> {
    /// Its rows alone.
    Rows,
    /// Whatever goes by this name, in every replica.
    Named(&'a str),
}

impl Database {
    /// Opens the store, brings it up to date, and ends what turns waited for whose process is gone. `owner` tells this process from others.
    ///
    /// # Errors
    /// A message that names the place and what mends it.
    pub(crate) fn open<'a>(
        location: &'a Location,
        settings: &'a Settings,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<Self, String>> {
        Box::pin(Self::opened(location, settings, owner))
    }

    /// Opens the store and brings it up to date. What a process that serves waits for is left alone.
    ///
    /// # Errors
    /// A message that names the place and what mends it.
    pub(crate) async fn open_beside(location: &Location, settings: &Settings) -> Result<Self, String> {
        Ok(match location {
            Location::Postgres(url) => Self::Postgres(Postgres::open(url, &settings.postgres).await?),
            _ => Self::Sqlite(Sqlite::open(location).await?),
        })
    }

    async fn opened(location: &Location, settings: &Settings, owner: &str) -> Result<Self, String> {
        let database = Self::open_beside(location, settings).await?;
        match database.arrive(owner, settings).await {
            Ok(()) => Ok(database),
            Err(error) => {
                database.close().await;
                Err(format!("cannot use {location}: {error}"))
            }
        }
    }

    async fn arrive(&self, owner: &str, settings: &Settings) -> Result<(), StoreError> {
        self.live(owner, settings).await?;
        self.abandon_waiting(owner).await.map(drop)
    }

    /// May other replicas be at work in it? An SQLite file is served by one process at a time.
    pub(super) const fn has_replicas(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// All rows.
    pub(crate) async fn fetch_all<T: Record>(&self, statement: Statement) -> Result<Vec<T>, StoreError> {
        on!(Self, self, |database| database.fetch_all(statement).await)
    }

    /// The first row, where there is one.
    pub(crate) async fn fetch_optional<T: Record>(&self, statement: Statement) -> Result<Option<T>, StoreError> {
        on!(Self, self, |database| database.fetch_all(statement).await).map(|rows: Vec<T>| rows.into_iter().next())
    }

    /// The one number that the statement gives.
    pub(crate) async fn count(&self, statement: Statement) -> Result<u64, StoreError> {
        let row: Option<(i64,)> = self.fetch_optional(statement).await?;
        Ok(row.map_or(0, |(count,)| count.unsigned_abs()))
    }

    /// Writes; says how many rows it changed. It is on disk when this returns.
    pub(crate) async fn execute(&self, statement: Statement) -> Result<u64, StoreError> {
        on!(Self, self, |database| database.execute(statement).await)
    }

    /// Begins to write several things at once. What is not committed is undone.
    pub(crate) async fn begin(&self, lock: Lock<'_>) -> Result<Transaction, StoreError> {
        match self {
            Self::Sqlite(sqlite) => sqlite.begin().await.map(Transaction::Sqlite),
            Self::Postgres(postgres) => postgres.begin(lock).await.map(Transaction::Postgres),
        }
    }

    /// Waits for what runs and closes it.
    pub(crate) async fn close(&self) {
        on!(Self, self, |database| database.close().await);
    }

    /// What the clock of the database says, in milliseconds: all replicas have that one.
    pub(super) const fn clock(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
            Self::Postgres(_) => "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }

    /// A table `element` of the elements of a JSON array in a column, with one column `value`.
    pub(super) fn elements_of(&self, column: &str) -> String {
        match self {
            Self::Sqlite(_) => format!("json_each({column}) AS element"),
            Self::Postgres(_) => format!("json_array_elements_text({column}::json) AS element(value)"),
        }
    }
}

/// A transaction that has begun.
pub(crate) enum Transaction {
    Sqlite(sqlite::Transaction),
    Postgres(postgres::Transaction),
}

impl Transaction {
    /// All rows.
    pub(crate) async fn fetch_all<T: Record>(&mut self, statement: Statement) -> Result<Vec<T>, StoreError> {
        on!(Self, self, |transaction| transaction.fetch_all(statement).await)
    }

    /// The first row, where there is one.
    pub(crate) async fn fetch_optional<T: Record>(&mut self, statement: Statement) -> Result<Option<T>, StoreError> {
        self.fetch_all(statement).await.map(|rows: Vec<T>| rows.into_iter().next())
    }

    /// The one number that the statement gives.
    pub(crate) async fn count(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let row: Option<(i64,)> = self.fetch_optional(statement).await?;
        Ok(row.map_or(0, |(count,)| count.unsigned_abs()))
    }

    /// Writes; says how many rows it changed.
    pub(crate) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        on!(Self, self, |transaction| transaction.execute(statement).await)
    }

    /// Everything that was written is on disk when this returns.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        on!(Self, self, |transaction| transaction.commit().await)
    }
}
