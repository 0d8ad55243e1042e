//! Notations that call rescue recognises, and their reload when the operator's file changes.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use callwright_common::watch::{FileError, Trigger, Watcher, reload_file};
use callwright_judge::repair::{self, Notations};

/// The table that turns use, and the watcher of the operator's file.
pub(super) type LoadedNotations = (Arc<ArcSwap<Notations>>, Option<Watcher>);

/// Loads the table, and watches the operator's file where the settings name one. An invalid file never replaces a valid
/// table.
pub(super) fn load(settings: &repair::Settings, base_dir: &Path) -> Result<LoadedNotations, FileError> {
    let table = Notations::load(settings, base_dir)?;
    let current = Arc::new(ArcSwap::new(table.clone()));
    let Some(file) = settings.file(base_dir) else { return Ok((current, None)) };
    let trigger = Trigger::new(settings.reload_quiet_milliseconds, settings.reload);
    let shared = current.clone();
    let watcher =
        reload_file(file, trigger, "notations-reload", table, Notations::from_file, move |result| match result {
            Ok(table) => {
                shared.store(table);
                tracing::info!("notations reloaded");
            }
            Err(error) => tracing::error!(error, "notations not reloaded; the previous ones stay in use"),
        });
    // A proxy whose notations do not reload is better than no proxy.
    let watcher = watcher.inspect_err(|error| tracing::error!(%error, "notations will not reload")).ok();
    Ok((current, watcher))
}
