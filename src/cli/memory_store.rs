//! The configured store, for verbs that look at what was learned or add to it.

use std::path::PathBuf;

use crate::config;
use callwright_store::{Health, Procedures, Revision, Store, StoreError};
use callwright_types::Procedure;

/// Changes that are read at a time.
const PAGE: u32 = 500;

/// An open store, and the settings that it belongs to.
pub(super) struct MemoryStore {
    pub(super) store: Store,
    pub(super) settings: config::Settings,
}

/// Why there is no store to look at.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoStore {
    /// It is switched off.
    #[error(
        "`store.url` of the configuration is empty, so nothing is remembered; name a store, such as \"sqlite:callwright.sqlite3\""
    )]
    Off,
    /// It cannot be opened.
    #[error("the store cannot be opened: {0}; check `store.url` of the configuration")]
    Closed(String),
}

impl MemoryStore {
    /// Opens the store of the configuration, as `serve` finds it.
    ///
    /// # Errors
    /// The configuration's problems, or [`NoStore`].
    pub(super) async fn open(file: Option<PathBuf>) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let request = config::Request { file, ..config::Request::default() };
        let loaded = config::load(&request, &config::process_environment)?;
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

/// All procedures, and the revision up to which they were read.
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
