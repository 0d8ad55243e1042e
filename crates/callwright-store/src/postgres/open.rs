//! Opening: connections, migrations, and a look at how durable the server's commits are.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, PgPool};

use super::gate::Gate;
use super::{Postgres, Settings};
use crate::{Location, PostgresUrl, migrations};

/// The migrations, compiled in.
static MIGRATIONS: Migrator = sqlx::migrate!("./migrations/postgres");

/// As which client the server lists the connections, where the URL names none.
const APPLICATION: &str = "callwright";

/// Parameters of the URL. Others would be left out without a word.
const PARAMETERS: [&str; 14] = [
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
    "options[NAME]",
];

impl Postgres {
    /// Connects and brings the database up to date. Of several replicas that start at once, one does; the others wait for it.
    ///
    /// # Errors
    /// A message that names the place and what mends it, without the password.
    pub(crate) async fn open(url: &PostgresUrl, settings: &Settings) -> Result<Self, String> {
        let options = options(url)?;
        let advice = |message: String| {
            let location = Location::Postgres(url.clone());
            format!(
                "cannot use {location}: {message}; see that the server runs, that the user may create tables in the database, and `[store] url`"
            )
        };
        let pool = pool(settings).connect_with(options).await.map_err(|error| advice(error.to_string()))?;
        let gate = Arc::new(Gate::new(Duration::from_millis(settings.probe_milliseconds.max(1))));
        let patience = Duration::from_millis(settings.statement_milliseconds.max(1));
        let database = Self { pool, gate, patience };
        match migrate(&database.pool).await {
            Ok(()) => {
                warn_of_lost_commits(&database.pool).await;
                Ok(database)
            }
            Err(error) => {
                database.close().await;
                Err(advice(error.to_string()))
            }
        }
    }
}

impl Postgres {
    /// Takes the latest migration back and says which version the database has then.
    ///
    /// # Errors
    /// A message that names the place and what mends it, without the password.
    pub(crate) async fn roll_back(url: &PostgresUrl, settings: &Settings) -> Result<i64, String> {
        let advice = |message: String| format!("cannot use {}: {message}", Location::Postgres(url.clone()));
        let pool = pool(settings).connect_with(options(url)?).await.map_err(|error| advice(error.to_string()))?;
        let mut connection = pool.acquire().await.map_err(|error| advice(error.to_string()))?;
        let version = migrations::roll_back(&MIGRATIONS, &mut *connection).await;
        drop(connection);
        pool.close().await;
        version.map_err(advice)
    }
}

/// Holds a lock meanwhile that other replicas wait for.
async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    let mut connection = pool.acquire().await?;
    MIGRATIONS.run_direct(None, &mut *connection, false).await
}

/// What the URL says, and whatever it leaves out as the variables PGHOST, PGPASSWORD and so on say.
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

fn pool(settings: &Settings) -> PgPoolOptions {
    let idle = Duration::from_secs(settings.idle_seconds);
    PgPoolOptions::new()
        .max_connections(settings.connections.max(1))
        .acquire_timeout(Duration::from_millis(settings.connect_milliseconds.max(1)))
        .idle_timeout((!idle.is_zero()).then_some(idle))
        .max_lifetime(None)
        // After a restart of the server every connection is dead: better found before a statement than by it.
        .test_before_acquire(true)
}

/// Intents must be on disk when they are committed: a server that does not see to it may let an unsafe call be sent twice.
async fn warn_of_lost_commits(pool: &PgPool) {
    for setting in ["fsync", "synchronous_commit"] {
        let value = sqlx::query_scalar::<_, String>("SELECT current_setting($1)").bind(setting).fetch_one(pool).await;
        if value.is_ok_and(|value| value == "off") {
            tracing::warn!(
                setting,
                "this PostgreSQL may lose what it has confirmed: set it to `on`, or calls may be sent twice after a crash"
            );
        }
    }
}
