//! Tests of PostgreSQL's own failure modes.

use std::path::Path;

use futures_util::future::join_all;

use crate::contract::{at_absent_postgres, at_postgres};
use crate::postgres_server::{self, PASSWORD, USER};
use crate::samples::{rows, trace};
use crate::{Settings, Store, StoreError, TraceFilter, Traces};
use callwright_test_macros::requires;
use callwright_types::Trace;

async fn open(settings: &Settings) -> Store {
    Store::open(settings, Path::new("")).await
}

#[requires(postgres)]
#[tokio::test]
async fn replicas_that_start_at_once_migrate_the_database_once() {
    let url = postgres_server::database();
    let settings = at_postgres(url);
    let stores = join_all((0..8).map(|_| open(&settings))).await;
    for store in &stores {
        assert!(store.health().ok, "{:?}", store.health());
    }
    stores[0].append(&rows([trace("a", 1)])).await.unwrap();
    assert!(stores[7].get("a").await.unwrap().is_some());
}

#[requires(postgres)]
#[tokio::test]
async fn a_password_is_in_no_message() {
    let url = postgres_server::database();
    let refused = url.replace(PASSWORD, "wrong-canary");
    let missing = url.clone() + "_missing";
    let nowhere = format!("postgres://{USER}:{PASSWORD}@127.0.0.1:1/calls");
    let odd = url.clone() + "?sslmode=canary";
    let unknown = url + "?pasword=canary";
    for url in [refused, missing, nowhere, odd, unknown] {
        let settings = at_absent_postgres(url.clone());
        let store = open(&settings).await;
        let health = store.health();
        assert!(!health.ok, "{url}");
        let text = format!("{health:?} {settings:?} {store:?} {}", store.get("a").await.unwrap_err());
        assert!(!text.contains("canary"), "{text}");
        assert!(health.message.contains("`[store] url`"), "{health:?}");
    }
}

/// Clients may send U+0000 in a name, and PostgreSQL text cannot contain it.
#[requires(postgres)]
#[tokio::test]
async fn a_name_with_the_character_null_is_stored() {
    let url = postgres_server::database();
    let store = open(&at_postgres(url)).await;
    let model = "a\0b".to_owned();
    store.append(&rows([Trace { model: model.clone(), ..trace("a", 1) }])).await.unwrap();
    let listed = store.list(&TraceFilter { model: Some(model.clone()), ..TraceFilter::default() }).await.unwrap();
    assert_eq!(listed.traces[0].model, "a\u{fffd}b");
    assert_eq!(store.get("a").await.unwrap().unwrap().model, model, "the document is as it was");
}

#[requires(postgres)]
#[tokio::test]
async fn a_hanging_statement_times_out_and_the_store_continues() {
    let url = postgres_server::database();
    let mut settings = at_postgres(url);
    settings.postgres.statement_milliseconds = 300;
    settings.postgres.probe_milliseconds = 10;
    let store = open(&settings).await;
    let mut other = super::Postgres::open(&postgres_url(&settings), &settings.postgres).await.unwrap();
    other.timeout = std::time::Duration::from_secs(60);
    let mut lock = other.begin(crate::sql::Lock::Rows).await.unwrap();
    lock.execute(crate::sql::Statement::new("LOCK TABLE traces")).await.unwrap();
    let error = store.append(&rows([trace("a", 1)])).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    lock.commit().await.unwrap();
    while store.append(&rows([trace("a", 1)])).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

fn postgres_url(settings: &Settings) -> crate::PostgresUrl {
    match crate::Location::parse(settings.url.expose(), Path::new("")).unwrap() {
        crate::Location::Postgres(url) => url,
        other => panic!("{other}"),
    }
}
