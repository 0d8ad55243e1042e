//! The notations that rescue reads, and their reload when the operator's file changes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::repair::{self, Notations, NotationsError};
use crate::watch::{self, Watched, Watcher};

/// The table that turns read, and the watcher of the operator's file.
pub(super) type Loaded = (Arc<ArcSwap<Notations>>, Option<Watcher>);

/// Reads the table, and watches the operator's file where the settings name one. A file with a mistake never replaces a good table.
pub(super) fn load(settings: &repair::Settings, base_dir: &Path) -> Result<Loaded, NotationsError> {
    let table = Notations::load(settings, base_dir)?;
    let current = Arc::new(ArcSwap::new(table.clone()));
    let Some(file) = settings.file(base_dir).filter(|_| settings.reload) else { return Ok((current, None)) };
    let watched = Watched { files: [file.clone()].into(), ..Watched::default() };
    let quiet = Duration::from_millis(settings.reload_quiet_milliseconds);
    let (again, shared) = (watched.clone(), current.clone());
    let mut seen: Result<Arc<Notations>, String> = Ok(table);
    let watcher = watch::watch_files(watched, quiet, "notations-reload", move || {
        let now = Notations::from_file(&file).map_err(|error| error.to_string());
        if now != seen {
            match &now {
                Ok(table) => {
                    shared.store(table.clone());
                    tracing::info!("notations reloaded");
                }
                Err(error) => tracing::error!(%error, "notations not reloaded: the old ones stay in use"),
            }
            seen = now;
        }
        again.clone()
    });
    // A table that is in use and does not reload is better than no proxy.
    let watcher = watcher.inspect_err(|error| tracing::error!(%error, "notations will not reload")).ok();
    Ok((current, watcher))
}
