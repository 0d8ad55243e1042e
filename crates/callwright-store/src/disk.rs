//! The spill as the writer has it: its files are read and written off the runtime's own threads.

use std::io;
use std::path::{Path, PathBuf};

use super::spill::{Chunk, Spill};
use super::{Location, Settings, TraceRow};

/// Where traces go while the store does not take them, if they may.
#[derive(Debug)]
pub(super) struct Disk {
    /// Folder and the bytes that it may take.
    place: Option<(PathBuf, u64)>,
    spill: Option<Spill>,
    /// Could it be written the last time?
    is_well: bool,
}

impl Disk {
    /// A disk that has not been looked at. A store that is this process's memory needs none.
    pub(super) fn new(settings: &Settings, base_dir: &Path) -> Self {
        let is_memory = Location::parse(settings.url.expose(), base_dir) == Ok(Location::Memory);
        let is_on = !settings.spill_dir.is_empty() && settings.spill_bytes > 0 && !is_memory;
        let place = is_on.then(|| (base_dir.join(&settings.spill_dir), settings.spill_bytes));
        Self { place, spill: None, is_well: true }
    }

    /// May traces go to disk?
    pub(super) fn is_on(&self) -> bool {
        self.place.is_some()
    }

    /// Takes up what an earlier process left.
    pub(super) async fn open(&mut self) {
        let Some((folder, bytes)) = self.place.clone() else { return };
        self.spill = tokio::task::spawn_blocking(move || Spill::open(folder, bytes)).await.ok();
        if self.holds_some() {
            tracing::info!(bytes = self.bytes(), "traces that an earlier process left on disk are stored now");
        }
    }

    /// Are there traces on disk that the store does not have?
    pub(super) fn holds_some(&self) -> bool {
        self.spill.as_ref().is_some_and(|spill| !spill.is_empty())
    }

    /// Bytes that are taken.
    pub(super) fn bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::bytes)
    }

    /// Writes rows behind those that are there. `false`: they are not on disk.
    pub(super) async fn push(&mut self, rows: &[TraceRow]) -> bool {
        let rows = rows.to_vec();
        match self.on_disk(move |spill| spill.push(&rows)).await {
            None => false,
            Some(Ok(())) => {
                self.is_well = true;
                true
            }
            Some(Err(error)) => {
                if std::mem::replace(&mut self.is_well, false) {
                    tracing::warn!(%error, "traces cannot wait on disk: `[store] spill_dir`");
                }
                false
            }
        }
    }

    /// The oldest rows; none and nothing lost where there are no more. `None`: they cannot be read.
    pub(super) async fn oldest(&mut self, most: usize) -> Option<Chunk> {
        match self.on_disk(move |spill| spill.oldest(most)).await? {
            Ok(chunk) => Some(chunk),
            Err(error) => {
                tracing::warn!(%error, "traces on disk cannot be read; their file stays where it is");
                None
            }
        }
    }

    /// What [`Disk::oldest`] gave last is in the store.
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
