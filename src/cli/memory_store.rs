//! Access to the configured store, for subcommands that read or extend learned memory.

use std::path::PathBuf;

use super::setup::load_config;
use crate::config;
use callwright_store::{Health, Memory, MemoryFilter, Procedures, Revision, Store, StoreError};
use callwright_types::Procedure;

/// Number of changes read per page.
const PAGE: u32 = 500;

/// An open store with the settings of its configuration.
pub(super) struct MemoryStore {
    pub(super) store: Store,
    pub(super) settings: config::Settings,
}

/// Error that no store is available.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoStore {
    /// The store is switched off.
    #[error(
        "`store.url` of the configuration is empty, so nothing is stored; set a store, such as \"sqlite:callwright.sqlite3\""
    )]
    Off,
    /// The store cannot be opened.
    #[error("the store cannot be opened: {0}; check `store.url` of the configuration")]
    Closed(String),
}

impl MemoryStore {
    /// Opens the store of the configuration, as `serve` finds it.
    ///
    /// # Errors
    /// The configuration's problems, or [`NoStore`].
    pub(super) async fn open(file: Option<PathBuf>) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let loaded = load_config(file)?;
        if loaded.settings.store.url.expose().is_empty() {
            return Err(NoStore::Off.into());
        }
        let store = Store::open(&loaded.settings.store, &loaded.base_dir).await;
        match store.health() {
            Health { ok: true, .. } => Ok(Self { store, settings: loaded.settings }),
            Health { message, .. } => Err(NoStore::Closed(message).into()),
        }
    }
}

/// Returns all procedures, and the revision up to which they were read.
///
/// # Errors
/// [`StoreError`].
pub(super) async fn all_procedures(procedures: &Procedures) -> Result<(Vec<Procedure>, Revision), StoreError> {
    let (mut all, mut after): (Vec<Procedure>, Revision) = (Vec::new(), 0);
    loop {
        let changes = procedures.changed(after, PAGE).await?;
        all.extend(changes.changed);
        after = changes.upto;
        if !changes.more {
            return Ok((all, after));
        }
    }
}

/// Returns all items that a filter selects.
///
/// # Errors
/// [`StoreError`].
pub(super) async fn all_items<M>(memory: &dyn Memory<M>, mut filter: MemoryFilter) -> Result<Vec<M>, StoreError> {
    let mut all = Vec::new();
    loop {
        let page = memory.page(&filter).await?;
        all.extend(page.items);
        filter.after = page.next;
        if filter.after.is_none() {
            return Ok(all);
        }
    }
}
