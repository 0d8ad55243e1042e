//! Store handle of the process: open, switched off, or unavailable and reopened in the background.

mod changes;
#[cfg(test)]
mod changes_tests;
mod memory;

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::sync::{Notify, watch};

use super::sql::Database;
use super::{
    Ages, Beginning, IntentKey, IntentState, Intents, LearnableTraces, Location, Revision, Revisions, Settings,
    StoreError, TextHash, TraceFilter, TracePage, TraceRow, Traces, Vectors,
};
use callwright_common::tasks::supervised;
use callwright_types::{Trace, ids};

/// Shared handle of the store; clones share one store.
///
/// A failure never stops the process. A store that cannot be opened reports the reason ([`Store::health`]), refuses
/// every request with [`StoreError::Unavailable`], and is reopened in the background.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

/// Health of the store, for `/readyz` and a metric. The proxy is ready even if the store is unavailable: only memory is
/// degraded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Whether the store works. A store that is switched off works as configured.
    pub ok: bool,
    /// Error, location and remedy; or the location of a working store.
    pub message: String,
}

#[derive(Debug)]
struct StoreInner {
    location: Option<Location>,
    settings: Settings,
    /// Id of this process among the replicas; new on every start.
    owner: String,
    state: ArcSwap<StoreState>,
    changes: watch::Sender<Revisions>,
    /// Wakes the check for changes.
    wake: Arc<Notify>,
    /// Error of the last write of traces, if it failed. Apart from other writes, which may succeed meanwhile.
    trace_error: ArcSwapOption<String>,
    /// Error of the last other write, if it failed: an open store may have a full disk.
    write_error: ArcSwapOption<String>,
}

#[derive(Debug)]
enum StoreState {
    Off,
    Open(Database),
    Down(String),
    Closed,
}

impl Store {
    /// Opens the store; a relative file path is resolved against `base_dir`. Requires a Tokio runtime.
    pub async fn open(settings: &Settings, base_dir: &Path) -> Self {
        let owner = ids::replica_id();
        let (location, state) = match Location::parse(settings.url.expose(), base_dir) {
            Ok(location) => {
                let state = StoreState::open(&location, settings, &owner).await;
                (Some(location), state)
            }
            Err(error) => (None, StoreState::Down(error.to_string())),
        };
        let is_worth_retrying = location.is_some() && matches!(state, StoreState::Down(_));
        let store = Self::new(location, settings, owner, state);
        let inner = Arc::downgrade(&store.inner);
        tokio::spawn(supervised("store_changes", inner, async |inner: &mut _| changes::poll_changes(inner).await));
        if is_worth_retrying {
            let pause = Duration::from_secs(settings.retry_seconds.max(1));
            tokio::spawn(reopen(Arc::downgrade(&store.inner), pause));
        }
        store
    }

    pub(super) async fn opened_beside(settings: &Settings, base_dir: &Path) -> Result<Self, StoreError> {
        let location =
            Location::parse(settings.url.expose(), base_dir).map_err(|error| StoreError::Refused(error.to_string()))?;
        if location == Location::Off {
            return Err(StoreError::Off);
        }
        let database = Database::open_beside(&location, settings).await.map_err(StoreError::Unavailable)?;
        Ok(Self::new(Some(location), settings, ids::replica_id(), StoreState::Open(database)))
    }

    fn new(location: Option<Location>, settings: &Settings, owner: String, state: StoreState) -> Self {
        let inner = StoreInner {
            location,
            settings: settings.clone(),
            owner,
            state: ArcSwap::from_pointee(state),
            changes: watch::Sender::new(Revisions::default()),
            wake: Arc::default(),
            trace_error: ArcSwapOption::empty(),
            write_error: ArcSwapOption::empty(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Whether the store is open, so that it can take state that later requests depend on.
    pub fn is_open(&self) -> bool {
        matches!(&**self.inner.state.load(), StoreState::Open(_))
    }

    /// Returns the health of the store, as of the last opening or write.
    pub fn health(&self) -> Health {
        let location = self.inner.location.as_ref().map(Location::to_string).unwrap_or_default();
        match (&**self.inner.state.load(), self.inner.last_error()) {
            (StoreState::Down(message), _) => Health { ok: false, message: message.clone() },
            (StoreState::Open(_), Some(error)) => Health { ok: false, message: format!("{location}: {error}") },
            (StoreState::Open(_), None) | (StoreState::Off, _) => Health { ok: true, message: location },
            (StoreState::Closed, _) => Health { ok: false, message: "closed".to_owned() },
        }
    }

    /// Closes the store: all written data is in the file afterwards. Drain the queue first.
    pub async fn close(&self) {
        let state = self.inner.state.swap(Arc::new(StoreState::Closed));
        self.inner.wake.notify_one();
        if let StoreState::Open(database) = &*state {
            database.leave(&self.inner.owner).await;
            database.close().await;
        }
    }

    /// Returns the id of this process among the replicas.
    pub(super) fn owner(&self) -> &str {
        &self.inner.owner
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    pub(super) fn database(&self) -> Result<Database, StoreError> {
        match &**self.inner.state.load() {
            StoreState::Off => Err(StoreError::Off),
            StoreState::Open(database) => Ok(database.clone()),
            StoreState::Down(message) => Err(StoreError::Unavailable(message.clone())),
            StoreState::Closed => Err(StoreError::Unavailable("closed".to_owned())),
        }
    }

    /// Records the health of the store from the result of a write other than that of traces.
    pub(super) fn record_health<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        self.record_health_in(&self.inner.write_error, result)
    }

    fn record_health_in<T>(
        &self,
        last_error: &ArcSwapOption<String>,
        result: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &result {
            Err(StoreError::FileReplaced(message)) => self.reopen(message),
            Err(StoreError::Unavailable(message)) => {
                let is_new = last_error.swap(Some(Arc::new(message.clone()))).is_none();
                if is_new {
                    tracing::warn!(reason = %message, "the store fails");
                }
            }
            Ok(_) if last_error.load().is_some() => {
                last_error.store(None);
                if self.inner.last_error().is_none() {
                    tracing::info!("the store works again");
                }
            }
            _ => {}
        }
        result
    }

    /// Reopens the store at its location, because its file was deleted or replaced.
    fn reopen(&self, why: &str) {
        let before = self.inner.state.load_full();
        let StoreState::Open(database) = &*before else { return };
        let current = self.inner.state.compare_and_swap(&before, Arc::new(StoreState::Down(why.to_owned())));
        if !Arc::ptr_eq(&current, &before) {
            return;
        }
        tracing::error!(reason = %why, "the store fails");
        let (database, inner) = (database.clone(), Arc::downgrade(&self.inner));
        let pause = Duration::from_secs(self.inner.settings.retry_seconds.max(1));
        tokio::spawn(async move {
            database.close().await;
            reopen(inner, pause).await;
        });
    }
}

impl StoreInner {
    fn last_error(&self) -> Option<Arc<String>> {
        self.trace_error.load_full().or_else(|| self.write_error.load_full())
    }
}

impl StoreState {
    async fn open(location: &Location, settings: &Settings, owner: &str) -> Self {
        if *location == Location::Off {
            return Self::Off;
        }
        match Database::open(location, settings, owner).await {
            Ok(database) => {
                tracing::info!(%location, "the store is open");
                Self::Open(database)
            }
            Err(message) => {
                tracing::warn!(reason = %message, "the store is unavailable; turns are served without it");
                Self::Down(message)
            }
        }
    }
}

/// Retries opening the store until it is open, closed or dropped.
async fn reopen(inner: Weak<StoreInner>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        let Some(inner) = inner.upgrade() else { return };
        let before = inner.state.load_full();
        let (StoreState::Down(_), Some(location)) = (&*before, &inner.location) else { return };
        match Database::open(location, &inner.settings, &inner.owner).await {
            Ok(database) => {
                let current = inner.state.compare_and_swap(&before, Arc::new(StoreState::Open(database.clone())));
                if Arc::ptr_eq(&current, &before) {
                    tracing::info!(%location, "the store is open again");
                } else {
                    database.close().await;
                }
                return;
            }
            Err(message) => {
                inner.state.compare_and_swap(&before, Arc::new(StoreState::Down(message)));
            }
        }
    }
}

impl Traces for Store {
    fn append<'a>(&'a self, batch: &'a [TraceRow]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.record_health_in(&self.inner.trace_error, self.database()?.append(batch).await) })
    }

    fn list<'a>(&'a self, filter: &'a TraceFilter) -> BoxFuture<'a, Result<TracePage, StoreError>> {
        Box::pin(async move { self.database()?.list(filter).await })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Trace>, StoreError>> {
        Box::pin(async move { self.database()?.get(id).await })
    }

    fn learnable(&self, after: Revision, limit: u32) -> BoxFuture<'_, Result<LearnableTraces, StoreError>> {
        Box::pin(async move { self.database()?.learnable(after, limit).await })
    }

    fn expire(&self, ages: Ages, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.record_health(self.database()?.expire(ages, limit).await) })
    }
}

impl Vectors for Store {
    fn load<'a>(
        &'a self,
        model: &'a str,
        texts: &'a [TextHash],
    ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreError>> {
        Box::pin(async move { self.database()?.cached_vectors(model, texts).await })
    }

    fn save<'a>(&'a self, model: &'a str, vectors: &'a [(TextHash, Vec<u8>)]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.record_health(self.database()?.remember_vectors(model, vectors).await) })
    }
}

impl Intents for Store {
    fn unfinished_key<'a>(&'a self, key: &'a IntentKey) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async move { self.database()?.unfinished_key(key).await })
    }

    fn earlier<'a>(
        &'a self,
        key: &'a IntentKey,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<IntentState>, StoreError>> {
        Box::pin(async move { self.record_health(self.database()?.earlier(key, turn).await) })
    }

    fn begin<'a>(
        &'a self,
        key: &'a IntentKey,
        beginning: Beginning<'a>,
    ) -> BoxFuture<'a, Result<IntentState, StoreError>> {
        Box::pin(async move { self.record_health(self.database()?.begin_intent(key, beginning).await) })
    }

    fn finish<'a>(
        &'a self,
        key: &'a IntentKey,
        label: &'a str,
        answer: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.record_health(self.database()?.finish(key, label, answer).await) })
    }

    fn mark_delivered<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.record_health(self.database()?.mark_delivered(turn).await) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{in_memory, rows, trace};

    fn at(file: &str) -> Settings {
        Settings { url: format!("sqlite:{file}").into(), retry_seconds: 1, ..in_memory() }
    }

    #[tokio::test]
    async fn the_error_of_opening_names_the_location_and_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("file"), "").unwrap();
        for path in ["missing/a.sqlite3", "file/a.sqlite3", "."] {
            let store = Store::open(&at(path), directory.path()).await;
            let health = store.health();
            assert!(!health.ok);
            assert!(health.message.contains(&directory.path().join(path).display().to_string()), "{health:?}");
            assert!(health.message.contains("writable") && health.message.contains("`[store] url`"), "{health:?}");
            let key = IntentKey { session: "s".into(), operation: "o".into(), arguments_hash: "h".into() };
            assert!(matches!(
                store.begin(&key, Beginning { turn: "t", idempotency_key: None }).await,
                Err(StoreError::Unavailable(_))
            ));
            assert!(store.append(&rows([trace("a", 1)])).await.unwrap_err().is_passing());
        }
    }

    #[tokio::test]
    async fn a_file_that_is_not_a_database_is_unchanged_and_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.txt");
        std::fs::write(&path, "not a database, and longer than the header of one. ".repeat(40)).unwrap();
        let before = std::fs::read(&path).unwrap();
        let health = Store::open(&at("notes.txt"), directory.path()).await.health();
        assert!(!health.ok && health.message.contains("not a database"), "{health:?}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[tokio::test]
    async fn an_unavailable_store_is_opened_later() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&at("later/a.sqlite3"), directory.path()).await;
        assert!(!store.health().ok);
        std::fs::create_dir(directory.path().join("later")).unwrap();
        while !store.health().ok {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        store.append(&rows([trace("a", 1)])).await.unwrap();
    }

    #[tokio::test]
    async fn an_invalid_url_is_not_retried() {
        let settings = Settings { url: "mysql://host/db".into(), ..in_memory() };
        let health = Store::open(&settings, Path::new("")).await.health();
        assert!(!health.ok && health.message.contains("mysql://host/db"), "{health:?}");
    }

    #[tokio::test]
    async fn a_disabled_store_is_healthy_and_refuses_everything() {
        let settings = Settings { url: "".into(), ..in_memory() };
        let store = Store::open(&settings, Path::new("")).await;
        assert!(store.health().ok);
        assert_eq!(store.get("a").await.err(), Some(StoreError::Off));
        assert_eq!(store.list(&TraceFilter::default()).await.err(), Some(StoreError::Off));
    }

    #[tokio::test]
    async fn failed_trace_writes_show_in_health_despite_other_successes() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&at("a.sqlite3"), directory.path()).await;
        let file = directory.path().join("a.sqlite3");
        alter(&file, "ALTER TABLE traces RENAME TO away").await;
        assert!(store.append(&rows([trace("a", 1)])).await.unwrap_err().is_passing());
        let health = store.health();
        assert!(
            !health.ok && health.message.contains("a.sqlite3: ") && health.message.contains("traces"),
            "{health:?}"
        );
        let key = IntentKey { session: "s".into(), operation: "o".into(), arguments_hash: "h".into() };
        store.begin(&key, Beginning { turn: "t", idempotency_key: None }).await.unwrap();
        assert!(!store.health().ok, "the other write does not restore the health of traces");
        alter(&file, "ALTER TABLE away RENAME TO traces").await;
        store.append(&rows([trace("a", 1)])).await.unwrap();
        assert!(store.health().ok);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_deleted_or_replaced_file_is_reopened_at_the_next_write() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("a.sqlite3"), directory.path().join("b.sqlite3"));
        let store = Store::open(&at("a.sqlite3"), directory.path()).await;
        Store::open(&at("b.sqlite3"), directory.path()).await.close().await;
        store.append(&rows([trace("a", 1)])).await.unwrap();
        for (round, what) in ["was deleted", "was replaced"].into_iter().enumerate() {
            match round {
                0 => std::fs::remove_file(&path).unwrap(),
                _ => std::fs::rename(&other, &path).unwrap(),
            }
            assert!(store.append(&rows([trace("b", 2)])).await.unwrap_err().is_passing());
            let health = store.health();
            assert!(!health.ok && health.message.contains("a.sqlite3") && health.message.contains(what), "{health:?}");
            while !store.health().ok {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            store.append(&rows([trace("c", 3)])).await.unwrap();
            assert!(store.get("c").await.unwrap().is_some() && store.get("a").await.unwrap().is_none());
        }
    }

    /// Alters the file while the store has it open.
    async fn alter(path: &Path, statement: &'static str) {
        use sqlx::{ConnectOptions, Executor};
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
        options.connect().await.unwrap().execute(statement).await.unwrap();
    }

    #[tokio::test]
    async fn a_closed_store_has_everything_in_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&at("a.sqlite3"), directory.path()).await;
        store.append(&rows([trace("a", 1)])).await.unwrap();
        store.close().await;
        let left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["a.sqlite3"]);
        assert!(store.get("a").await.unwrap_err().is_passing());
        let again = Store::open(&at("a.sqlite3"), directory.path()).await;
        assert!(again.get("a").await.unwrap().is_some());
    }
}
