//! Recovery of traces that ended processes left on disk.

use std::path::Path;

use super::disk::Disk;
use super::spill;
use super::{Settings, Store, StoreError, Traces};

/// Result of the recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecoveredTraces {
    /// Number of traces written to the store.
    pub traces: u64,
    /// Number of unreadable lines, which are lost.
    pub lost: u64,
    /// Number of files of running processes, which store them later.
    pub held: u64,
}

impl Store {
    /// Writes the traces in the settings' `spill_dir` to the store, except those of running processes.
    ///
    /// # Errors
    /// [`StoreError`]: traces that were not written remain on disk.
    pub async fn recover_traces(&self, settings: &Settings, base_dir: &Path) -> Result<RecoveredTraces, StoreError> {
        let mut taken = RecoveredTraces::default();
        let mut disk = Disk::new(settings, base_dir);
        disk.open().await;
        while disk.holds_some() {
            let chunk = disk
                .oldest(settings.batch_traces.max(1))
                .await
                .ok_or_else(|| StoreError::Unavailable("cannot read the traces in `[store] spill_dir`".to_owned()))?;
            self.append(&chunk.rows).await?;
            disk.settle().await;
            taken.traces += chunk.rows.len() as u64;
            taken.lost += chunk.lost as u64;
        }
        if disk.is_on() {
            taken.held = spill::held_in(&base_dir.join(&settings.spill_dir));
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::on_every_database;
    use crate::samples::{rows, trace};
    use crate::spill::Spill;
    use crate::{Deletion, TraceFilter};

    on_every_database! {
        async fn traces_on_disk_are_stored_and_can_be_deleted(store: Store) {
            let folder = tempfile::tempdir().unwrap();
            let of = |id: &str, tenant: &str, millisecond| callwright_types::Trace { tenant: tenant.to_owned(), ..trace(id, millisecond) };
            let spill_dir = folder.path().join("callwright-spill");
            let mut left = Spill::open(spill_dir.clone(), u64::MAX);
            left.push(&rows((0..700).map(|number| of(&format!("{number:04}"), "ada", number)))).unwrap();
            left.push(&rows([of("b", "bob", 1_000)])).unwrap();
            drop(left);
            let mut living = Spill::open(folder.path().join("other"), u64::MAX);
            living.push(&rows([of("c", "ada", 1)])).unwrap();
            let name = std::fs::read_dir(folder.path().join("other")).unwrap().next().unwrap().unwrap().path();
            std::fs::rename(&name, spill_dir.join("00000000000000000009-0.jsonl")).unwrap();
            // The base directory locates the files; the store under test has another location.
            let settings = Settings { url: "sqlite:x.sqlite3".into(), ..Settings::default() };
            let taken = store.recover_traces(&settings, folder.path()).await.unwrap();
            assert_eq!(taken, RecoveredTraces { traces: 701, lost: 0, held: 1 });
            let deleted = store.delete(&Deletion { tenants: vec!["ada".to_owned()], ..Deletion::default() }).await.unwrap();
            assert_eq!(deleted.traces, 700);
            assert_eq!(store.list(&TraceFilter::default()).await.unwrap().traces.len(), 1);
            drop(living);
            assert_eq!(store.recover_traces(&settings, folder.path()).await.unwrap(), RecoveredTraces { traces: 1, lost: 0, held: 0 });
        }
    }
}
