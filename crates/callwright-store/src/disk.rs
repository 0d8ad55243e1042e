//! Spill access for the trace writer: file I/O runs outside the runtime's worker threads.

use std::io;
use std::path::{Path, PathBuf};

use super::spill::{Spill, TraceChunk};
use super::{Location, Settings, TraceRow};

/// Disk buffer for traces during a store outage, if enabled.
#[derive(Debug)]
pub(super) struct Disk {
    /// Folder and its size limit in bytes.
    folder: Option<(PathBuf, u64)>,
    spill: Option<Spill>,
    last_write_succeeded: bool,
}

impl Disk {
    /// Creates the buffer without file access. An in-memory store has none.
    pub(super) fn new(settings: &Settings, base_dir: &Path) -> Self {
        let is_memory = Location::parse(settings.url.expose(), base_dir) == Ok(Location::Memory);
        let is_on = !settings.spill_dir.is_empty() && settings.spill_bytes > 0 && !is_memory;
        let folder = is_on.then(|| (base_dir.join(&settings.spill_dir), settings.spill_bytes));
        Self { folder, spill: None, last_write_succeeded: true }
    }

    /// Whether traces may be spilled to disk.
    pub(super) fn is_on(&self) -> bool {
        self.folder.is_some()
    }

    /// Opens the spill and adopts the files of earlier processes.
    pub(super) async fn open(&mut self) {
        let Some((folder, bytes)) = self.folder.clone() else { return };
        self.spill = tokio::task::spawn_blocking(move || Spill::open(folder, bytes)).await.ok();
        if self.holds_some() {
            tracing::info!(bytes = self.bytes(), "storing traces that an earlier process spilled to disk");
        }
    }

    /// Whether the disk holds traces that are not in the store.
    pub(super) fn holds_some(&self) -> bool {
        self.spill.as_ref().is_some_and(|spill| !spill.is_empty())
    }

    /// Used size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::bytes)
    }

    /// Appends rows. Returns `false` if they are not on disk.
    pub(super) async fn push(&mut self, rows: &[TraceRow]) -> bool {
        let rows = rows.to_vec();
        match self.on_disk(move |spill| spill.push(&rows)).await {
            None => false,
            Some(Ok(())) => {
                self.last_write_succeeded = true;
                true
            }
            Some(Err(error)) => {
                if std::mem::replace(&mut self.last_write_succeeded, false) {
                    tracing::warn!(%error, "cannot write traces to `[store] spill_dir`");
                }
                false
            }
        }
    }

    /// Returns the oldest rows; an empty chunk without losses at the end. Returns `None` if they cannot be read.
    pub(super) async fn oldest(&mut self, most: usize) -> Option<TraceChunk> {
        match self.on_disk(move |spill| spill.oldest(most)).await? {
            Ok(chunk) => Some(chunk),
            Err(error) => {
                tracing::warn!(%error, "cannot read the spilled traces; their file is kept");
                None
            }
        }
    }

    /// Confirms that the last chunk from [`Disk::oldest`] is in the store.
    pub(super) async fn settle(&mut self) {
        self.on_disk(Spill::settle).await;
    }

    async fn on_disk<T: Send + 'static>(&mut self, work: impl FnOnce(&mut Spill) -> T + Send + 'static) -> Option<T> {
        let mut spill = self.spill.take()?;
        let done: Result<(Spill, T), _> = tokio::task::spawn_blocking(move || {
            let outcome = work(&mut spill);
            (spill, outcome)
        })
        .await;
        let (spill, outcome) = done.map_err(io::Error::other).ok()?;
        self.spill = Some(spill);
        Some(outcome)
    }
}
