//! The store as the process sees it: open, switched off, or broken and tried again in the background.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::sqlite::Sqlite;
use super::{
    Begun, Health, IntentKey, Intents, Location, Settings, StoreError, TraceFilter, TracePage, TraceRow, Traces,
};
use crate::domain::Trace;

/// The store. Clones share it.
///
/// It never stops the process: a store that cannot be opened is a degraded one that says why ([`Store::health`]), refuses
/// every request with [`StoreError::Unavailable`], and is tried again in the background.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    location: Option<Location>,
    state: ArcSwap<State>,
    /// Why the last write failed, if it did: a store that is open may still have a full disk.
    trouble: ArcSwapOption<String>,
}

#[derive(Debug)]
enum State {
    Off,
    Open(Sqlite),
    Down(String),
    Closed,
}

impl Store {
    /// Opens the store; a relative file is taken from `base_dir`. Needs a Tokio runtime.
    pub async fn open(settings: &Settings, base_dir: &Path) -> Self {
        let (location, state) = match Location::parse(&settings.url, base_dir) {
            Ok(location) => {
                let state = State::open(&location).await;
                (Some(location), state)
            }
            Err(error) => (None, State::Down(error.to_string())),
        };
        let is_worth_retrying = location.is_some() && matches!(state, State::Down(_));
        let inner = Inner { location, state: ArcSwap::from_pointee(state), trouble: ArcSwapOption::empty() };
        let store = Self { inner: Arc::new(inner) };
        if is_worth_retrying {
            let pause = Duration::from_secs(settings.retry_seconds.max(1));
            tokio::spawn(reopen(Arc::downgrade(&store.inner), pause));
        }
        store
    }

    /// How the store is, by its last opening or write.
    pub fn health(&self) -> Health {
        let here = || self.inner.location.as_ref().map(Location::to_string).unwrap_or_default();
        match (&**self.inner.state.load(), self.inner.trouble.load_full()) {
            (State::Down(message), _) => Health { ok: false, message: message.clone() },
            (State::Open(_), Some(trouble)) => Health { ok: false, message: format!("{}: {trouble}", here()) },
            (State::Open(_), None) | (State::Off, _) => Health { ok: true, message: here() },
            (State::Closed, _) => Health { ok: false, message: "closed".to_owned() },
        }
    }

    /// Closes the store: everything written is in the file afterwards. Drain the queue first.
    pub async fn close(&self) {
        let state = self.inner.state.swap(Arc::new(State::Closed));
        if let State::Open(sqlite) = &*state {
            sqlite.close().await;
        }
    }

    fn sqlite(&self) -> Result<Sqlite, StoreError> {
        match &**self.inner.state.load() {
            State::Off => Err(StoreError::Off),
            State::Open(sqlite) => Ok(sqlite.clone()),
            State::Down(message) => Err(StoreError::Unavailable(message.clone())),
            State::Closed => Err(StoreError::Unavailable("closed".to_owned())),
        }
    }

    /// Keeps what a write says about the store's health.
    fn noted<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        match &result {
            Err(StoreError::Unavailable(message)) => {
                if self.inner.trouble.swap(Some(Arc::new(message.clone()))).is_none() {
                    tracing::warn!(%message, "the store fails");
                }
            }
            Ok(_) if self.inner.trouble.load().is_some() => {
                self.inner.trouble.store(None);
                tracing::info!("the store works again");
            }
            _ => {}
        }
        result
    }
}

impl State {
    async fn open(location: &Location) -> Self {
        if *location == Location::Off {
            return Self::Off;
        }
        match Sqlite::open(location).await {
            Ok(sqlite) => {
                tracing::info!(%location, "the store is open");
                Self::Open(sqlite)
            }
            Err(message) => {
                tracing::warn!(%message, "the store does not work; turns are served without it");
                Self::Down(message)
            }
        }
    }
}

/// Tries to open a broken store until it is open, closed or gone.
async fn reopen(inner: Weak<Inner>, pause: Duration) {
    loop {
        tokio::time::sleep(pause).await;
        let Some(inner) = inner.upgrade() else { return };
        let before = inner.state.load_full();
        let (State::Down(_), Some(location)) = (&*before, &inner.location) else { return };
        match Sqlite::open(location).await {
            Ok(sqlite) => {
                let found = inner.state.compare_and_swap(&before, Arc::new(State::Open(sqlite.clone())));
                if Arc::ptr_eq(&found, &before) {
                    tracing::info!(%location, "the store is open again");
                } else {
                    sqlite.close().await;
                }
                return;
            }
            Err(message) => {
                inner.state.compare_and_swap(&before, Arc::new(State::Down(message)));
            }
        }
    }
}

impl Traces for Store {
    fn append<'a>(&'a self, batch: &'a [TraceRow]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.noted(self.sqlite()?.append(batch).await) })
    }

    fn list<'a>(&'a self, filter: &'a TraceFilter) -> BoxFuture<'a, Result<TracePage, StoreError>> {
        Box::pin(async move { self.sqlite()?.list(filter).await })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Trace>, StoreError>> {
        Box::pin(async move { self.sqlite()?.get(id).await })
    }

    fn expire(&self, before: Timestamp, limit: u32) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move { self.noted(self.sqlite()?.expire(before, limit).await) })
    }
}

impl Intents for Store {
    fn begin<'a>(&'a self, key: &'a IntentKey) -> BoxFuture<'a, Result<Begun, StoreError>> {
        Box::pin(async move { self.noted(self.sqlite()?.begin(key).await) })
    }

    fn finish<'a>(&'a self, key: &'a IntentKey, label: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.noted(self.sqlite()?.finish(key, label).await) })
    }
}
