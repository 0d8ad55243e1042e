//! Runs the tests of the topics on every kind of database.

use std::path::Path;

use tempfile::TempDir;

use super::samples::in_memory;
use super::sql::Database;
use super::{Location, PostgresSettings, Settings, Store, postgres_server};

/// Runs each test on SQLite in memory, on SQLite in a file, and on PostgreSQL.
macro_rules! on_every_database {
    ($($(#[$about:meta])* async fn $name:ident($store:ident: $kind:ty) $body:block)*) => {$(
        $(#[$about])*
        mod $name {
            use super::*;

            async fn check($store: $kind) $body

            #[tokio::test]
            async fn in_memory() {
                check($crate::contract::in_memory_store().await).await;
            }

            #[tokio::test]
            async fn in_a_file() {
                let directory = tempfile::tempdir().unwrap();
                check($crate::contract::in_a_file(&directory).await).await;
            }

            #[callwright_test_macros::requires(postgres)]
            #[tokio::test]
            async fn on_postgres() {
                check($crate::contract::on_postgres().await).await;
            }
        }
    )*};
}

pub(super) use on_every_database;

/// Store or database under test, opened from settings.
pub(super) trait OpenedFrom {
    async fn opened(settings: &Settings, directory: &Path) -> Self;
}

impl OpenedFrom for Store {
    async fn opened(settings: &Settings, directory: &Path) -> Self {
        let store = Self::open(settings, directory).await;
        assert!(store.health().ok, "{:?}", store.health());
        store
    }
}

impl OpenedFrom for Database {
    async fn opened(settings: &Settings, directory: &Path) -> Self {
        let location = Location::parse(settings.url.expose(), directory).unwrap();
        Self::open(&location, settings, "this").await.unwrap()
    }
}

pub(super) async fn in_memory_store<S: OpenedFrom>() -> S {
    S::opened(&in_memory(), Path::new("")).await
}

pub(super) async fn in_a_file<S: OpenedFrom>(directory: &TempDir) -> S {
    S::opened(&Settings { url: "sqlite:a.sqlite3".into(), ..in_memory() }, directory.path()).await
}

pub(super) async fn on_postgres<S: OpenedFrom>() -> S {
    S::opened(&at_postgres(postgres_server::database()), Path::new("")).await
}

/// Timeout in milliseconds that is never reached, even on a busy machine.
const PATIENCE: u64 = 60_000;

/// Settings of a store at this URL, whose server keeps running.
pub(super) fn at_postgres(url: String) -> Settings {
    let postgres =
        PostgresSettings { connect_milliseconds: PATIENCE, statement_milliseconds: PATIENCE, ..Default::default() };
    Settings { url: url.into(), postgres, ..in_memory() }
}

/// Settings of a store at this URL, whose server may be stopped: short timeouts.
pub(super) fn at_absent_postgres(url: String) -> Settings {
    Settings { postgres: PostgresSettings::default(), ..at_postgres(url) }
}
