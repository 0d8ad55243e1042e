//! Opening of the database: connections, migrations, and a test write.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::Timestamp;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection, SqlitePool};

use super::{OpenedFile, Sqlite};
use crate::{Location, migrations};

pub(crate) static MIGRATIONS: LazyLock<Migrator> = migrations::embedded_migrations! {
    "sqlite":
    "0001_traces.sql",
    "0002_intents.sql",
    "0003_kept_parts.sql",
    "0004_intent_answers.sql",
    "0005_approvals.sql",
    "0006_vectors.sql",
    "0007_approvals_open.sql",
    "0008_plans.sql",
    "0009_memory.sql",
    "0010_tokens.sql",
    "0011_representations.sql",
    "0012_keys.sql",
    "0013_isolated_memory.sql",
    "0014_trace_filters.sql",
    "0015_overview.sql",
    "0016_tool_usage.sql",
    "0017_provider_objects.sql",
};

/// Reading connections: lists and single traces for the operator, never the request path.
const READERS: u32 = 4;

/// Timeout for a lock of another process (a backup, `sqlite3`) and for a free connection.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Size of a page in bytes, for new databases. A batch of traces fills many pages, and each costs several system calls: a
/// trace takes 11 µs of CPU time, and 12 with SQLite's default of 4,096 bytes.
const PAGE_BYTES: u32 = 16 * 1024;

/// Number of prepared statements of a connection: all constant texts, and those for each size of a batch.
const CACHED_STATEMENTS: usize = 256;

impl Sqlite {
    /// Opens the database, runs the migrations and writes to it once.
    ///
    /// # Errors
    /// A message that names the location and the remedy.
    pub(crate) async fn open(location: &Location) -> Result<Self, String> {
        let database = match location {
            Location::Off | Location::Postgres(_) => return Err(format!("{location} is not an SQLite database")),
            Location::Memory => Self::in_memory().await,
            Location::File(path) => {
                prepare_file(path)?;
                Self::file(path).await
            }
        };
        let database = database.map_err(|error| advice(location, &error.to_string()))?;
        match database.prepare().await {
            Ok(()) => Ok(database),
            Err(message) => {
                database.close().await;
                Err(advice(location, &message))
            }
        }
    }

    async fn file(path: &Path) -> Result<Self, sqlx::Error> {
        let options = options().filename(path).create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
        let writer = pool(1).before_acquire(|connection, _| Box::pin(is_usable(connection)));
        let writer = writer.connect_with(options.clone()).await?;
        let reader = pool(READERS).connect_lazy_with(options.pragma("query_only", "ON"));
        Ok(Self { writer, reader, file: Some(Arc::new(OpenedFile::at(path))) })
    }

    async fn in_memory() -> Result<Self, sqlx::Error> {
        // Every further connection would open a separate database.
        let writer = pool(1).connect_with(options().in_memory(true)).await?;
        Ok(Self { reader: writer.clone(), writer, file: None })
    }

    async fn prepare(&self) -> Result<(), String> {
        migrate(&self.writer).await.map_err(|error| error.to_string())?;
        prove_writable(&self.writer).await.map_err(|error| error.to_string())
    }
}

/// Runs all migrations in one transaction that takes the write lock at its start: of two processes that open the file
/// at once, one waits.
async fn migrate(writer: &SqlitePool) -> Result<(), MigrateError> {
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    MIGRATIONS.run_direct(None, &mut *transaction, false).await?;
    Ok(transaction.commit().await?)
}

/// Returns the connection options.
///
/// `synchronous = FULL`: in WAL mode a commit is on disk when it returns
/// (<https://www.sqlite.org/pragma.html#pragma_synchronous>). Intents require that: an unsafe call whose intent is lost
/// in a power failure may be sent twice. Traces need less, but a batch of them shares one sync.
fn options() -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .page_size(PAGE_BYTES)
        .synchronous(SqliteSynchronous::Full)
        // A statement of many rows keeps a rollback copy of the pages it changes: in memory, not in a file.
        .pragma("temp_store", "MEMORY")
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(CACHED_STATEMENTS)
        .disable_statement_logging()
}

/// Returns the pool options. Connections never expire: opening costs more than idling, and an in-memory database exists
/// in one connection.
fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(BUSY_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

/// Whether a connection can begin a transaction. SQLite itself rolls back a write to a full disk
/// (<https://www.sqlite.org/lang_transaction.html>, section 3). The driver still counts that transaction and begins no
/// other on the connection, so the connection is replaced.
async fn is_usable(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    Ok(!connection.is_in_transaction())
}

async fn prove_writable(writer: &SqlitePool) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO openings (id, opened_at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET opened_at = excluded.opened_at")
        .bind(Timestamp::now().as_millisecond())
        .execute(writer)
        .await?;
    Ok(())
}

/// Creates the file with access for its owner only: it may contain user data. SQLite gives its log the same mode.
fn prepare_file(path: &Path) -> Result<(), String> {
    let mut open = std::fs::OpenOptions::new();
    open.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    open.open(path).map(drop).map_err(|error| advice(&Location::File(path.to_owned()), &error.to_string()))
}

/// Message of SQLite for a file of another kind (`SQLITE_NOTADB`, <https://www.sqlite.org/rescode.html#notadb>).
const NOT_A_DATABASE: &str = "file is not a database";

fn advice(location: &Location, message: &str) -> String {
    match location {
        Location::File(path) if message.contains(NOT_A_DATABASE) => {
            format!(
                "cannot use {}: the file is not a database of SQLite; name another file in `[store] url`",
                path.display()
            )
        }
        Location::File(path) => format!(
            "cannot use {}: {message}; make the file and its directory writable for this user, or change `[store] url`",
            path.display()
        ),
        _ => format!("cannot use {location}: {message}"),
    }
}
