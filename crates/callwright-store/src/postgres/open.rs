//! Opening of the database: connections, migrations, and a check of commit durability.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgConnection, PgPool};

use super::Postgres;
use super::gate::Gate;
use crate::{Location, PostgresSettings, PostgresUrl, migrations};

pub(crate) static MIGRATIONS: LazyLock<Migrator> = migrations::embedded_migrations! {
    "postgres":
    "0001_store.sql",
    "0002_memory.sql",
    "0003_tokens.sql",
    "0004_representations.sql",
    "0005_keys.sql",
    "0006_isolated_memory.sql",
    "0007_trace_filters.sql",
    "0008_overview.sql",
    "0009_tool_usage.sql",
    "0010_provider_objects.sql",
};

/// Default application name of the connections, if the URL has none.
const APPLICATION: &str = "callwright";

/// Supported URL parameters. The driver would ignore others silently.
const PARAMETERS: [&str; 14] = [
    "sslmode", "sslrootcert", "sslcert", "sslkey", "statement-cache-capacity", "host", "hostaddr", "port", "dbname",
    "user", "password", "application_name", "options", "options[NAME]",
];

/// End of the error for a database that cannot be opened.
const REMEDY: &str = "; check that the server runs, that the user may create tables in the database, and `[store] url`";

impl Postgres {
    /// Connects and runs the migrations. If several replicas start at once, one runs them and the others wait.
    ///
    /// # Errors
    /// A message that names the location and the remedy, without the password.
    pub(crate) async fn open(url: &PostgresUrl, settings: &PostgresSettings) -> Result<Self, String> {
        let options = options(url)?;
        // The pool retries a refused connection until its timeout and then reports only the timeout.
        connect_once(&options, settings).await.map_err(|reason| unusable(url, &reason, REMEDY))?;
        let pool = pool(settings).connect_with(options).await.map_err(|error| unusable(url, &error, REMEDY))?;
        let gate = Arc::new(Gate::new(Duration::from_millis(settings.probe_milliseconds.max(1))));
        let timeout = Duration::from_millis(settings.statement_milliseconds.max(1));
        let database = Self { pool, gate, timeout };
        match migrate(&database.pool).await {
            Ok(()) => {
                warn_of_lost_commits(&database.pool).await;
                Ok(database)
            }
            Err(error) => {
                database.close().await;
                Err(unusable(url, &error, REMEDY))
            }
        }
    }
}

/// Opens and closes one connection; returns why that is impossible.
async fn connect_once(options: &PgConnectOptions, settings: &PostgresSettings) -> Result<(), String> {
    let timeout = Duration::from_millis(settings.connect_milliseconds.max(1));
    match tokio::time::timeout(timeout, PgConnection::connect_with(options)).await {
        Ok(Ok(connection)) => {
            // The server closes a connection that is not closed properly, too.
            let _ = connection.close().await;
            Ok(())
        }
        Ok(Err(sqlx::Error::Io(error))) => Err(error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no connection within {} ms", timeout.as_millis())),
    }
}

fn unusable(url: &PostgresUrl, message: &dyn Display, remedy: &str) -> String {
    format!("cannot use {}: {message}{remedy}", Location::Postgres(url.clone()))
}

/// Runs the migrations under a lock that other replicas wait for.
async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    let mut connection = pool.acquire().await?;
    MIGRATIONS.run_direct(None, &mut *connection, false).await
}

/// Returns the options of the URL; missing ones come from the environment variables PGHOST, PGPASSWORD and so on.
fn options(url: &PostgresUrl) -> Result<PgConnectOptions, String> {
    if let Some(unknown) = url.parameters().find(|name| !is_parameter(name)) {
        return Err(format!("`[store] url` has a parameter `{unknown}`, which is none of {}", PARAMETERS.join(", ")));
    }
    let options = PgConnectOptions::from_str(url.expose())
        // The error may quote the URL.
        .map_err(|_| "`[store] url`: a parameter of the PostgreSQL URL is wrong; see docs/store.md".to_owned())?;
    let options = match options.get_application_name() {
        Some(_) => options,
        None => options.application_name(APPLICATION),
    };
    Ok(options.disable_statement_logging())
}

fn is_parameter(name: &str) -> bool {
    PARAMETERS.contains(&name) || name.starts_with("options[")
}

/// Time after which an idle connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

fn pool(settings: &PostgresSettings) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(settings.connections.max(1))
        .acquire_timeout(Duration::from_millis(settings.connect_milliseconds.max(1)))
        .idle_timeout(IDLE_TIMEOUT)
        .max_lifetime(None)
        // After a restart of the server every connection is dead: a test before use finds that without a failed
        // statement.
        .test_before_acquire(true)
}

/// Warns about a server that may lose confirmed commits: an unsafe call whose intent is lost may be sent twice.
async fn warn_of_lost_commits(pool: &PgPool) {
    for setting in ["fsync", "synchronous_commit"] {
        let value = sqlx::query_scalar::<_, String>("SELECT current_setting($1)").bind(setting).fetch_one(pool).await;
        if value.is_ok_and(|value| value == "off") {
            tracing::warn!(
                setting,
                "PostgreSQL may lose confirmed commits: set this parameter to `on`, or calls may be sent twice after a crash"
            );
        }
    }
}
