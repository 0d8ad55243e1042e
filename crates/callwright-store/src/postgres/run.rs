//! Execution of statements in PostgreSQL.

use std::borrow::Cow;

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, AssertSqlSafe, Error, FromRow, PgConnection, Postgres as Driver};
use tokio::time::error::Elapsed;

use super::Postgres;
use crate::StoreError;
use crate::sql::{Lock, SqlValue, Statement};

/// SQLSTATE classes (<https://www.postgresql.org/docs/current/errcodes-appendix.html>) caused by the request, not by
/// the state of the database: data exception, integrity constraint violation, program limit exceeded.
const REFUSALS: [&str; 3] = ["22", "23", "54"];

/// SQLSTATE classes for a lost server or connection: connection exception, operator intervention.
const DEPARTURES: [&str; 2] = ["08", "57"];

/// Classified error.
#[derive(Debug, PartialEq, Eq)]
struct PostgresFault {
    error: StoreError,
    /// Whether the server is unreachable. An immediate retry is pointless then.
    is_away: bool,
}

impl PostgresFault {
    /// Returns the fault of a server that did not answer in time.
    fn silence() -> Self {
        let error = StoreError::Unavailable("PostgreSQL did not answer in time".to_owned());
        Self { error, is_away: true }
    }
}

/// Acquires the advisory lock with this name until the transaction ends.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

impl Postgres {
    pub(crate) async fn fetch_all<T: for<'r> FromRow<'r, PgRow> + Send + Unpin>(
        &self,
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        let mut lease = self.lease().await?;
        let rows = lease.fetch_all(statement).await?;
        lease.release();
        Ok(rows)
    }

    /// Executes a write and returns the number of changed rows.
    pub(crate) async fn execute(&self, statement: Statement) -> Result<u64, StoreError> {
        let mut lease = self.lease().await?;
        let changed = lease.execute(statement).await?;
        lease.release();
        Ok(changed)
    }

    /// Begins a transaction and waits for its lock.
    pub(crate) async fn begin(&self, lock: Lock<'_>) -> Result<PostgresTransaction, StoreError> {
        let mut lease = self.lease().await?;
        lease.execute(Statement::new("BEGIN")).await?;
        if let Lock::Named(name) = lock {
            lease.execute(Statement::new(LOCK).bind(name)).await?;
        }
        Ok(PostgresTransaction(lease))
    }

    async fn lease(&self) -> Result<Lease, StoreError> {
        self.gate.pass()?;
        match self.pool.acquire().await {
            Ok(connection) => Ok(Lease { database: self.clone(), connection: Some(connection) }),
            Err(error) => Err(self.failed(fault(&error))),
        }
    }

    fn failed(&self, PostgresFault { error, is_away }: PostgresFault) -> StoreError {
        if is_away {
            self.gate.shut(&self.pool, &error.to_string());
        }
        error
    }
}

/// Connection in use. It is closed if its use fails: its state is unknown then, and the server rolls back.
struct Lease {
    database: Postgres,
    connection: Option<PoolConnection<Driver>>,
}

impl Lease {
    async fn fetch_all<T: for<'r> FromRow<'r, PgRow> + Send + Unpin>(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        let (text, arguments, is_usual) = parts(statement)?;
        let query = sqlx::query_as_with::<Driver, T, _>(text, arguments).persistent(is_usual);
        let timeout = self.database.timeout;
        let outcome = tokio::time::timeout(timeout, query.fetch_all(self.connection()?)).await;
        self.settled(outcome)
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let (text, arguments, is_usual) = parts(statement)?;
        let query = sqlx::query_with::<Driver, _>(text, arguments).persistent(is_usual);
        let timeout = self.database.timeout;
        let outcome = tokio::time::timeout(timeout, query.execute(self.connection()?)).await;
        self.settled(outcome).map(|done| done.rows_affected())
    }

    /// Returns the connection to the pool.
    fn release(mut self) {
        self.connection.take();
    }

    fn connection(&mut self) -> Result<&mut PgConnection, StoreError> {
        let connection = self.connection.as_deref_mut();
        connection.ok_or_else(|| StoreError::Unavailable("the connection was released".to_owned()))
    }

    fn settled<T>(&self, outcome: Result<Result<T, sqlx::Error>, Elapsed>) -> Result<T, StoreError> {
        let fault = match outcome {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => fault(&error),
            Err(Elapsed { .. }) => PostgresFault::silence(),
        };
        Err(self.database.failed(fault))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.close_on_drop();
        }
    }
}

/// Open transaction; rolled back unless committed.
pub(crate) struct PostgresTransaction(Lease);

impl PostgresTransaction {
    pub(crate) async fn fetch_all<T: for<'r> FromRow<'r, PgRow> + Send + Unpin>(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<T>, StoreError> {
        self.0.fetch_all(statement).await
    }

    /// Executes a write and returns the number of changed rows.
    pub(crate) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.0.execute(statement).await
    }

    /// Commits. All writes are on disk when this returns, if the server's `synchronous_commit` is on.
    pub(crate) async fn commit(mut self) -> Result<(), StoreError> {
        self.0.execute(Statement::new("COMMIT")).await?;
        self.0.release();
        Ok(())
    }
}

type Parts = (AssertSqlSafe<Cow<'static, str>>, PgArguments, bool);

/// Splits a statement for the driver. The text is this crate's own; external data is only in the arguments.
fn parts(statement: Statement) -> Result<Parts, StoreError> {
    let Statement { text, values, is_usual, .. } = statement;
    let mut arguments = PgArguments::default();
    for value in values {
        let added = match value {
            SqlValue::Integer(value) => arguments.add(value),
            SqlValue::Real(value) => arguments.add(value),
            SqlValue::Text(value) => arguments.add(value.as_deref().map(without_null)),
            SqlValue::Bytes(value) => arguments.add(value),
            SqlValue::Flag(value) => arguments.add(value),
        };
        added.map_err(|error| StoreError::Refused(error.to_string()))?;
    }
    Ok((AssertSqlSafe(text), arguments, is_usual))
}

/// Replaces U+0000, which PostgreSQL text cannot contain and a client may send in a name. JSON text escapes the
/// character and is unchanged.
fn without_null(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Classifies an error: whether a retry may succeed, and whether the server is unreachable.
fn fault(error: &Error) -> PostgresFault {
    let message = error.to_string();
    let code = error.as_database_error().and_then(|error| error.code());
    let code = code.as_deref().unwrap_or_default();
    if REFUSALS.iter().any(|class| code.starts_with(class)) {
        return PostgresFault { error: StoreError::Refused(message), is_away: false };
    }
    let is_away = DEPARTURES.iter().any(|class| code.starts_with(class));
    let is_away = is_away
        || matches!(
            error,
            Error::Io(_)
                | Error::Tls(_)
                | Error::Protocol(_)
                | Error::PoolTimedOut
                | Error::PoolClosed
                | Error::WorkerCrashed
        );
    PostgresFault { error: StoreError::Unavailable(message), is_away }
}
